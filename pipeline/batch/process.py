"""What a run sets in its process: how signals end it (the second one at once), and a calm collector."""

import gc
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TypeAlias

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_AGAIN_AFTER = 1.0
_Handler: TypeAlias = Callable[[int, FrameType | None], None]


class Interrupted(KeyboardInterrupt):
    """A signal, by its number, ended a run."""

    def __init__(self, number: int, kept: str = "; no file of this run was kept") -> None:
        """Creates the error; `kept` says what remains of the run, as the rest of its sentence."""
        super().__init__(f"interrupted by {signal.Signals(number).name}{kept}")
        self.number = number


def interrupted_status(number: int = signal.SIGINT) -> int:
    """Returns the exit status of a process ended by a signal."""
    return 128 + number


def end_at_signal() -> None:
    """Ends the process with one line at a signal, until another handler is set; keeps ignored signals."""

    def end(number: int, frame: FrameType | None) -> None:
        os.write(2, f"turnwise: interrupted by {signal.Signals(number).name}\n".encode())
        os._exit(interrupted_status(number))

    for number in _SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, end)


def leave_signals() -> None:
    """Restores Python's handlers, for servers with their own signal handling; keeps ignored signals."""
    for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGTERM, signal.SIG_DFL)):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)


@contextmanager
def drained_by_signal(stop: Callable[[], None]) -> Iterator[None]:
    """Calls `stop` at the first signal while the body runs; the second ends the process."""

    def drain(number: int) -> None:
        print("turnwise: stopping: scoring what was read (press again to stop now)", file=sys.stderr)
        stop()

    with _handled(drain):
        yield


@contextmanager
def interrupted_by_signal() -> Iterator[None]:
    """Raises Interrupted from the body at the first signal; the second ends the process.

    Finalisers, callbacks and compiled code can drop a KeyboardInterrupt. Therefore it is raised again once
    a second until the body ends, and a body that ends normally after a signal still counts as interrupted.
    """
    received: list[int] = []
    is_over = threading.Event()

    def interrupt(number: int, frame: FrameType | None = None) -> None:
        if not is_over.is_set():
            signal.setitimer(signal.ITIMER_REAL, _AGAIN_AFTER)
            raise KeyboardInterrupt

    def first(number: int) -> None:
        received.append(number)
        interrupt(number)

    with _handled(first, {signal.SIGALRM: interrupt}):
        try:
            yield
        except BaseException:
            is_over.set()
            if not received:
                raise
        finally:
            is_over.set()
        if received:
            raise Interrupted(received[0]) from None


@contextmanager
def _handled(first: Callable[[int], None], others: dict[int, _Handler] | None = None) -> Iterator[None]:
    """Calls `first` at the first signal; the second ends the process. Main thread only."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    is_first = [True]

    def handle(number: int, frame: FrameType | None) -> None:
        if not is_first:
            os._exit(interrupted_status(number))
        is_first.clear()
        first(number)

    handlers: dict[int, _Handler] = {_SIGNALS[0]: handle, _SIGNALS[1]: handle, **(others or {})}
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)


_OBJECTS_BETWEEN_COLLECTIONS = 200_000


def calm_collector() -> None:
    """Makes the garbage collector run rarely: what records and requests make is freed without it."""
    gc.freeze()  # before it is enabled, which would begin a collection of what exists
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS, 20, 20)
    gc.enable()
