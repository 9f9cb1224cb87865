"""Lines of a stream on other runners wait for others, but never for ever."""

from typing import Any

from turnwise.pipeline.streaming.beam.shared_files import _BatchFn


class State:
    """State of one key, or its timer: what was added or set, in order."""

    def __init__(self) -> None:
        self.values: list[Any] = []

    def add(self, value: Any) -> None:
        self.values.append(value)

    write = set = add

    def read(self) -> Any:
        return self.values

    def clear(self) -> None:
        self.values = []


class Number(State):
    """A state that is a number: the count of what was added, or what was written last."""

    def __init__(self, is_count: bool = False) -> None:
        super().__init__()
        self._is_count = is_count

    def read(self) -> Any:
        return len(self.values) if self._is_count else next(iter(self.values[-1:]), None)


def test_lines_that_a_timer_left_behind_set_it_again() -> None:
    batches, lines, count, first, timer = _BatchFn(), State(), Number(is_count=True), Number(), State()

    def bundle(*added: bytes) -> list[Any]:
        batches.start_bundle()
        return [out for line in added for out in batches.process(("k", line), lines, count, first, timer)]

    assert bundle(b"1", b"2") == [] and len(timer.values) == 1
    assert bundle(b"3") == [] and timer.values == [timer.values[0]] * 2, "the first line's time"
    assert list(batches.full("k", lines, count, first)) == [("k", [b"1", b"2", b"3"])]
    assert list(batches.full("k", lines, count, first)) == []
    assert bundle(b"4") == [] and timer.values[2] > timer.values[0]
