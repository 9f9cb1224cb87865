"""Groups elements by key and window, and releases the groups when their trigger says so."""

from collections.abc import Iterable
from typing import Any, TypeAlias

from apache_beam.pipeline import AppliedPTransform
from apache_beam.runners.common import Receiver
from apache_beam.transforms.timeutil import TimeDomain
from apache_beam.transforms.trigger import InMemoryUnmergedState, create_trigger_driver
from apache_beam.transforms.window import NonMergingWindowFn
from apache_beam.utils.timestamp import MAX_TIMESTAMP, TIME_GRANULARITY, Timestamp
from apache_beam.utils.windowed_value import WindowedValue

from turnwise.pipeline.streaming.executor.timers import StreamTime, TimerName, Timers

_END = "end of the allowed lateness"
_Group: TypeAlias = tuple[Any, Any]


class _GroupState(InMemoryUnmergedState):
    """What Beam's trigger keeps of one key and window."""

    def __init__(self, group: _Group, timers: Timers) -> None:
        super().__init__()
        self._group, self._timers = group, timers

    def set_timer(
        self, window: Any, name: str, time_domain: str, timestamp: Any, dynamic_timer_tag: str = ""
    ) -> None:
        self._timers.set(TimerName(time_domain, self._group, window, name, dynamic_timer_tag), timestamp)

    def clear_timer(self, window: Any, name: str, time_domain: str, dynamic_timer_tag: str = "") -> None:
        self._timers.clear(TimerName(time_domain, self._group, window, name, dynamic_timer_tag))


class GroupStep(Receiver):
    """Beam's GroupByKey. A group is forgotten when its window accepts no more elements."""

    def __init__(self, applied: AppliedPTransform, output: Receiver, time: StreamTime) -> None:
        """Prepares the trigger; raises NotImplementedError if windows merge."""
        windowing = applied.inputs[0].windowing
        if not isinstance(windowing.windowfn, NonMergingWindowFn):
            raise NotImplementedError(f"{applied.full_label}: windows that merge")
        self._driver = create_trigger_driver(windowing, clock=time)
        self._lateness = windowing.allowed_lateness
        self._output, self._time, self._timers = output, time, Timers(time)
        self._waiting: dict[_Group, list[WindowedValue]] = {}
        self._groups: dict[_Group, _GroupState] = {}

    def start(self) -> None:
        """Does nothing."""

    def receive(self, windowed_value: WindowedValue) -> None:
        """Holds an element until the bundle ends."""
        key, value = windowed_value.value
        for window in windowed_value.windows:
            one = WindowedValue(value, windowed_value.timestamp, (window,))
            self._waiting.setdefault((key, window), []).append(one)

    def is_due(self) -> bool:
        """Returns whether a timer is due."""
        return self._timers.are_due()

    def finish(self) -> None:
        """Adds the elements of the bundle to their groups, and fires due timers."""
        waiting, self._waiting = self._waiting, {}
        for group, values in waiting.items():
            self._add(group, values)
        for name, time in self._timers.take_due():
            if name.name == _END:
                del self._groups[name.key]
            elif name.key in self._groups:
                state = self._groups[name.key]
                self._release(
                    name.key, self._driver.process_timer(name.window, name.name, name.domain, time, state)
                )

    def close(self) -> None:
        """Does nothing."""

    def _add(self, group: _Group, values: list[WindowedValue]) -> None:
        end, watermark = group[1].end + self._lateness, self._time.watermark
        if watermark > end:
            return
        if group not in self._groups:
            self._groups[group] = _GroupState(group, self._timers)
            self._timers.set(TimerName(TimeDomain.WATERMARK, group, None, _END), _after(end))
        released = self._driver.process_elements(self._groups[group], values, watermark, watermark)
        self._release(group, released)

    def _release(self, group: _Group, values: Iterable[WindowedValue]) -> None:
        for one in values:
            self._output.receive(one.with_value((group[0], one.value)))


def _after(end: Timestamp) -> Timestamp:
    """Returns the first time at which a window that accepts elements until `end` accepts none."""
    return min(end + TIME_GRANULARITY, MAX_TIMESTAMP)
