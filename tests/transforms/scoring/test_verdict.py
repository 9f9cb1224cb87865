from itertools import product

import pytest

from turnwise.schemas.score import Score
from turnwise.transforms.criteria.base import CRITERIA
from turnwise.transforms.scoring.evaluate import CriterionScores, Verdict, criteria_verdict


def entry(overall, threshold=1.0, errors=(), name="response_match_score"):
    return CriterionScores(CRITERIA[name](threshold=threshold), [], overall, list(errors))


PASSED = entry(Score(1.0, outcome="PASS"))
FAILED = entry(Score(0.0, outcome="FAIL"))
UNSCORED = entry(Score(None, reason="no judge configured"))
RAISED = entry(None, errors=[0])
RAISED_AND_PASSED = entry(Score(1.0, outcome=None, reason="1 turns could not be scored"), errors=[1])
SILENT = entry(None)
UNGATED = entry(Score(0.0), threshold=None)
UNGATED_RAISED = entry(None, threshold=None, errors=[0])

CRITERIA_VERDICTS = [
    ([PASSED], "PASS"),
    ([PASSED, SILENT, UNGATED, UNGATED_RAISED], "PASS"),
    ([PASSED, FAILED], "FAIL"),
    ([FAILED, UNSCORED], "FAIL"),
    ([RAISED, FAILED], "FAIL"),
    ([PASSED, UNSCORED], None),
    ([PASSED, RAISED], None),
    ([RAISED_AND_PASSED], None),
    ([RAISED], None),
    ([SILENT], None),
    ([UNGATED], None),
    ([], None),
]


@pytest.mark.parametrize(("scores", "wanted"), CRITERIA_VERDICTS)
def test_verdict_of_the_criteria(scores, wanted):
    verdict = criteria_verdict(scores)
    assert verdict.status == wanted
    assert bool(verdict.reasons) == (wanted is None)


def test_fail_beats_undecided_beats_pass():
    ranks = [(FAILED, "FAIL"), (UNSCORED, None), (RAISED, None), (PASSED, "PASS")]
    for combination in product(ranks, repeat=3):
        statuses = [status for _, status in combination]
        wanted = "FAIL" if "FAIL" in statuses else None if None in statuses else "PASS"
        assert criteria_verdict([scores for scores, _ in combination]).status == wanted


REASONS = [
    ([UNSCORED], ("response_match_score: no judge configured",)),
    ([RAISED], ("response_match_score: raised an error",)),
    (
        [UNSCORED, PASSED, RAISED],
        ("response_match_score: no judge configured", "response_match_score: raised an error"),
    ),
    ([SILENT, UNGATED], ("no criterion with a threshold applies",)),
]


@pytest.mark.parametrize(("scores", "wanted"), REASONS)
def test_reasons(scores, wanted):
    assert criteria_verdict(scores) == Verdict(None, wanted)
