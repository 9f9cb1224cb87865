"""Starts servers and commands as processes of their own, and ends them with all that they started."""

import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

WAIT_S = 300


@contextmanager
def process(
    command: Sequence[str], log: Path, folder: Path, environ: Mapping[str, str] | None = None
) -> Iterator["subprocess.Popen[bytes]"]:
    """Starts a command in a session of its own; kills everything in that session in the end.

    Args:
        command: What is run.
        log: Where its output and errors go.
        folder: The folder in which it runs.
        environ: Its whole environment (default: this process's).
    """
    with log.open("wb") as output:
        started = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env=environ,
            start_new_session=True,
        )
    try:
        yield started
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(started.pid, signal.SIGKILL)
        started.wait()


@contextmanager
def service(
    command: Sequence[str],
    port: int,
    folder: Path,
    environ: Mapping[str, str] | None = None,
    home: Path | None = None,
) -> Iterator["subprocess.Popen[bytes]"]:
    """Starts a server, waits until its port answers, and ends it.

    Args:
        command: What is run.
        port: The port on which it will answer.
        folder: For what it says.
        environ: Its whole environment (default: this process's).
        home: The folder in which it runs (default: `folder`).

    Raises:
        RuntimeError: It ended, or did not answer in time; with the end of what it said.
    """
    log = folder / f"server-{port}.log"
    with process(command, log, home or folder, environ) as server:
        wait_until(lambda: answers(port), server, log)
        yield server


def wait_until(is_so: Callable[[], object], server: "subprocess.Popen[bytes]", log: Path) -> None:
    """Waits until something is so, as long as a process lives.

    Raises:
        RuntimeError: The process ended, or it took too long; with the end of what the process said.
    """
    deadline = time.monotonic() + WAIT_S
    while not is_so():
        ended = server.poll()
        if ended is not None or time.monotonic() > deadline:
            what = "took too long" if ended is None else f"ended with status {ended}"
            said = log.read_text(errors="replace")[-2000:]
            raise RuntimeError(f"{server.args!r:.300} {what}: {said}")
        time.sleep(0.1)


def answers(port: int) -> bool:
    """Returns whether a port of this machine takes connections."""
    try:
        socket.create_connection(("localhost", port), timeout=1).close()
    except OSError:
        return False
    return True


def free_port() -> int:
    """Returns a port that is free now."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port: int = free.getsockname()[1]
        return port


def started_by(leader: int, word: str) -> list[int]:
    """Returns the ids of processes of Python in the session of a process, by a word in their command."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            words = (place / "cmdline").read_bytes().decode(errors="replace").split("\0")
            if os.getsid(int(place.name)) == leader and "python" in words[0] and word in "".join(words):
                found.append(int(place.name))
        except OSError:
            continue
    return sorted(found)
