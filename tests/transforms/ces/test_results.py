"""Names and rows of results; `scores/` holds what they say."""

import pytest

from tests.ces_messages import parsed
from tests.samples import sample_of, score_conversation
from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import Expectation, ExpectedTurn, Turn
from turnwise.schemas.run import RunInfo
from turnwise.transforms.ces.result import evaluation_result, result_name
from turnwise.transforms.criteria.figures import TurnLatency
from turnwise.transforms.review.row import RULES, score_rows
from turnwise.transforms.scoring.evaluate import conversation_verdict

APP = "projects/acme-cx/locations/us/apps/travel-desk"
RUN = RunInfo("run-1", "2026-03-01T02:00:00Z")


def test_a_result_names_its_run_and_its_version():
    case = EvalCase(eval_id="e", dialect="ces")
    scored = score_conversation(sample_of(case, app_version=f"{APP}/versions/v7"), ())
    result = parsed(evaluation_result(scored, conversation_verdict(scored, RULES), RUN))
    assert result["appVersion"] == f"{APP}/versions/v7"
    assert result["evaluationRun"] == "evaluationRuns/run-1"


@pytest.mark.parametrize("number", [0, 1, 3, 5])
def test_golden_results_with_missing_and_extra_turns(number):
    says = [Expectation("agent_response", text="hi")]
    case = EvalCase(
        "e", dialect="ces", turns=[ExpectedTurn(user=f"{i}", expectations=says) for i in range(4)]
    )
    turns = [Turn(user=f"{i}", agent="hi") for i in range(number)]
    scored = score_conversation(sample_of(case, *turns), ())
    result = parsed(evaluation_result(scored, conversation_verdict(scored, RULES), RUN))
    assert result["evaluationStatus"] == "FAIL"
    assert len(result["goldenResult"]["turnReplayResults"]) == max(4, number)


def named(conversation_id, eval_id=None):
    case = EvalCase(eval_id=eval_id) if eval_id else None
    return result_name(sample_of(case, conversation_id=conversation_id))


def test_names_are_deterministic_and_distinct():
    ids = [("c", "e"), ("c", "f"), ("d", "e"), ("c", None), ("e", "c"), ("ce", "x"), ("c", "ex")]
    assert len({named(*pair) for pair in ids}) == len(ids)
    assert named("c", f"{APP}/evaluations/e").startswith(f"{APP}/evaluations/e/results/r-")
    assert named("\ud800", "e") != named("c", "e")
    assert named("c", "e") == "evaluations/e/results/r-d5d979437b07bc1d3adbcf02", "as in earlier releases"


CLOCKS = [
    (1.7e9, "2023-11-14T22:13:20Z"),
    (1.7e12, "2023-11-14T22:13:20Z"),
    (1.7e15, None),
    (-1e9, "1938-04-24T22:13:20Z"),
    (-1e15, None),
    (float("nan"), None),
    (float("inf"), None),
    ("yesterday", "yesterday"),
]


@pytest.mark.parametrize(("timestamp", "wanted"), CLOCKS)
def test_a_turn_with_a_strange_clock_still_has_its_rows(timestamp, wanted):
    case = sample_of(None, Turn(timestamp=timestamp, latency_ms=1.0))
    rows = list(score_rows(score_conversation(case, [TurnLatency()]), RUN))
    assert [(row.turn_index, row.event_time) for row in rows] == [(0, wanted), (None, None)]
