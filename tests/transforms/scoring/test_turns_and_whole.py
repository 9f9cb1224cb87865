"""A case that states something of its turns and of the whole passes only if both are met."""

import pytest

from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import Conversation, Expectation, ExpectedTurn, Record, ToolCall, Turn
from turnwise.schemas.run import RunInfo
from turnwise.transforms.criteria.base import CRITERIA
from turnwise.transforms.matching.sample import Sample
from turnwise.transforms.review.row import decide
from turnwise.transforms.scoring.evaluate import evaluate
from turnwise.transforms.scoring.selection import Criteria

RUN = RunInfo("r", "2026-01-01T00:00:00Z")
BOOK, PAY = ToolCall(name="book_seat", args={"n": 1}), ToolCall(name="pay_bill", args={"n": 2})


def calls(first, second):
    return [{"tool_calls": first}, {"tool_calls": second}]


def state(value):
    wanted = Expectation("updated_variables", variables={"n": value})
    return [{"expectations": [wanted]}, {}]


CASES = [
    ("tool_trajectory_avg_score", calls([BOOK], [PAY]), {"actions": [BOOK, PAY]}),
    ("tool_effects_v1", calls([BOOK], [PAY]), {"actions": [BOOK, PAY]}),
    ("final_state_v1", state(1), {"final_session_state": {"n": 2}}),
]


def evaluated(name, expected, fields, turns, **options):
    case = EvalCase(eval_id="e", turns=[ExpectedTurn(**turn) for turn in expected], **fields)
    conversation = Conversation("c", turns=turns, state={"n": 2})
    held = Sample(conversation, case, Record("f", 1, b"{}"))
    found = decide(evaluate(held, Criteria([CRITERIA[name](**options)]))[0], RUN)
    return found.verdict.status, found.scored.scores[0]


def turns(*made, first=1):
    return [Turn(i, "q", "a", tool_calls=m, variables={"n": first + i}) for i, m in enumerate(made)]


@pytest.mark.parametrize(("name", "expected", "fields"), CASES)
def test_both_are_met(name, expected, fields):
    status, scores = evaluated(name, expected, fields, turns([BOOK], [PAY]), threshold=1.0)
    assert (status, scores.overall.value, scores.overall.outcome) == ("PASS", 1.0, "PASS")


@pytest.mark.parametrize(("name", "expected", "fields"), CASES)
def test_turns_that_fail_fail_the_whole(name, expected, fields):
    made = [Turn(0, "q", "a"), Turn(1, "q", "a", tool_calls=[BOOK, PAY], variables={"n": 2})]
    status, scores = evaluated(name, expected, fields, made, threshold=1.0)
    assert (status, scores.overall.value, scores.overall.outcome) == ("FAIL", 1.0, "FAIL")
    assert "Turn 1" in scores.overall.explanation
    assert any(score.outcome == "FAIL" for _, score in scores.turns)


def test_the_turns_are_held_by_their_mean():
    made = [Turn(0, "q", "a", tool_calls=[BOOK]), Turn(1, "q", "a", tool_calls=[PAY, PAY])]
    fields = {"actions": [BOOK, PAY, PAY]}
    name, expected = "tool_trajectory_avg_score", calls([BOOK], [PAY])
    assert evaluated(name, expected, fields, made, threshold=0.5)[0] == "PASS"
    assert evaluated(name, expected, fields, made, threshold=0.6)[0] == "FAIL"


def test_a_whole_that_fails_stays_failed_whatever_the_turns_leave_open():
    at_noon = ToolCall(name="book_seat", args={"n": {"$matchType": "semantic", "$matchValue": "noon"}})
    made = turns([ToolCall(name="book_seat", args={"n": "12 o'clock"})], [PAY])
    for expected, of_turns in ((calls([at_noon], [PAY]), None), (calls([BOOK], [PAY]), "FAIL")):
        name, fields = "tool_trajectory_avg_score", {"actions": [BOOK]}
        status, scores = evaluated(name, expected, fields, made, threshold=1.0)
        assert (status, scores.overall.outcome, scores.overall.reason) == ("FAIL", "FAIL", None)
        assert of_turns in {score.outcome for _, score in scores.turns}
        assert "By turns" not in scores.overall.explanation


def test_the_whole_fails_by_itself():
    status, scores = evaluated(*CASES[0][:2], {"actions": [BOOK]}, turns([BOOK], [PAY]), threshold=1.0)
    assert (status, scores.overall.value) == ("FAIL", 0.0)


def test_a_turn_without_a_score_takes_the_pass_of_the_whole():
    at_noon = ToolCall(name="book_seat", args={"n": {"$matchType": "semantic", "$matchValue": "noon"}})
    made = ToolCall(name="book_seat", args={"n": "12 o'clock"})
    fields = {"actions": [made, PAY]}
    status, scores = evaluated(
        CASES[0][0], calls([at_noon], [PAY]), fields, turns([made], [PAY]), threshold=1.0
    )
    assert (status, scores.overall.value, scores.overall.outcome) == (None, 1.0, None)
    assert scores.overall.reason.startswith("the turns do not pass: ")
