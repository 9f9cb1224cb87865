"""Ctrl-C and SIGTERM: the first ends a stream in order, the second at once."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def drained_by_signal(stop: Callable[[], None]) -> Iterator[None]:
    """Calls `stop` at the first signal while the body runs; the second ends the process with status 130."""
    received: list[int] = []

    def handle(number: int, frame: FrameType | None) -> None:
        if received:
            os._exit(130)
        received.append(number)
        print("turnwise: ending: what was read is scored and written (again: stop now)", file=sys.stderr)
        stop()

    before = {number: signal.signal(number, handle) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
