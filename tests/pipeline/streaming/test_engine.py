"""A stream whose source is slow, stuck or gone."""

import json
import threading
import time
from threading import Event

import pytest
from apache_beam.utils.timestamp import MAX_TIMESTAMP

from turnwise.pipeline.streaming.inputs.source import SourceRecord
from turnwise.pipeline.streaming.local.engine import EndedEarlyError, Engine, StalledError, StreamLimits


class SlowSource:
    """Gives one item, after it was told to."""

    is_finished = False

    def __init__(self, error=None):
        self.may_go_on, self.error, self.items = (
            Event(),
            error,
            [SourceRecord("logs", 1, b'{"event_time": 5}')],
        )

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


def engine(source, opened, stop, **fields):
    return Engine(source, opened.in_flight, opened.store, StreamLimits(), 1.0, "run", stop, **fields)


def until(messages, is_so):
    """Takes messages until one is as wanted; returns it."""
    deadline = time.monotonic() + 60
    for message in messages:
        if is_so(message):
            return message
        assert time.monotonic() < deadline
    return None


def is_tick(message):
    return message.HasField("processing_time_event")


def is_element(message):
    return message.HasField("element_event")


def is_the_end(message):
    return message.watermark_event.new_watermark == MAX_TIMESTAMP.micros


def test_a_long_poll_keeps_the_stream_alive(opened, source):
    messages = engine(source, opened, Event()).read_multiple([])
    for _ in range(3):
        assert until(messages, is_tick)
    assert opened.in_flight.waiting == 0
    source.may_go_on.set()
    found = until(messages, is_element)
    assert json.loads(found.element_event.elements[0].encoded_element) == ["logs", 1]


def test_a_stuck_poll_does_not_keep_the_stream_from_ending(opened, source):
    stop = Event()
    one = engine(source, opened, stop, patience=0.1)
    messages = one.read_multiple([])
    assert until(messages, is_tick)
    stop.set()
    assert until(messages, is_the_end) and list(messages) == []
    with pytest.raises(StalledError, match=r"did not answer for 0 s; start the stream again"):
        one.check()


@pytest.mark.parametrize("error", [TimeoutError("slow disk"), RuntimeError("a bug")])
def test_an_error_of_the_source_ends_the_stream(opened, source, error):
    source.error = error
    source.may_go_on.set()
    one = engine(source, opened, Event())
    assert until(one.read_multiple([]), is_the_end)
    with pytest.raises(type(error), match=str(error)):
        one.check()


def test_a_stream_that_is_asked_to_end_is_complete(opened, source):
    stop = Event()
    source.items.clear()
    source.may_go_on.set()
    one = engine(source, opened, stop)
    messages = one.read_multiple([])
    assert until(messages, is_tick)
    stop.set()
    assert until(messages, is_the_end)
    one.check()


@pytest.mark.parametrize("is_begun", [False, True])
def test_a_stream_that_ends_before_it_was_asked_to_is_no_success(opened, source, is_begun):
    """Beam ends a pipeline that is given no event for 30 s, without an error."""
    one = engine(source, opened, Event())
    messages = one.read_multiple([])
    if is_begun:
        assert until(messages, is_tick)
    leaving = threading.Thread(target=one.stop)
    leaving.start()
    if is_begun:
        assert until(messages, is_the_end)
    leaving.join(60)
    with pytest.raises(EndedEarlyError, match="ended before it was asked to; start it again"):
        one.check()


def test_the_time_of_a_stream_goes_on_while_its_disk_is_slow(opened, source):
    source.items[:] = [SourceRecord("logs", 1, b"", error=ValueError("bad"))]
    source.may_go_on.set()
    messages = engine(source, opened, Event()).read_multiple([])
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
            assert until(messages, is_tick)
        assert opened.rows("failures") == []
    finally:
        free.set()
        holder.join(60)
    until(messages, lambda _: opened.rows("failures"))
    assert [row["message"] for row in opened.rows("failures")] == ["bad"]


def test_bundles_grow_over_a_backlog_and_are_small_again_after_it(opened, source):
    """A bundle has its cost; small ones bring results soon where little arrives."""
    places = [("logs", place) for place in range(5_000, 0, -1)]
    source.items = [SourceRecord(name, place, b'{"event_time": 5}') for name, place in places]
    source.may_go_on.set()
    messages, sizes = engine(source, opened, Event()).read_multiple([]), []
    while sum(sizes) < len(places):
        sizes.append(len(until(messages, is_element).element_event.elements))
        opened.in_flight.release(places)
    assert sizes[:2] == [400, 800] and max(sizes) <= 4_000 and sizes[-1] == 5_000 - sum(sizes[:-1])
    source.items = [SourceRecord("more", place, b'{"event_time": 5}') for place in range(1_000)]
    assert len(until(messages, is_element).element_event.elements) == 400
