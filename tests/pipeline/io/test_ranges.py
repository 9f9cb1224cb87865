"""Files of JSON Lines in ranges: every line once, with its number, wherever the file is divided."""

import gzip
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.io.restriction_trackers import OffsetRange, OffsetRestrictionTracker
from hypothesis import given
from hypothesis import strategies as st

from turnwise.pipeline.io.files import WORKER
from turnwise.pipeline.io.records import read_records
from turnwise.pipeline.io.sources import (
    FileRange,
    FileSource,
    file_ranges,
    measure,
    number_lines,
    range_records,
)
from turnwise.pipeline.report.run_counts import run_counts
from turnwise.schemas.conversation import Record
from turnwise.schemas.score import Failure

LIMIT = 12
SPAN = b'{"resourceSpans": []}\n'
LINES = st.sampled_from([b'{"a":1}', b"", b" ", b"x" * LIMIT, b"y" * (LIMIT + 1), b"z" * 40, b'"\xc3\xa9"'])
ENDS = st.sampled_from([b"\n", b"\r\n"])
TEXTS = st.builds(
    lambda bom, lines, last: bom + b"".join(line + end for line, end in lines) + last,
    st.sampled_from([b"", b"\xef\xbb\xbf"]),
    st.lists(st.tuples(LINES, ENDS), max_size=12),
    LINES,
)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return str(tmp_path_factory.mktemp("ranges") / "a.jsonl")


def shown(found):
    if isinstance(found, Failure):
        return found.position, found.error_type, found.message, found.record
    return found.position, found.data


def divided(path, size, cuts, limit=LIMIT):
    bounds = [0, *sorted({cut for cut in cuts if 0 < cut < size}), size]
    parts = [FileRange(path, *pair) for pair in pairwise(bounds)]
    return list(number_lines((path, reversed([(part, measure(part, limit)) for part in parts]))))


def read(part, splits):
    """Reads a range as a runner does that divides what is left after some lines; then the residuals."""
    waiting = [OffsetRange(part.start, part.stop)]
    while waiting:
        tracker = OffsetRestrictionTracker(waiting.pop())
        start = tracker.current_restriction().start
        for number, record in enumerate(range_records(part, start, LIMIT, tracker.try_claim)):
            yield record
            for after, fraction in splits:
                if after == number and (split := tracker.try_split(fraction)):
                    waiting.append(split[1])
        tracker.check_done()


@given(
    text=TEXTS,
    cuts=st.lists(st.integers(1, 200)),
    splits=st.lists(st.tuples(st.integers(0, 3), st.floats(0, 1))),
)
def test_every_line_is_read_once_with_its_number(path, text, cuts, splits):
    Path(path).write_bytes(text)
    whole = [shown(one) for one in read_records(path, LIMIT)]
    parts = divided(path, len(text), cuts) if text else []
    found = [shown(one) for part in parts for one in read(part, splits)]
    assert sorted(found) == whole
    if not splits:
        assert found == whole


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.jsonl", gzip.compress(SPAN * 9, mtime=0)),
        ("a.jsonl", b"SQLite format 3\0" * 9),
        ("a.csv", b"question,answer\n" * 9),
        ("a.jsonl", b'{"type": "session_meta", "payload": {"id": "s"}}\n' * 9),
    ],
)
def test_what_is_no_json_lines_is_read_as_a_whole(tmp_path, name, content):
    place = tmp_path / name
    place.write_bytes(content)
    assert divided(str(place), len(content), [20, 40], 1 << 20) == [FileRange(str(place))]


@pytest.mark.parametrize("name", ["a.json", "a.avro"])
def test_what_is_named_as_a_document_is_not_divided(tmp_path, name):
    (tmp_path / name).write_bytes(b"\n" * (1 << 22))
    assert file_ranges(b"", [str(tmp_path / name)]) == [FileRange(str(tmp_path / name))]


def test_a_file_is_divided_by_how_much_there_is_to_read(tmp_path):
    for name, size in (("small", 1 << 20), ("large", 4 << 20)):
        with (tmp_path / f"{name}.jsonl").open("wb") as file:
            file.truncate(size)
    small, large = str(tmp_path / "small.jsonl"), str(tmp_path / "large.jsonl")
    quarters = [FileRange(large, i << 20, (i + 1) << 20) for i in range(4)]
    assert file_ranges(b"", [str(tmp_path)]) == [*quarters, FileRange(small)]
    with (tmp_path / "huge.jsonl").open("wb") as file:
        file.truncate(1 << 40)
    ranges = [one for one in file_ranges(b"", [str(tmp_path)]) if isinstance(one, FileRange)]
    assert {one.path: one.stop for one in ranges if one.path in (small, large)} == {small: 0, large: 0}
    assert {one.stop - one.start for one in ranges if one.stop} == {1 << 26}


def test_a_file_that_shrinks_or_vanishes_is_a_failure(tmp_path):
    place = tmp_path / "a.jsonl"
    place.write_bytes(b'{"a":1}\n' * 10)
    parts = divided(str(place), 80, [40])
    place.write_bytes(b'{"a":1}\n' * 3)
    found = [list(read(part, [])) for part in parts]
    assert [len(records) for records in found] == [4, 1]
    for records in found:
        assert isinstance(records[-1], Failure) and "became shorter" in records[-1].message
    place.unlink()
    (failure,) = read(parts[1], [])
    assert isinstance(failure, Failure) and failure.error_type == "IncompleteReadError"
    assert divided(str(place), 80, [40]) == [FileRange(str(place))]


FOUND: list[Any] = []


def keep(one):
    FOUND.append(one)


def read_by_a_pipeline(limit, *inputs):
    """Returns what a distributed source yields, and what it counts."""
    FOUND.clear()
    counted: Counter[str] = Counter()
    with beam.Pipeline(runner="FnApiRunner") as root:
        read = FileSource([str(one) for one in inputs], limit, "rejected", True).read(root, "Logs")
        counts = read.counts | "Counts" >> beam.Values()
        for number, part in enumerate((read.records, read.failures, counts)):
            _ = part | f"Keep{number}" >> beam.Map(keep)
    for found in (one for one in FOUND if isinstance(one, dict)):
        counted.update(found)
    return [one for one in FOUND if not isinstance(one, dict)], dict(counted)


def test_a_distributed_source_reads_ranges_whole_files_and_unreadable_ones(tmp_path):
    large, small, link = tmp_path / "large.jsonl", tmp_path / "small.jsonl", tmp_path / "rejected.jsonl"
    lines = (b'{"a":1' + b" " * 5_000 + b"}\n") * 400
    large.write_bytes(lines + b"y" * 10_000 + b"\n" + lines)
    small.write_bytes(gzip.compress(b'{"a":2}\n'))
    link.symlink_to(tmp_path / "nothing")
    assert len(file_ranges(b"", [str(tmp_path)])) == 6
    found, counts = read_by_a_pipeline(9_000, tmp_path)
    records = [one for one in found if isinstance(one, Record)]
    failures = {(one.source, one.position) for one in found if isinstance(one, Failure)}
    places = sorted(one.position for one in records if one.source == str(large))
    assert places == [*range(1, 401), *range(402, 802)]
    assert [one.data for one in records if one.source == str(small)] == [b'{"a":2}']
    assert failures == {(str(large), 401), (str(link), 0)}
    (worker,) = (name for name in counts if name.startswith(WORKER))
    assert (counts["rejected"], counts[worker]) == (2, 801)


def test_a_named_file_is_unread_if_no_range_gave_a_record(tmp_path):
    good, bad = tmp_path / "good.jsonl", tmp_path / "bad.jsonl"
    bad.write_bytes((b"y" * 40_000 + b"\n") * 60)
    good.write_bytes(bad.read_bytes() + b'{"a":1}\n')
    assert run_counts(read_by_a_pipeline(LIMIT, good, bad)[1])["unread_files"] == 1
