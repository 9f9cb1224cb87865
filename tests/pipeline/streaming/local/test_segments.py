"""Files that grow, and are rewritten without what is dead."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnwise.pipeline.streaming.local.database import TABLES, RowRange, SegmentId, Segments

FIRST = SegmentId("scores", 0)


def rows(*numbers):
    return [{"row": number} for number in numbers]


def written(directory, segment=FIRST):
    return [json.loads(line)["row"] for line in (directory / segment.name).read_bytes().splitlines()]


def reopened(directory, segments):
    lengths = dict(segments.lengths)
    segments.close()
    return Segments(directory, lengths)


def test_files_that_were_not_committed_go_and_others_stay(tmp_path):
    (tmp_path / "scores-00007.jsonl").write_text("{}\n")
    others = ["notes.txt", "scores-1.jsonl", "scores-00000-of-00001.jsonl", "metrics_by_turn.jsonl"]
    for name in others:
        (tmp_path / name).write_text("mine")
    Segments(tmp_path, {FIRST: 0}).close()
    assert not (tmp_path / "scores-00007.jsonl").exists()
    assert all((tmp_path / name).read_text() == "mine" for name in others)


def test_a_full_file_is_followed_by_another(tmp_path):
    full = 256 * 1024 * 1024
    with (tmp_path / FIRST.name).open("wb") as file:
        file.truncate(full)
    segments = Segments(tmp_path, {FIRST: full})
    span = segments.append("scores", rows(1))
    assert span == RowRange(SegmentId("scores", 1), 0, 10)
    assert segments.lengths == {
        **{SegmentId(table, 0): 0 for table in TABLES[1:]},
        **{FIRST: full, SegmentId("scores", 1): 10},
    }
    segments = reopened(tmp_path, segments)
    segments.append("scores", rows(2))
    segments.close()
    assert written(tmp_path, SegmentId("scores", 1)) == [1, 2]
    (tmp_path / FIRST.name).unlink()


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.lists(st.integers(0, 10**12), min_size=1, max_size=4), st.booleans()), max_size=12)
)
def test_a_rewritten_file_holds_the_living_rows_in_order(tmp_path_factory, groups):
    directory = tmp_path_factory.mktemp("segments")
    segments = Segments(directory, {})
    spans = [segments.append("scores", rows(*numbers)) for numbers, _ in groups]
    dead = [(s.offset, s.length) for s, (_, is_dead) in zip(spans, groups, strict=True) if is_dead]
    new = segments.rewrite(FIRST, dead)
    assert new == SegmentId("scores", 1) and FIRST not in segments.lengths
    living = [number for numbers, is_dead in groups if not is_dead for number in numbers]
    assert written(directory, new) == living
    assert segments.lengths[new] == (directory / new.name).stat().st_size
    assert written(directory) == [n for numbers, _ in groups for n in numbers], "the old one stays until then"
    segments.append("scores", rows(-1))
    segments = reopened(directory, segments)
    segments.append("scores", rows(-2))
    segments.close()
    assert written(directory, new) == [*living, -1, -2]
    assert not (directory / FIRST.name).exists()


@pytest.mark.parametrize("size", [1, 3_000_000])
def test_large_rows_are_copied_whole(tmp_path, size):
    segments = Segments(tmp_path, {})
    dead = segments.append("scores", [{"row": "x" * size}])
    segments.append("scores", [{"row": "y" * size}])
    new = segments.rewrite(FIRST, [(dead.offset, dead.length)])
    segments.close()
    assert written(tmp_path, new) == ["y" * size]
