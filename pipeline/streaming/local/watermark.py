"""Computes the watermark of a local stream."""

from collections.abc import Callable
from time import monotonic, time

_SLACK = 5.0
_SKEW = 60.0


class Watermark:
    """The event time before which no more records are expected.

    It follows the latest event time at a distance of 5 s. While no records arrive it advances with the clock,
    so that open sessions end. Records without an event time, or with one over a minute in the future, do not
    move it, unless no others arrive for `patience` seconds: a malformed line must not make a log of last week
    late.
    """

    def __init__(
        self, now: Callable[[], float] = time, clock: Callable[[], float] = monotonic, patience: float = 600.0
    ) -> None:
        """Creates a watermark at 0.

        Args:
            now: Returns seconds since the epoch.
            clock: Returns monotonic seconds.
            patience: Seconds after which records without an event time count at their arrival.
        """
        self._patience, self._now, self._clock = patience, now, clock
        self._latest: float | None = None
        self._newest = 0.0
        self._seen_at = clock()
        self._undated_since: float | None = None
        self.value = 0.0

    def see(self, event_time: float | None) -> float:
        """Registers a record.

        Args:
            event_time: The record's own time, seconds since the epoch; None: it has none.

        Returns:
            The time at which the record counts: its own, or now.
        """
        now = self._now()
        if event_time is None or event_time > now + _SKEW:
            if self._undated_since is None:
                self._undated_since = self._clock()
            self._newest = max(self._newest, now)
            return now
        event_time = min(event_time, now)
        self._newest = max(self._newest, event_time)
        if self._latest is None or event_time > self._latest:
            self._latest, self._seen_at = event_time, self._clock()
        return event_time

    def advance(self) -> bool:
        """Advances to the present; returns whether the value changed."""
        waited = 0.0 if self._undated_since is None else self._clock() - self._undated_since
        if self._latest is None and waited > self._patience:
            self.see(self._now())
        if self._latest is None:
            return False
        idle = self._clock() - self._seen_at
        found = min(self._latest + idle, self._now()) - _SLACK
        if found <= self.value:
            return False
        self.value = found
        return True

    @property
    def micros(self) -> int:
        """The value in microseconds."""
        return int(self.value * 1e6)

    def pass_over(self, seconds: float) -> None:
        """Advances to `seconds` after the latest event, at the end of a stream."""
        self.value = max(self.value, self._newest) + seconds
