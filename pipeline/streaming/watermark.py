"""How far the time of a local stream has come."""

from collections.abc import Callable
from time import monotonic, time

_SLACK = 5.0


class Watermark:
    """The event time before which nothing more is expected.

    It follows the latest event time that was seen, 5 s behind; while nothing comes it moves on as the clock
    does, so that open sessions end. It never passes the present: an event of the future makes no others late.
    """

    def __init__(self, now: Callable[[], float] = time, clock: Callable[[], float] = monotonic) -> None:
        """Starts with nothing seen; `now` gives seconds since the epoch, `clock` seconds that never jump."""
        self._now, self._clock = now, clock
        self._latest: float | None = None
        self._seen_at = clock()
        self.value = 0.0

    def see(self, event_time: float) -> None:
        """Takes note of an event's time, seconds since the epoch."""
        event_time = min(event_time, self._now())
        if self._latest is None or event_time > self._latest:
            self._latest, self._seen_at = event_time, self._clock()

    def advance(self) -> bool:
        """Moves on to the present moment; returns whether it did."""
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
        """The same in microseconds."""
        return int(self.value * 1e6)

    def pass_over(self, seconds: float) -> None:
        """Moves on to a length of time after the latest event, at the end of a stream."""
        self.value = max(self.value, self._latest or 0.0) + seconds
