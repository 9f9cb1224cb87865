"""The limit of a record's size, exactly."""

import io

import pytest

from turnwise.pipeline.io.records import split_records
from turnwise.schemas.score import Failure

LIMIT = 20


def record(size):
    return b'"' + b"x" * (size - 2) + b'"'


@pytest.mark.parametrize("name", ["a.jsonl", "a.json"])
@pytest.mark.parametrize("end", [b"", b"\n"])
@pytest.mark.parametrize(("size", "is_read"), [(LIMIT - 1, True), (LIMIT, True), (LIMIT + 1, False)])
def test_a_record_of_exactly_the_limit_is_read(name, end, size, is_read):
    # A document is measured as a whole; of a line, its end does not count.
    text = record(size - (len(end) if name == "a.json" else 0)) + end
    (found,) = split_records(name, io.BytesIO(text), LIMIT)
    assert isinstance(found, Failure) != is_read


@pytest.mark.parametrize("size", [LIMIT + 1, LIMIT + 2, 3 * LIMIT])
def test_the_line_after_an_oversized_one_is_read(size):
    lines = record(size) + b"\n" + record(LIMIT) + b"\n" + record(size)
    found = list(split_records("a.jsonl", io.BytesIO(lines), LIMIT))
    assert [isinstance(one, Failure) for one in found] == [True, False, True]
    assert found[1].data == record(LIMIT)
