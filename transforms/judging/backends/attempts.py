"""Retry policy: retries until the deadline, with backoff and the delays that the server requests."""

import random
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isfinite
from typing import Any

from msgspec import Struct

PASSING_STATUSES = frozenset({408, 425, 429, 499, *range(500, 600)} - {501, 505})
"""HTTP statuses of transient errors."""

_LONGEST_BACKOFF_S = 10.0
_DOUBLINGS = 64


class WaitTooLongError(Exception):
    """The server demands a wait beyond the end of the call."""

    def __init__(self, status: int, seconds: float):
        super().__init__(f"HTTP {status}, to be tried again after {seconds:g} s only")


class Attempts(Struct):
    """The attempts of one call.

    Attributes:
        most: Maximum number of attempts; None: until the deadline.
        delay_s: Approximate seconds between the first and second attempt.
        deadline: End of the call on the monotonic clock.
        count: Number of attempts so far.
        last: Error of the last failed attempt.
    """

    most: int | None
    delay_s: float
    deadline: float = 0.0
    count: int = 0
    last: Exception | None = None

    @property
    def is_last(self) -> bool:
        """Whether the current attempt is the last one."""
        return self.is_beyond(0.0) or (self.most is not None and self.count >= self.most)

    def is_beyond(self, seconds: float) -> bool:
        """Returns whether a delay would exceed the deadline."""
        return time.monotonic() + seconds > self.deadline

    def pause(self, asked_s: float) -> float:
        """Returns the seconds until the next attempt.

        They double from attempt to attempt up to 10 s (`delay_s`, if that is longer); a random part, half of
        them at most, is left out. Where the server demands a longer wait, a random part of `delay_s` is
        added to that. This spreads retries over time.

        Args:
            asked_s: The wait that the server demands; 0: none.
        """
        longest = max(_LONGEST_BACKOFF_S, self.delay_s)
        backoff = min(longest, self.delay_s * 2.0 ** min(self.count - 1, _DOUBLINGS))
        chance = random.random()
        return max(backoff * (1 - chance / 2), asked_s and asked_s + self.delay_s * chance)


def asked_wait(headers: Mapping[str, str], body: Any) -> float:
    """Returns the seconds that an error asks to wait; 0: none.

    They stand in `Retry-After`, in `Retry-After-Ms` (Azure's), or in Google's `RetryInfo`.
    """
    exact = _seconds(headers.get("Retry-After-Ms")) / 1000
    return exact or _seconds(headers.get("Retry-After")) or _retry_info(body)


def _seconds(header: str | None) -> float:
    if header is None:
        return 0.0
    try:
        seconds = float(header)
    except ValueError:
        return _until(header)
    return max(0.0, seconds) if isfinite(seconds) else 0.0


def _until(date: str) -> float:
    try:
        return max(0.0, (parsedate_to_datetime(date) - datetime.now(UTC)).total_seconds())
    except (TypeError, ValueError):
        return 0.0


def _retry_info(body: Any) -> float:
    try:
        details: list[dict[str, Any]] = body["error"]["details"]
        return max(_seconds(each["retryDelay"].rstrip("s")) for each in details if "retryDelay" in each)
    except (KeyError, TypeError, ValueError, AttributeError):
        return 0.0
