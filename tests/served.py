"""Servers, terminals and variables of the environment for the length of a test."""

import os
import threading
import time
from contextlib import contextmanager
from http.server import ThreadingHTTPServer


@contextmanager
def http_served(handler):
    """Serves HTTP on this machine; yields the address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def terminal():
    """Yields one end of a pseudo-terminal of 40 lines and 100 columns, and what was shown so far on it."""
    import fcntl
    import pty
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
    shown: list[bytes] = []

    def read():
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:
                return
            if not part:
                return
            shown.append(part)

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    try:
        yield theirs, shown
    finally:
        thread.join(timeout=60)
        os.close(ours)


def until(is_so, is_alive=lambda: True):
    """Waits some minutes until something is so, as long as a process lives."""
    deadline = time.monotonic() + 240
    while not is_so():
        assert is_alive() and time.monotonic() < deadline
        time.sleep(0.05)


@contextmanager
def in_environment(given):
    """Sets variables of the environment, and puts the earlier ones back."""
    before = {name: os.environ.get(name) for name in given}
    os.environ.update(given)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
