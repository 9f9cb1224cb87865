"""Shows the progress of a run on a terminal."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from turnwise.schemas.run import PROGRESS

_FIRST_AFTER = 3.0
_EVERY = 1.0


@contextmanager
def show_progress() -> Iterator[None]:
    """Shows progress on standard error while the body runs, if it is a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    done = threading.Event()
    thread = threading.Thread(target=_show_until, args=(done,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _show_until(done: threading.Event) -> None:
    start, shown = time.monotonic(), False
    before = (PROGRESS.conversations, PROGRESS.turns)
    wait = _FIRST_AFTER
    while not done.wait(wait):
        wait, shown = _EVERY, True
        line = progress_line(
            PROGRESS.conversations - before[0], PROGRESS.turns - before[1], time.monotonic() - start
        )
        sys.stderr.write(f"\r{line}\x1b[K")
        sys.stderr.flush()
    if shown:
        sys.stderr.write("\r\x1b[K")


def progress_line(conversations: int, turns: int, seconds: float) -> str:
    """Returns the progress line: conversations, turns, and turns per second."""
    return f"{conversations:,} conversations, {turns:,} turns, {turns / max(seconds, 1e-9):,.0f} turns/s"
