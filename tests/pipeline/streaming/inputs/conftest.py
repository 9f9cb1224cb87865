"""Fixtures for tests of the sources of a stream."""

import time

import pytest

from tests.sources import InMemoryCheckpoints


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = time.time()

    def __call__(self) -> float:
        return self.now

    def wait(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def checkpoints() -> InMemoryCheckpoints:
    return InMemoryCheckpoints()


@pytest.fixture
def clock() -> Clock:
    return Clock()
