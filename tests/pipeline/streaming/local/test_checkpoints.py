"""How far sources were read."""

from threading import RLock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnwise.pipeline.streaming.inputs.base import SettledPositions
from turnwise.pipeline.streaming.local.database import open_database
from turnwise.pipeline.streaming.local.storage import SourceCheckpoints


@pytest.fixture
def open_book(tmp_path):
    """Returns a function that opens the book as the next process does."""
    connection = open_database(tmp_path)
    yield lambda: SourceCheckpoints(connection, RLock())
    connection.close()


def test_sources_are_apart_and_only_those_that_asked_are_kept(open_book):
    checkpoints = open_book()
    checkpoints.done("a")
    checkpoints.settle([("a", 1), ("b", 1), ("topic", 7)])
    after = open_book()
    assert (after.done("a"), after.done("b"), after.done("topic")) == (
        SettledPositions(1),
        SettledPositions(0),
        SettledPositions(0),
    )


def test_notes_are_remembered_apart_from_progress(open_book):
    checkpoints = open_book()
    checkpoints.done("a")
    assert checkpoints.note("a") is None
    checkpoints.set_note("a", "one")
    checkpoints.settle([("a", 1)])
    checkpoints.set_note("a", "two")
    after = open_book()
    assert (after.note("a"), after.note("b"), after.done("a")) == ("two", None, SettledPositions(1))


@settings(max_examples=40, deadline=None)
@given(st.permutations(range(1, 13)), st.sets(st.integers(1, 12)), st.lists(st.integers(1, 5), max_size=12))
def test_any_order_of_settling_gives_through_and_beyond(tmp_path_factory, order, skipped, sizes):
    """`through` is the end of what has no gap, `beyond` the rest; a process may end after any of them."""
    connection = open_database(tmp_path_factory.mktemp("book"))
    checkpoints, done = SourceCheckpoints(connection, RLock()), set()
    checkpoints.done("a")
    sizes = iter(sizes)
    while order:
        size = next(sizes, 1)
        now, order = order[:size], order[size:]
        checkpoints.skip("a", [n for n in now if n in skipped])
        checkpoints.settle([("a", n) for n in now if n not in skipped])
        done |= set(now)
        through = next(n for n in range(14) if n + 1 not in done)
        found = checkpoints.done("a")
        assert found == SettledPositions(through, frozenset(n for n in done if n > through))
        if size % 2:
            checkpoints = SourceCheckpoints(connection, RLock())
            assert checkpoints.done("a") == found
    connection.close()
