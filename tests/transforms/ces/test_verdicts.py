"""Verdicts of CES cases, with and without a judge."""

import msgspec
import pytest

import turnwise
from tests.samples import sample_of
from tests.scripted_judge import Scripted
from tests.tables import rows_test
from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import Conversation, Turn
from turnwise.schemas.score import Score
from turnwise.transforms.ces.judgements import CES_CRITERIA
from turnwise.transforms.criteria.ces import UNDECIDED
from turnwise.transforms.review.row import RULES
from turnwise.transforms.scoring.evaluate import CriterionScores, ScoredConversation, conversation_verdict

test_rows = rows_test(globals(), "verdicts")


def case_of(fields):
    return msgspec.convert({"eval_id": "e", "dialect": "ces", **fields}, EvalCase)


def evaluated(case, turns, answers=None, criteria=None, **fields):
    case = None if case is None else case_of(case)
    turns = msgspec.convert(turns, list[Turn])
    log = Conversation("c", eval_id="e" if case else None, turns=turns, **fields)
    judge = "none" if answers is None else Scripted(answers)
    return turnwise.evaluate(log, cases=case, criteria=criteria or {"turn_latency": {}}, judge=judge)


def ruled(case, turns, status, why=None):
    """What is decided without a judge."""
    (row,) = evaluated(case, turns, ended="normally").conversations
    assert (row["verdict"], row["reason"]) == (status, why)
    assert (row["severity_reason"] == "expectations" and bool(row["why"])) is (status == "FAIL")


def judged(case, turns, answers, status, why=None):
    (row,) = evaluated(case, turns, answers, ended="normally").conversations
    assert (row["verdict"], row["reason"]) == (status, why)


def meant(*names, **others):
    return {name: {"$matchType": "semantic", "$matchValue": "one"} for name in names} | others


def golden(expectation, **fields):
    return {"turns": [{"user": "turn 0", "expectations": [expectation]}], **fields}


def values(args, fields, answers, status, outcome, why):
    """Values compared by meaning: verdict, outcome of the call and of its parameters."""
    names = [name for name, value in args.items() if value == "1"]
    wanted = {"name": "a", "args": meant(*names, **({"n": 1} if "n" in args else {}))}
    case = golden({"kind": "tool_call", "tool_call": wanted}, **fields)
    found = evaluated(case, [{"tool_calls": [{"name": "a", "args": args}]}], {"values": answers})
    (turn,) = found.results[0]["result"]["goldenResult"]["turnReplayResults"]
    call = turn["expectationOutcome"][0]
    assert (found.status, call.get("outcome")) == (status, outcome)
    assert call["toolInvocationResult"]["explanation"] == why


@pytest.mark.parametrize(
    ("answers", "status"), [([1, 1], "PASS"), ([1, 0], "FAIL"), ([0, None], "FAIL"), ([1, None], None)]
)
def test_variables_compared_by_meaning(answers, status):
    turn = {"user": "q", "variables": {"p": "1", "q": "1"}}
    case = golden({"kind": "updated_variables", "variables": meant("p", "q")})
    assert evaluated(case, [turn], {"values": answers}).status == status


@pytest.mark.parametrize(
    ("value", "label", "status"), [(0.6, "Justified", "PASS"), (0.2, UNDECIDED, None), (0.2, None, "FAIL")]
)
def test_a_judge_that_is_unsure_decides_nothing(value, label, status):
    (claims,) = (criterion for criterion in CES_CRITERIA if criterion.name == "hallucination")
    call = {"name": "a", "args": {"x": 1}}
    limits = {"golden_hallucination": "ENABLED"}
    case = case_of(golden({"kind": "tool_call", "tool_call": call}, thresholds=limits))
    sample = sample_of(case, msgspec.convert({"tool_calls": [call]}, Turn))
    scored = ScoredConversation(sample, [CriterionScores(claims, [(0, Score(value, label=label))])], [])
    found = conversation_verdict(scored, RULES)
    why = "hallucination needs a judge (the local judge is unsure, 0.20)"
    assert (found.status, found.reasons) == (status, () if status else (why,))


def by_criteria(case, turns, criteria, status):
    """A CES case is decided by CES's rules, whatever the criteria say; others by their criteria."""
    (row,) = evaluated(case, turns, criteria=criteria).conversations
    assert row["verdict"] == status
    if status is None:
        assert row["reason"] == "no criterion with a threshold applies"
