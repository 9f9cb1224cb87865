"""Processes of the command that begin as forks of one that has loaded it: its imports cost 5 CPU seconds.

A fork has its own directory, environment, files, registries and status, as any process. It does not show what
a command imports, nor what the interpreter prints when it is finalized.
"""

import contextlib
import os
import resource
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from runpy import run_module
from typing import Any

from tests import fork_server


class Fork:
    """A process that is a fork of the one that has loaded the command, and calls a function.

    Args:
        function: A function of a module, called with its copies of the files and the arguments.
        arguments: The other arguments, which can be pickled.
        files: Files that are open in this process.
    """

    def __init__(
        self, function: Callable[..., object], arguments: Sequence[object], files: Sequence[int] = ()
    ) -> None:
        self._lock = threading.Lock()
        self._exitcode: int | None = None
        self._told = open(fork_server.start(function, arguments, files), "rb", 0)  # noqa: SIM115
        self.pid = fork_server.read_number(self._told.fileno())
        assert self.pid, "the server of forks has ended"

    @property
    def exitcode(self) -> int | None:
        """Its status when it ended, as `multiprocessing` gives it; several threads may ask."""
        return self.join(0)

    def join(self, timeout: float | None = None) -> int | None:
        """Waits for its end, some seconds at most, and returns its status when it ended."""
        waiting = select.poll()
        waiting.register(self._told, select.POLLIN)
        if self._exitcode is None and waiting.poll(None if timeout is None else timeout * 1000):
            with self._lock:
                if self._exitcode is None:
                    self._exitcode = fork_server.read_number(self._told.fileno())
                    assert self._exitcode is not None, "the server of forks has ended"
        return self._exitcode

    def send_signal(self, number: int) -> None:
        """Sends a signal unless it ended."""
        if self.exitcode is None and self.pid:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """Ends it at once."""
        self.send_signal(signal.SIGKILL)


def _begin(
    files: Sequence[int], argv: list[str], folder: str, environ: dict[str, str], file_size: int, module: str
) -> None:
    sys.dont_write_bytecode = True  # the limit would cut it, and other processes would load what is left
    resource.setrlimit(resource.RLIMIT_FSIZE, (file_size, file_size))
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environ)
    sys.path[:0] = [place for place in environ.get("PYTHONPATH", "").split(os.pathsep) if place]
    encoding = environ.get("PYTHONIOENCODING", "utf-8")
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    sys.stdin = open(0, encoding=encoding, closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding=encoding, closefd=False)  # noqa: SIM115
    sys.stderr = open(  # noqa: SIM115
        2, "w", 1, encoding=encoding, errors="backslashreplace", closefd=False
    )
    sys.argv = [module, *argv]
    run_module(module, run_name="__main__", alter_sys=True)


class Process:
    """A process of `python -m turnwise`, or of another module, used as a `subprocess.Popen` is.

    What is not redirected is the null device. Files beyond `file_size` bytes are refused, as on a full disk.
    """

    def __init__(
        self,
        argv: Sequence[object],
        cwd: Path,
        env: Mapping[str, str] | None = None,
        stdin: Any = subprocess.DEVNULL,
        stdout: Any = subprocess.DEVNULL,
        stderr: Any = subprocess.DEVNULL,
        text: bool = True,
        file_size: int = resource.RLIM_INFINITY,
        module: str = "turnwise",
    ) -> None:
        self.argv = [str(argument) for argument in argv]
        ends = [_ends(given, number) for number, given in enumerate((stdin, stdout, stderr))]
        files = [theirs for theirs, _ in ends]
        environ = dict(os.environ if env is None else env)
        self._process = Fork(_begin, (self.argv, str(cwd), environ, file_size, module), files)
        for file in files:
            os.close(file)
        kind = "" if text else "b"
        own = [end and os.fdopen(end, mode + kind) for (_, end), mode in zip(ends, "wrr", strict=True)]
        self.stdin, self.stdout, self.stderr = own
        self.pid = self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def poll(self) -> int | None:
        """Returns its status when it ended; several threads may ask."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Waits for its end and returns its status.

        Raises:
            subprocess.TimeoutExpired: It did not end in time.
        """
        status = self._process.join(timeout)
        if status is None:
            raise subprocess.TimeoutExpired(self.argv, timeout or 0)
        return status

    def communicate(self, timeout: float | None = None) -> tuple[Any, Any]:
        """Waits for its end and returns what is left of its output and errors.

        Raises:
            subprocess.TimeoutExpired: It did not end in time, and was killed.
        """
        with contextlib.suppress(BrokenPipeError):
            if self.stdin:
                self.stdin.close()
        with ThreadPoolExecutor(2) as pool:
            left = [pool.submit(pipe.read) if pipe else None for pipe in (self.stdout, self.stderr)]
            try:
                self.wait(timeout)
            except subprocess.TimeoutExpired:
                self.kill()
                raise
        out, err = (one and one.result() for one in left)
        return out, err

    def send_signal(self, number: int) -> None:
        self._process.send_signal(number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def _ends(given: Any, number: int) -> tuple[int, int | None]:
    """Returns the process's end of a file and, of a pipe, the other."""
    if given == subprocess.DEVNULL:
        return os.open(os.devnull, os.O_RDWR), None
    if given != subprocess.PIPE:
        return os.dup(given if isinstance(given, int) else given.fileno()), None
    read, write = os.pipe()
    return (write, read) if number else (read, write)


def run(
    argv: Sequence[object],
    cwd: Path,
    env: Mapping[str, str] | None = None,
    timeout: float = 600,
    **process: Any,
) -> "subprocess.CompletedProcess[bytes]":
    """Runs the command `turnwise` in a process of its own and waits for its end.

    Returns:
        Its status, output and errors, as `subprocess.run` does.

    Raises:
        subprocess.TimeoutExpired: It did not end in time, and was killed.
    """
    pipe = subprocess.PIPE
    started = Process(argv, cwd, env, stdout=pipe, stderr=pipe, text=False, **process)
    try:
        out, err = started.communicate(timeout)
    finally:
        started.kill()
    return subprocess.CompletedProcess(started.argv, started.wait(), out, err)


def run_text(
    argv: Sequence[object], cwd: Path, env: Mapping[str, str] | None = None, **process: Any
) -> "subprocess.CompletedProcess[str]":
    """Does what `run` does, with output and errors as text."""
    done = run(argv, cwd, env, **process)
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())
