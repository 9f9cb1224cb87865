"""Shards of files: every record once, with its number, whoever takes which."""

import gzip
import os
from collections import Counter
from contextlib import contextmanager
from itertools import zip_longest
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import PipelineOptions

from turnwise.pipeline.io.files import WORKER, listed_files
from turnwise.pipeline.io.records import read_records
from turnwise.pipeline.io.sources import (
    FileRange,
    FileSource,
    Shards,
    ShardSource,
    divided_among,
    put_shards,
    take_shards,
)
from turnwise.schemas.conversation import Record
from turnwise.schemas.score import Failure

LIMIT = 1 << 22


def shards_of(source, workers):
    return Shards(source, divided_among(listed_files(source.patterns), workers))


WIDE = b'{"conversation_id": "%d", "turns": [], "labels": {"note": "' + b"x" * 5000 + b'"}}\n'

UNKNOWN = "; an unknown number of records is missing"


def lines(number):
    return b"".join(WIDE % i if i % 50 else b"\n{broken\r\n" for i in range(number))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Returns a folder of files that are divided, that look as if they could be, and that are not."""
    place = tmp_path_factory.mktemp("shards")
    (place / "large.jsonl").write_bytes(b"\xef\xbb\xbf" + lines(1000))
    (place / "other.jsonl").write_bytes(lines(700).rstrip())
    (place / "zipped.jsonl").write_bytes(gzip.compress(os.urandom(1 << 21).hex().encode(), 0))
    (place / "small.jsonl").write_bytes(lines(3))
    (place / "one.json").write_bytes(b"[" + b",".join([WIDE.rstrip() % i for i in range(3)]) + b"]")
    (place / "nowhere.jsonl").symlink_to(place / "gone.jsonl")
    return place


def shown(one):
    return one.source, one.position, one.data if isinstance(one, Record) else one.message


@contextmanager
def queue(shards, workers):
    """Returns the end of a filled queue from which workers take."""
    reading, writing = os.pipe()
    try:
        put_shards(writing, shards, workers)
        yield reading
    finally:
        os.close(reading)
        os.close(writing)


def test_each_shard_is_taken_once_and_large_files_come_first(folder):
    shards = shards_of(FileSource([str(folder)], LIMIT, "rejected"), 2)
    with queue(shards, 2) as end:
        first, second = take_shards(end, shards.parts), take_shards(end, shards.parts)
        pairs = list(zip_longest(first, second))
    taken = [one for pair in pairs for one in pair if one is not None]
    ranges = [one for one in taken if isinstance(one, FileRange)]
    names = [os.path.basename(one.path) for one in ranges]
    assert names == ["large.jsonl"] * 5 + ["zipped.jsonl"] + ["other.jsonl"] * 3 + ["one.json", "small.jsonl"]
    for name, number in (("large.jsonl", 1020), ("other.jsonl", 714)):
        own = [one for one in ranges if one.path.endswith(name)]
        content = (folder / name).read_bytes()
        assert [one.lines for one in own] == [content[: one.start].count(b"\n") for one in own]
        assert (own[0].start, own[-1].stop) == (0, len(content))
        assert len(content.splitlines()) == number
        assert [one.start for one in own[1:]] == [one.stop for one in own[:-1]]
    assert {one.stop for one in ranges if "large" not in one.path and "other" not in one.path} == {0}
    [failure] = [one for one in taken if isinstance(one, Failure)]
    assert failure.source == str(folder / "nowhere.jsonl")


FOUND: list[Any] = []


def keep(one):
    FOUND.append(one)


def test_shards_hold_the_records_of_the_files(folder):
    source = FileSource([str(folder)], LIMIT, "rejected")
    FOUND.clear()
    with queue(shards := shards_of(source, 1), 1) as end:
        root = beam.Pipeline(options=PipelineOptions(["--runner=FnApiRunner"]))
        for part, collection in ShardSource(shards, end).read(root, "Logs")._asdict().items():
            _ = collection | f"Keep{part}" >> beam.Map(keep)
        root.run().wait_until_finish()
    kinds = (Record, Failure)
    [(_, counts)] = [one for one in FOUND if not isinstance(one, kinds)]
    found = Counter(shown(one) for one in FOUND if isinstance(one, kinds))
    paths = sorted(path for path in folder.iterdir() if path.is_file())
    assert found - Counter(shown(one) for path in paths for one in read_records(str(path), LIMIT)) == Counter(
        {(str(folder / "nowhere.jsonl"), 0, f"is a link to a path that does not exist{UNKNOWN}"): 1}
    )
    assert sum(found.values()) == 1000 + 700 + 1 + 3 + 3 + 1
    [worker] = [name for name in counts if name.startswith(WORKER)]
    assert counts[worker] == sum(found.values()) - counts["rejected"]
