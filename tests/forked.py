"""Processes of the command that begin as forks of one that has loaded it: its imports cost 3 CPU seconds.

A fork has its own directory, environment, files, registries and status, as any process. It does not show what
a command imports, nor what the interpreter prints when it is finalized.
"""

import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from io import FileIO, TextIOWrapper
from pathlib import Path

_LOADED = [
    "turnwise.pipeline.cli.main",
    "turnwise.pipeline.cli.options",
    "turnwise.pipeline.cli.list_tools",
    "turnwise.pipeline.batch.run",
    "turnwise.pipeline.streaming.local.run",
    "turnwise.pipeline.service.command",
]
CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(_LOADED)


def _begin(argv: list[str], folder: str, environ: dict[str, str], files: list[str]) -> None:
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environ)
    sys.path[:0] = [place for place in environ.get("PYTHONPATH", "").split(os.pathsep) if place]
    encoding = environ.get("PYTHONIOENCODING", "utf-8")
    for number, path in enumerate(files):
        own = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        os.dup2(own, number)
        os.close(own)
    sys.stdin = TextIOWrapper(FileIO(0, closefd=False), encoding)
    sys.stdout = TextIOWrapper(FileIO(1, "w", closefd=False), encoding, write_through=True)
    sys.stderr = TextIOWrapper(
        FileIO(2, "w", closefd=False), encoding, "backslashreplace", write_through=True
    )
    sys.argv = ["turnwise", *argv]
    from turnwise.pipeline.cli.main import run_command

    run_command()


def run(
    argv: Sequence[str], cwd: Path, env: Mapping[str, str] | None = None, timeout: float = 600
) -> "subprocess.CompletedProcess[bytes]":
    """Runs the command `turnwise` in a process of its own and waits for its end.

    Returns:
        Its status, output and errors, as `subprocess.run` does.

    Raises:
        subprocess.TimeoutExpired: It did not end in time, and was killed.
    """
    with tempfile.TemporaryDirectory() as place:
        files = [os.devnull, f"{place}/out", f"{place}/err"]
        given = (list(argv), str(cwd), dict(os.environ if env is None else env), files)
        process = CONTEXT.Process(target=_begin, args=given)
        process.start()
        try:
            process.join(timeout)
            if process.exitcode is None:
                raise subprocess.TimeoutExpired(list(argv), timeout)
        finally:
            process.kill()
            process.join()
        out, err = (Path(path).read_bytes() for path in files[1:])
        return subprocess.CompletedProcess(list(argv), process.exitcode, out, err)


def run_text(
    argv: Sequence[str], cwd: Path, env: Mapping[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    """Does what `run` does, with output and errors as text."""
    done = run(argv, cwd, env)
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())
