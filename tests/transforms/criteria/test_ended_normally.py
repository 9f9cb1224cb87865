"""What the end of a conversation decides: the criterion, the verdict, the result, the sums."""

import pytest

from tests.ces_messages import parsed
from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import Expectation, ExpectedTurn, Turn
from turnwise.schemas.run import RunInfo
from turnwise.transforms.criteria.base import CRITERIA
from turnwise.transforms.metrics.state import MetricsState
from turnwise.transforms.review.row import decide
from turnwise.transforms.scoring.evaluate import score_conversation

CRITERION = CRITERIA["ended_normally"]()
GOOD = CRITERIA["response_match_score"](threshold=0.5)
RUN = RunInfo("run", "2026-11-21T08:00:00Z", slices=("tag",))
SAID = Turn(user="hi", agent="hello", expected=ExpectedTurn(response="hello"))
GOLDEN = EvalCase(eval_id="e", turns=[ExpectedTurn(response="hello")])
CES = EvalCase(
    eval_id="e",
    dialect="ces",
    turns=[ExpectedTurn(expectations=[Expectation("agent_response", text="hello", comparison="EQUALS")])],
)


@pytest.fixture
def decided(matched):
    """Scores and decides a conversation of one turn; the real class takes the result strictly."""

    def _decided(*criteria, case=GOLDEN, turns=(SAID,), **fields):
        found = decide(score_conversation(matched(case, *turns, **fields), criteria), RUN)
        parsed(found.results[0]["result"])
        return found

    return _decided


@pytest.mark.parametrize(
    ("ended", "detail", "value", "outcome", "text"),
    [
        ("normally", "user_stop", 1.0, "PASS", "The conversation ended normally (user_stop)."),
        ("normally", None, 1.0, "PASS", "The conversation ended normally."),
        ("hand_off", None, 1.0, "PASS", "The conversation ended with a hand-off."),
        ("agent_error", "500", 0.0, "FAIL", "The conversation broke off: the agent failed (500)."),
        ("limit", "max_steps", 0.0, "FAIL", "The conversation broke off: a limit was reached (max_steps)."),
        ("user_left", None, 0.0, "FAIL", "The conversation ended because the user left."),
        (
            "environment_error",
            "user_error",
            None,
            None,
            "the conversation broke off, and not by the agent's failure (user_error)",
        ),
        (None, "exploded", None, None, "how the conversation ended is not known: the log says 'exploded'"),
        (None, None, None, None, "the log does not say how the conversation ended"),
    ],
)
def test_the_criterion(ended, detail, value, outcome, text, decided):
    (found,) = decided(CRITERION, ended=ended, ended_detail=detail).scored.scores
    score = found.overall
    assert (found.turns, score.value, score.outcome, score.label) == ([], value, outcome, ended)
    assert (score.reason if value is None else score.explanation) == text


def test_a_conversation_without_a_turn_has_an_end(decided):
    found = decided(CRITERION, turns=(), ended="agent_error", case=EvalCase(eval_id="e"))
    assert found.scored.scores[0].overall.value == 0.0


WORSE = Turn(user="hi", agent="no", expected=ExpectedTurn(response="hello"))


@pytest.mark.parametrize("case", [GOLDEN, CES, None, EvalCase(eval_id="s", kind="scenario", dialect="ces")])
@pytest.mark.parametrize(
    ("ended", "reason"),
    [
        ("agent_error", "the conversation broke off: the agent failed (why)"),
        ("limit", "the conversation broke off: a limit was reached (why)"),
    ],
)
def test_what_broke_off_fails_whatever_its_scores(case, ended, reason, decided):
    found = decided(GOOD, case=case, ended=ended, ended_detail="why")
    result = found.results[0]["result"]
    assert found.verdict.status == result["evaluationStatus"] == "FAIL"
    assert (result["executionState"], result["errorInfo"]["errorType"]) == ("COMPLETED", "RUNTIME_FAILURE")
    assert reason in result["errorInfo"]["errorMessage"]
    assert result["errorInfo"]["sessionId"] == "c"
    assert {"goldenResult", "scenarioResult"} & result.keys()


@pytest.mark.parametrize("turn", [SAID, WORSE])
def test_another_failure_than_the_agents_decides_nothing(turn, decided):
    found = decided(GOOD, turns=(turn,), ended="environment_error", ended_detail="user_error")
    result = found.results[0]["result"]
    assert found.verdict.status is None and "evaluationStatus" not in result
    assert result["executionState"] == "ERROR"
    assert result["errorInfo"]["errorMessage"].startswith("no verdict: the conversation broke off, and not")
    assert found.scored.scores[0].overall.outcome is not None


@pytest.mark.parametrize(
    ("ended", "detail", "turn", "status"),
    [
        (None, None, SAID, "PASS"),
        (None, None, WORSE, "FAIL"),
        ("normally", None, SAID, "PASS"),
        ("user_left", "hung up", SAID, "PASS"),
        ("hand_off", None, SAID, "PASS"),
        ("normally", None, WORSE, "FAIL"),
        (None, "exploded", SAID, None),
        (None, "exploded", WORSE, "FAIL"),
    ],
)
def test_every_other_end(ended, detail, turn, status, decided):
    found = decided(GOOD, turns=(turn,), ended=ended, ended_detail=detail)
    assert found.verdict.status == status
    if status is None:
        assert "'exploded'" in found.results[0]["result"]["errorInfo"]["errorMessage"]


def test_a_conversation_that_broke_off_is_in_every_sum(decided):
    sums = MetricsState()
    named = {"eval_id": "e", "tags": ["red"], "app_version": "v1"}
    nothing = {"turns": (), "case": EvalCase(eval_id="e")}
    crashed, unrelated = {"ended": "agent_error", **nothing}, {"ended": "environment_error"}
    for fields in ({}, {"ended": "limit"}, crashed, unrelated):
        found = decided(GOOD, **named, **fields)
        sums.add(found.scored, found.verdict, found.parts)
    assert (sums.conversations, sums.passes, sums.fails) == (4, 1, 2)
    red = sums.slices["red"]
    assert (red.conversations, red.passes, red.fails) == (4, 1, 2)
    repeats = sums.repeats.figures("verdict")
    assert (repeats["runs"], repeats["pass_hat_k"][0]["value"]) == (3, pytest.approx(1 / 3))


@pytest.mark.parametrize(("ended", "scored"), [(None, False), ("normally", False), ("limit", True)])
def test_a_gate_that_found_nothing_to_measure_has_no_score_where_the_conversation_broke_off(
    ended, scored, decided
):
    informs = CRITERIA["tool_call_count_v1"]()
    found = decided(GOOD, informs, turns=(), case=EvalCase(eval_id="e"), ended=ended).scored.scores
    assert found[1].overall is None
    assert (found[0].overall is not None) == scored
    if scored:
        assert found[0].overall.value is None
        assert found[0].overall.reason == "the conversation broke off: a limit was reached"
