from pathlib import Path

import pytest

from benchmarks import local_judge

pytestmark = pytest.mark.skipif(
    not (Path(__file__).parents[3] / "../shared/data").is_dir(),
    reason="no labelled data beside the repository",
)


def worse_half(rows, task, judge, measure):
    (found,) = [row for row in rows if row[:3] == (task, judge, measure)]
    return min(found.even, found.odd)


def test_grounding_agrees_with_people():
    rows = local_judge.grounding_rows(local_judge.read(local_judge.GROUNDING))
    accuracy = "balanced accuracy"
    assert worse_half(rows, "BEGIN, evidence of 0 others mixed in", "local", accuracy) > 0.83
    assert worse_half(rows, "BEGIN, evidence of 60 others mixed in", "local", accuracy) > 0.79
    assert worse_half(rows, "BEGIN, a digit changed", "local", "found") > 0.85


@pytest.mark.parametrize(("name", "floor"), [("klue_sts_ko.jsonl", 0.5), ("jsts_ja.jsonl", 0.65)])
def test_likeness_agrees_with_people(name, floor):
    rows = local_judge.likeness_rows(name)
    assert worse_half(rows, name, "local, figure", "Spearman") > floor
    assert worse_half(rows, name, "local, 0..4", "Spearman") > floor - 0.05
    assert worse_half(rows, name, "local, figure", "Spearman") > worse_half(rows, name, "overlap", "Spearman")
