"""Files that grow, and are rewritten without what is dead."""

import json

import pytest

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


@pytest.mark.parametrize("size", [1, 3_000_000])
def test_large_rows_are_copied_whole(tmp_path, size):
    segments = Segments(tmp_path, {})
    dead = segments.append("scores", [{"row": "x" * size}])
    segments.append("scores", [{"row": "y" * size}])
    new = segments.rewrite(FIRST, [(dead.offset, dead.length)])
    segments.close()
    assert written(tmp_path, new) == ["y" * size]
