"""Limits the log of the server to one line per event and one event of a kind per minute."""

import logging
from collections.abc import Callable
from time import monotonic

_SECONDS = 60.0
_MOST_KINDS = 1000


class LogRateLimit(logging.Filter):
    """Passes one record of a kind per minute, with the number of suppressed ones.

    A kind is a logger and the first line of its message. Tracebacks are removed, because they may hold parts
    of requests.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._seen: dict[tuple[str, str], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Returns whether a record is logged."""
        line, now = _first_line(record), self._clock()
        since, held = self._seen.get((record.name, line), (-_SECONDS, 0))
        if now - since < _SECONDS:
            self._seen[record.name, line] = (since, held + 1)
            return False
        if len(self._seen) >= _MOST_KINDS:
            self._seen.clear()
        self._seen[record.name, line] = (now, 0)
        record.msg, record.args = line + (f" (and {held} more before)" if held else ""), ()
        record.exc_info = record.exc_text = record.stack_info = None
        return True


def _first_line(record: logging.LogRecord) -> str:
    text = next(iter(record.getMessage().strip().splitlines()), "")
    kind = record.exc_info[0] if record.exc_info else None
    return f"{text} ({kind.__name__})" if kind else text
