"""What the tests of sources share."""

import time
from collections.abc import Callable, Iterable

import pytest

from turnwise.pipeline.streaming.inputs.source import SettledPositions


class InMemoryCheckpoints:
    """A progress book in memory; it outlives the sources, as the one on disk outlives the process."""

    def __init__(self) -> None:
        self.settled: dict[str, set[int]] = {}
        self.notes: dict[str, str] = {}

    def done(self, source: str) -> SettledPositions:
        places = self.settled.setdefault(source, set())
        through = 0
        while through + 1 in places:
            through += 1
        return SettledPositions(through, frozenset(place for place in places if place > through))

    def settle(self, items: Iterable) -> None:
        for item in items:
            self.settled[item.source].add(item.position)

    def skip(self, source: str, positions: Iterable[int]) -> None:
        self.settled[source].update(positions)

    def note(self, source: str) -> str | None:
        return self.notes.get(source)

    def set_note(self, source: str, note: str) -> None:
        self.notes[source] = note


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = time.time()

    def __call__(self) -> float:
        return self.now

    def wait(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture(scope="module")
def new_checkpoints() -> Callable[[], InMemoryCheckpoints]:
    return InMemoryCheckpoints


@pytest.fixture(scope="module")
def new_clock() -> Callable[[], Clock]:
    return Clock


@pytest.fixture
def checkpoints() -> InMemoryCheckpoints:
    return InMemoryCheckpoints()


@pytest.fixture
def clock() -> Clock:
    return Clock()
