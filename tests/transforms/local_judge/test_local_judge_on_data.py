from pathlib import Path

import pytest

from benchmarks import local_judge, local_judge_fit, local_judge_grounding
from turnwise.transforms.local_judge.grounding import LOG_ODDS_OF_ALL, LOG_ODDS_OF_NOTHING

pytestmark = pytest.mark.skipif(
    not (Path(__file__).parents[3] / "../shared/data").is_dir(),
    reason="no labelled data beside the repository",
)


def of(rows, judge, measure):
    (found,) = [row for row in rows if row[1:3] == (judge, measure)]
    return found


def worse_half(rows, judge, measure):
    return min(of(rows, judge, measure)[3:])


@pytest.fixture(scope="module")
def labelled():
    return local_judge.read(local_judge.GROUNDING)


@pytest.fixture(scope="module")
def rows(labelled):
    return local_judge_grounding.grounding_rows(labelled, 0)


def test_hallucination_scores_of_the_command_agree_with_people(rows):
    for name in local_judge_grounding.CRITERIA:
        assert worse_half(rows, f"local, {name}", "AUC") > 0.92
        assert max(of(rows, f"local, {name}", "Brier score")[3:]) < 0.11
        assert worse_half(rows, f"local, {name} >= 1.00", "balanced accuracy") > 0.85


def test_chatty_replies_are_supported_as_people_say(rows):
    for name in local_judge_grounding.CRITERIA:
        assert max(of(rows, f"local, {name}", "supported under 1")[3:]) < 0.14
        assert max(of(rows, f"local, {name}", "unsupported at 1")[3:]) < 0.1
    dialogues = [row for row in local_judge_grounding.dialogue_rows() if row.task == "dialogues"]
    assert worse_half(dialogues, "local, hallucinations_v1", "AUC") > 0.92
    assert max(of(dialogues, "local, hallucinations_v1", "supported under 1")[3:]) < 0.25
    assert max(of(dialogues, "local, hallucinations_v1", "unsupported at 1")[3:]) < 0.05


@pytest.mark.parametrize(("change", "least"), [("a digit changed", 1.0), ("a negation put in", 0.9)])
def test_a_change_is_found(labelled, change, least):
    rows = local_judge_grounding.change_rows(labelled, change)
    for name in local_judge_grounding.CRITERIA:
        assert worse_half(rows, f"local, {name} >= 1.00", "found") >= least


def test_the_constants_are_those_of_the_fit(labelled):
    nothing, everything = local_judge_fit.fitted(labelled)
    assert (nothing, everything) == pytest.approx((LOG_ODDS_OF_NOTHING, LOG_ODDS_OF_ALL), abs=0.01)


@pytest.mark.parametrize(("name", "floor"), [("klue_sts_ko.jsonl", 0.5), ("jsts_ja.jsonl", 0.65)])
def test_likeness_agrees_with_people(name, floor):
    rows = local_judge.likeness_rows(name)
    assert worse_half(rows, "local, figure", "Spearman") > floor
    assert worse_half(rows, "local, 0..4", "Spearman") > floor - 0.05
    assert worse_half(rows, "local, figure", "Spearman") > worse_half(rows, "overlap", "Spearman")
