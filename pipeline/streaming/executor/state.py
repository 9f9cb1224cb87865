"""State and timers of a step's keys, as its DoFn reads and sets them."""

from typing import Any

from apache_beam.transforms.userstate import (
    BaseTimer,
    ReadModifyWriteRuntimeState,
    ReadModifyWriteStateSpec,
    TimerSpec,
    UserStateContext,
)
from apache_beam.utils.timestamp import Timestamp

from turnwise.pipeline.streaming.executor.timers import TimerName, Timers


class _Cell(ReadModifyWriteRuntimeState):
    """One value of a key and window. It is kept as it is: no other process reads it."""

    def __init__(self, values: dict[Any, Any], place: Any) -> None:
        self._values, self._place = values, place

    def read(self) -> Any:
        return self._values.get(self._place)

    def write(self, value: Any) -> None:
        self._values[self._place] = value

    def clear(self) -> None:
        self._values.pop(self._place, None)

    def commit(self) -> None:
        """Does nothing: what is written counts at once."""


class _Timer(BaseTimer):
    def __init__(self, timers: Timers, name: TimerName) -> None:
        self._timers, self._name = timers, name

    def set(self, timestamp: Any, dynamic_timer_tag: str = "") -> None:
        self._timers.set(self._name._replace(tag=dynamic_timer_tag), Timestamp.of(timestamp))

    def clear(self, dynamic_timer_tag: str = "") -> None:
        self._timers.clear(self._name._replace(tag=dynamic_timer_tag))


class KeyedState(UserStateContext):
    """State and timers of a step, by key and window.

    Attributes:
        values: The state cells that hold a value.
    """

    def __init__(self, timers: Timers) -> None:
        self.values: dict[Any, Any] = {}
        self._timers = timers

    def get_state(self, state_spec: Any, key: Any, window: Any) -> _Cell:
        """Returns a cell; raises NotImplementedError if it is of another kind than one value."""
        if not isinstance(state_spec, ReadModifyWriteStateSpec):
            raise NotImplementedError(f"state of the kind {type(state_spec).__name__}")
        return _Cell(self.values, (key, window, state_spec.name))

    def get_timer(self, timer_spec: TimerSpec, key: Any, window: Any, timestamp: Any, pane: Any) -> _Timer:
        """Returns a timer."""
        return _Timer(self._timers, TimerName(timer_spec.time_domain, key, window, timer_spec.name))

    def commit(self) -> None:
        """Does nothing: what is written counts at once."""
