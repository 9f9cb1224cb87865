"""Records that come through a pipe, and several sources as one."""

import os
import threading
import time

import pytest

from tests.served import until
from tests.sources import wait_for
from turnwise.pipeline.streaming.inputs.base import SourceRecord
from turnwise.pipeline.streaming.inputs.files import LinesSource
from turnwise.pipeline.streaming.inputs.open import CompositeSource


@pytest.fixture
def pipe():
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as reader, os.fdopen(writing, "wb", buffering=0) as writer:
        yield reader, writer


def test_lines_come_as_they_are_written(pipe, checkpoints):
    reader, writer = pipe
    source = LinesSource(reader, "stdin", checkpoints, 100)
    writer.write(b'\xef\xbb\xbf{"a":1}\r\n\n{"a":')
    first = wait_for(source, 1)
    writer.write(b"2}\n" + b"x" * 200 + b'\n{"a":3}')
    later = wait_for(source, 2)
    assert source.poll(9) == [] and not source.is_finished
    writer.close()
    later += wait_for(source, 1)
    until(lambda: source.is_finished)
    assert [(item.position, item.data[:7]) for item in first + later] == [
        (1, b'{"a":1}'),
        (2, b'{"a":2}'),
        (3, b"xxxxxxx"),
        (4, b'{"a":3}'),
    ]
    assert [type(item.error).__name__ for item in later] == ["NoneType", "OversizedRecordError", "NoneType"]
    source.close()


@pytest.mark.parametrize(
    ("start", "why"),
    [
        ("{}\n".encode("utf-16"), "is UTF-16 text; only UTF-8 is read: convert it, with iconv"),
        ("{}\n".encode("utf-16-le"), "is UTF-16LE text"),
        (b"BZh91AY&SY\0\n\n", "is compressed by bzip2, which is not read; unpack it first, with bunzip2"),
        (b"\x1f\x8b\x08\0\n", "is compressed by gzip; unpack it first, with gunzip -c"),
    ],
)
def test_what_is_no_text_is_said_once(pipe, checkpoints, start, why):
    reader, writer = pipe
    source = LinesSource(reader, "stdin", checkpoints, 100)
    writer.write(start * 3)
    [item] = wait_for(source, 1)
    assert str(item.error).startswith(why) and item.position == 1
    until(lambda: source.is_finished)


def test_positions_go_on(pipe, checkpoints):
    reader, writer = pipe
    checkpoints.settled["stdin"] = {1, 2, 4}
    source = LinesSource(reader, "stdin", checkpoints, 100)
    writer.write(b"{}\n")
    assert [item.position for item in wait_for(source, 1)] == [5]
    assert checkpoints.done("stdin").through == 4, "3 was lost with its process"
    source.close()


def test_a_writer_waits_for_a_full_source(pipe, checkpoints):
    reader, writer = pipe
    source = LinesSource(reader, "stdin", checkpoints, 1 << 20)
    line = b'"' + b"x" * (1 << 19) + b'"\n'
    written = []

    def write():
        for number in range(100):
            writer.write(line)
            written.append(number)

    thread = threading.Thread(target=write)
    thread.start()
    until(lambda: source.backlog() >= 32)
    time.sleep(0.3)
    assert source.backlog() < 40 and len(written) < 40
    assert len(wait_for(source, 100)) == 100
    thread.join()
    source.close()


@pytest.mark.parametrize("last, error", [(b'{"a":2}', None), (b'{"a":', "IncompleteReadError"), (b" ", "")])
def test_what_was_read_is_given_in_the_end(pipe, checkpoints, last, error):
    reader, writer = pipe
    source = LinesSource(reader, "stdin", checkpoints, 100)
    writer.write(b'{"a":1}\n' + last)
    until(lambda: source.backlog() == 1)
    whole, *rest = source.last_items()
    assert whole.data == b'{"a":1}' and whole.error is None
    assert [(item.data, item.error and type(item.error).__name__) for item in rest] == (
        [(last, error)] if last.strip() else []
    )
    assert not writer.closed
    source.close()


class Numbers:
    """A source of numbers."""

    def __init__(self, name, numbers):
        self.name, self.numbers, self.settled, self.is_closed = name, numbers, [], False

    @property
    def is_finished(self):
        return not self.numbers

    def poll(self, limit):
        taken, self.numbers = self.numbers[:limit], self.numbers[limit:]
        return [SourceRecord(self.name, number, b"{}") for number in taken]

    def last_items(self):
        return [SourceRecord(self.name, 0, b"{}")]

    def settle(self, places):
        self.settled += [place for source, place in places if source == self.name]

    def backlog(self):
        return len(self.numbers)

    def close(self):
        self.is_closed = True


def test_sources_take_turns():
    a, b = Numbers("a", list(range(100))), Numbers("b", list(range(3)))
    both = CompositeSource([a, b])
    items = both.poll(10)
    assert [item.source for item in items] == ["a"] * 5 + ["b"] * 3 + ["a"] * 2
    assert both.backlog() == 93 and not both.is_finished
    assert [len(both.poll(1)) for _ in range(2)] == [1, 1]
    both.settle(iter([("a", 1), ("b", 2), ("a", 3)]))
    assert (a.settled, b.settled) == ([1, 3], [2])
    assert [item.source for item in both.last_items()] == ["a", "b"]
    while items := both.poll(50):
        assert len(items) <= 50
    assert both.is_finished
    both.close()
    assert a.is_closed and b.is_closed
