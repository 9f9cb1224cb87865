"""A stream whose source is slow, stuck or gone."""

import threading
import time
from threading import Event

import pytest

from turnwise.pipeline.settings.options import StreamSettings
from turnwise.pipeline.streaming.inputs.base import SourceRecord
from turnwise.pipeline.streaming.local import loop
from turnwise.pipeline.streaming.local.storage import MetricsFiles, Runtime
from turnwise.schemas.run import RunInfo


class SlowSource:
    """Gives one item, after it was told to."""

    is_finished = False

    def __init__(self, error=None):
        self.may_go_on, self.error = Event(), error
        self.items = [SourceRecord("logs", 1, b'{"event_time": 5}')]

    def poll(self, limit):
        assert self.may_go_on.wait(60)
        if self.error:
            raise self.error
        return [self.items.pop() for _ in range(min(limit, len(self.items)))]

    def unread(self):
        return ()

    def last_items(self):
        return []

    def settle(self, places):
        pass


@pytest.fixture
def source():
    source = SlowSource()
    yield source
    source.may_go_on.set()


def running(source, opened, most=None):
    """Returns an engine, its events, and what ends it."""
    metrics = MetricsFiles(opened.directory, "run", [])
    runtime, settings = Runtime(opened.store, opened.in_flight, metrics), StreamSettings(stop_after=most)
    stop = Event()
    engine = loop.Engine(source, runtime, settings, RunInfo("run", ""), stop)
    return engine, engine.events(), stop


def until(events, part, is_so=lambda: True):
    """Takes events until one has a part, and something is so; returns it."""
    deadline = time.monotonic() + 60
    for event in events:
        if getattr(event, part) and is_so():
            return event
        assert time.monotonic() < deadline
    return None


def test_a_long_poll_keeps_the_stream_alive(opened, source):
    _, events, _ = running(source, opened)
    for _ in range(3):
        assert until(events, "seconds")
    assert opened.in_flight.waiting == 0
    source.may_go_on.set()
    (found,) = until(events, "values").values
    assert (found.value.source, found.value.position, float(found.timestamp)) == ("logs", 1, 5)


def test_a_stuck_poll_does_not_keep_the_stream_from_ending(opened, source):
    one, events, stop = running(source, opened)
    one.patience = 0.1
    assert until(events, "seconds")
    stop.set()
    assert until(events, "watermark") is None
    with pytest.raises(OSError, match=r"did not answer for 0 s; start the stream again"):
        one.check()


def test_a_poll_that_answers_while_the_stream_ends_is_scored(opened, source):
    _, events, stop = running(source, opened)
    assert until(events, "seconds")
    stop.set()
    assert until(events, "seconds") and until(events, "seconds")
    source.may_go_on.set()
    assert until(events, "values")


def test_records_have_a_time_and_are_taken_once(opened, source):
    """A record that is given again while it is in flight, and one that states no time of its own."""
    twice = [SourceRecord("logs", 1, b'{"event_time": 5}')] * 2
    source.items = [SourceRecord("logs", 2, b"{}", published=7.0), *twice]
    source.may_go_on.set()
    taken = until(running(source, opened)[1], "values").values
    assert [(one.value.position, float(one.timestamp)) for one in taken] == [(1, 5), (2, 7)]


def test_a_stream_ends_after_so_many_conversations_and_reads_no_more(opened, source):
    """What was rejected counts too; what was scored leaves less room, and nothing is read at the end."""
    source.may_go_on.set()
    source.last_items = lambda: [SourceRecord("logs", 9, b"{}")]
    _, events, _ = running(source, opened, most=3)
    assert len(until(events, "values").values) == 1
    source.items = [SourceRecord("logs", place, b"{}") for place in range(2, 8)]
    opened.store.counts["rejected_conversations"] += 1
    assert len(until(events, "values").values) == 2
    opened.store.counts["results"] += 2
    assert until(events, "values") is None and len(source.items) == 4


def test_the_first_problem_is_told(opened, source):
    one, *_ = running(source, opened)
    for problem in (ValueError("first"), OSError("second")):
        one.fail(problem)
    with pytest.raises(ValueError, match="first"):
        one.check()


@pytest.mark.parametrize("error", [TimeoutError("slow disk"), RuntimeError("a bug")])
def test_an_error_of_the_source_ends_the_stream(opened, source, error):
    source.error = error
    source.may_go_on.set()
    one, events, _ = running(source, opened)
    assert until(events, "values") is None
    with pytest.raises(type(error), match=str(error)):
        one.check()


def test_a_stream_that_is_asked_to_end_is_complete(opened, source):
    source.items.clear()
    source.may_go_on.set()
    one, events, stop = running(source, opened)
    assert until(events, "seconds")
    stop.set()
    assert until(events, "watermark") and list(events) == []
    one.check()


def test_the_time_of_a_stream_goes_on_while_its_disk_is_slow(opened, source):
    source.items[:] = [SourceRecord("logs", 1, b"", error=ValueError("bad"))]
    source.may_go_on.set()
    _, events, _ = running(source, opened)
    locked, free = Event(), Event()

    def hold():
        with opened.store.lock:
            locked.set()
            free.wait(60)

    holder = threading.Thread(target=hold)
    holder.start()
    try:
        assert locked.wait(60)
        for _ in range(3):
            assert until(events, "seconds")
        assert opened.rows("failures") == []
    finally:
        free.set()
        holder.join(60)
    until(events, "seconds", lambda: opened.rows("failures"))
    assert [row["message"] for row in opened.rows("failures")] == ["bad"]


def test_a_backlog_comes_in_bundles(opened, source):
    source.items = [SourceRecord("logs", place, b'{"event_time": 5}') for place in range(1_000, 0, -1)]
    source.may_go_on.set()
    _, events, _ = running(source, opened)
    assert [len(until(events, "values").values) for _ in range(3)] == [400, 400, 200]


def test_a_stream_that_ends_with_records_without_an_outcome_is_no_success(opened, source):
    source.may_go_on.set()
    one, events, stop = running(source, opened)
    assert until(events, "values")
    stop.set()
    assert until(events, "watermark") and list(events) == []
    with pytest.raises(OSError, match="1 records were not completed; start the stream again"):
        one.check()
