"""Timers of a step, and the time that they wait for."""

from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import count
from typing import Any, NamedTuple

from apache_beam.transforms.timeutil import TimeDomain
from apache_beam.utils.timestamp import MIN_TIMESTAMP, Timestamp


class StreamTime:
    """The times of a stream in their domains: its watermark, and its clock from 0 on."""

    def __init__(self) -> None:
        self.now = {TimeDomain.WATERMARK: MIN_TIMESTAMP, TimeDomain.REAL_TIME: Timestamp(0)}

    @property
    def watermark(self) -> Timestamp:
        """The watermark."""
        return self.now[TimeDomain.WATERMARK]

    def time(self) -> Timestamp:
        """Returns the time of the clock, as Beam's triggers ask for it."""
        return self.now[TimeDomain.REAL_TIME]


class TimerName(NamedTuple):
    """Names a timer: it has one time at most."""

    domain: str
    key: Any
    window: Any
    name: str
    tag: str = ""


class Timers:
    """The timers of a step, the earliest first."""

    def __init__(self, time: StreamTime) -> None:
        self._time, self._order = time, count()
        self._set: dict[TimerName, Timestamp] = {}
        self._queues: dict[str, list[tuple[Timestamp, int, TimerName]]] = {domain: [] for domain in time.now}

    def set(self, name: TimerName, time: Timestamp) -> None:
        """Sets a timer, in place of its earlier time."""
        if self._set.get(name) != time:
            self._set[name] = time
            heappush(self._queues[name.domain], (time, next(self._order), name))

    def clear(self, name: TimerName) -> None:
        """Removes a timer; its place in the queue stays until its time."""
        self._set.pop(name, None)

    def are_due(self) -> bool:
        """Returns whether a time has come for which a timer was set."""
        return any(queue and queue[0][0] <= self._time.now[at] for at, queue in self._queues.items())

    def take_due(self) -> Iterator[tuple[TimerName, Timestamp]]:
        """Removes and yields due timers, also those that are set meanwhile."""
        for domain, queue in self._queues.items():
            while queue and queue[0][0] <= self._time.now[domain]:
                time, _, name = heappop(queue)
                if self._set.get(name) == time:
                    del self._set[name]
                    yield name, time
