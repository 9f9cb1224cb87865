"""A process that has imported the command and becomes others: one for all workers of pytest.

To import the command takes more CPU time than most of its runs. Whoever asks first starts the process, and it
ends when the last one that asked has ended.
"""

import contextlib
import gc
import multiprocessing
import os
import pickle
import selectors
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from secrets import token_hex
from typing import Any, NamedTuple

_ROOT = Path(__file__).parents[1]
_LOADED = [
    "turnwise.pipeline.cli.main",
    "turnwise.pipeline.cli.run_options",
    "turnwise.pipeline.cli.tools",
    "turnwise.pipeline.batch.run",
    "turnwise.pipeline.streaming.local.run",
    "turnwise.pipeline.service.rest",
    "pytest",
    "tests.forked",
    "apache_beam.runners.direct.transform_evaluator",
    "apache_beam.runners.portability.fn_api_runner.fn_runner",
    *(
        f"turnwise.{'.'.join(path.relative_to(_ROOT).with_suffix('').parts)}"
        for folder in ("transforms", "pipeline/io", "pipeline/store", "pipeline/service")
        for path in sorted((_ROOT / folder).rglob("[!_]*.py"))
    ),
]
_RUN = os.environ.get("PYTEST_XDIST_TESTRUNUID") or token_hex()
_FOLDER = Path(tempfile.gettempdir(), f"turnwise-tests-{_RUN[:16]}")
"""Is for the user of the tests alone: whoever can connect lets the server execute anything."""
_SOCKET = "forks"
_TRIES = 1000
_NUMBER = struct.Struct("q")
_READY = b"!"
_FORK = multiprocessing.get_context("fork")
_lock = threading.Lock()
_connections: list[socket.socket] = []


def start(function: Callable[..., object], arguments: Sequence[object], files: Sequence[int]) -> int:
    """Lets a new process call a function whose first arguments are its own copies of open files.

    Returns:
        A pipe that gives two numbers: the id of the process now, and its status when it has ended.
    """
    asked = pickle.dumps((function, arguments))
    told, tells = os.pipe()
    try:
        with _lock:
            connection = _connections[0] if _connections else _joined()
            _connections[:] = [connection]
            socket.send_fds(connection, [_NUMBER.pack(len(asked))], [tells, *files])
            connection.sendall(asked)
    finally:
        os.close(tells)
    return told


def read_number(pipe: int) -> int | None:
    """Waits for a number of a pipe and returns it; None: the other side has ended without it."""
    got = os.read(pipe, _NUMBER.size)
    number: int | None = _NUMBER.unpack(got)[0] if got else None
    return number


def _joined() -> socket.socket:
    """Returns a connection to the server, which is started if there is none."""
    for _ in range(_TRIES):
        connection = socket.socket(socket.AF_UNIX)
        with contextlib.suppress(ConnectionError, FileNotFoundError), _listener() as listener:
            connection.connect(str(_FOLDER / _SOCKET))
            if listener.fileno() >= 0:
                command = [sys.executable, "-m", __name__, str(listener.fileno())]
                subprocess.Popen(command, cwd=_ROOT, pass_fds=[listener.fileno()])
            listener.close()
            if connection.recv(1) == _READY:
                return connection
        connection.close()
        time.sleep(0.01)
    raise ConnectionError("there is no server of forks")


def _listener() -> socket.socket:
    """Returns a socket that listens; a closed one if another process has it."""
    listener = socket.socket(socket.AF_UNIX)
    try:
        _FOLDER.mkdir(mode=0o700, exist_ok=True)
        listener.bind(str(_FOLDER / _SOCKET))
        listener.listen()
    except OSError:
        listener.close()
    return listener


class _Request(NamedTuple):
    """What a process is to do."""

    function: Callable[..., object]
    arguments: Sequence[object]
    files: list[int]


def _received(connection: socket.socket) -> tuple[int, _Request] | None:
    """Returns where to tell of a process, and what it is to do; None: the other side has ended."""
    size, files, _, _ = socket.recv_fds(connection, _NUMBER.size, 16)
    if not size:
        return None
    with connection.makefile("rb") as file:
        function, arguments = pickle.loads(file.read(_NUMBER.unpack(size)[0]))
    return files[0], _Request(function, arguments, files[1:])


class _Server:
    """Processes that run, and who asked for them."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._selector = selectors.DefaultSelector()
        self._running: dict[int, Any] = {}
        self._ended, self._wakes = socket.socketpair()
        self._members = 0

    def serve(self) -> None:
        """Starts processes until everyone who asked for some has gone."""
        self._ended.setblocking(False)
        self._wakes.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.set_wakeup_fd(self._wakes.fileno())
        self._selector.register(self._listener, selectors.EVENT_READ, self._admit)
        self._selector.register(self._ended, selectors.EVENT_READ, self._tell)
        self._admit(self._listener)
        while self._members:
            for key, _ in self._selector.select():
                key.data(key.fileobj)
        place = Path(self._listener.getsockname())
        place.unlink()
        place.parent.rmdir()

    def _admit(self, listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with contextlib.suppress(ConnectionError):
            connection.sendall(_READY)
        self._selector.register(connection, selectors.EVENT_READ, self._start)
        self._members += 1

    def _start(self, connection: socket.socket) -> None:
        received = _received(connection)
        if received is None:
            self._selector.unregister(connection)
            connection.close()
            self._members -= 1
            return
        tells, request = received
        process = _FORK.Process(target=self._become, args=(request, tells))
        process.start()
        for file in request.files:
            os.close(file)
        self._running[tells] = process
        _write_number(tells, process.pid or 0)

    def _become(self, request: _Request, tells: int) -> None:
        """Is in the new process: leaves nothing of the server and does what was asked."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for key in list(self._selector.get_map().values()):
            key.fileobj.close()  # type: ignore[union-attr]
        self._selector.close()
        self._wakes.close()
        for pipe in (tells, *self._running):
            os.close(pipe)
        gc.enable()
        request.function(request.files, *request.arguments)

    def _tell(self, ended: socket.socket) -> None:
        """Tells the status of each process that has ended."""
        ended.recv(1024)
        over = {pipe: process for pipe, process in self._running.items() if process.exitcode is not None}
        for pipe, process in over.items():
            _write_number(pipe, process.exitcode)
            os.close(pipe)
            process.close()
            del self._running[pipe]


def _write_number(pipe: int, number: int) -> None:
    with contextlib.suppress(BrokenPipeError):
        os.write(pipe, _NUMBER.pack(number))


def _load() -> None:
    """Imports what processes need; the garbage collector would scan it again and again, here and in them."""
    gc.disable()
    for name in _LOADED:
        with contextlib.suppress(ImportError):
            __import__(name)
    gc.freeze()


if __name__ == "__main__":
    _load()
    _Server(socket.socket(fileno=int(sys.argv[1]))).serve()
    os._exit(0)  # there is nothing to tidy up, and Python would do so for a second
