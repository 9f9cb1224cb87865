"""Results and verdicts of answers, and the judges' evidence about them."""

import pytest

from tests.ces_messages import parsed
from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import (
    Citation,
    ExpectedTurn,
    GroundedAnswer,
    GroundedClaim,
    Reference,
    ToolCall,
    Turn,
)
from turnwise.schemas.run import RunInfo
from turnwise.transforms.ces.result import evaluation_result, justification, result_parts
from turnwise.transforms.criteria.base import CRITERIA
from turnwise.transforms.judging.judges import LocalJudge
from turnwise.transforms.judging.prompts import MAX_REFERENCES, context_sections, facts
from turnwise.transforms.review.row import RULES
from turnwise.transforms.scoring.evaluate import Verdict, conversation_verdict, score_conversation

RUN = RunInfo("run-1", "2026-03-01T02:00:00Z")
GOOD = Turn(user="q", agent="Bis 1.131 SZR.", grounded=GroundedAnswer(grounding_score=0.9))


def in_state(state, text="Bis 1."):
    return Turn(
        user="q", agent=text, latency_ms=5.0, grounded=GroundedAnswer(state=state, grounding_score=0.1)
    )


@pytest.fixture
def result_of(matched):
    """Result and verdict of turns; the real class takes the result strictly."""

    def _result_of(*turns, case=None, **criteria):
        fields = {"grounding_score": {"threshold": 0.5}, "turn_latency": {}} | criteria
        named = [CRITERIA[name](**given) for name, given in fields.items()]
        scored = score_conversation(matched(case, *turns), named)
        verdict = conversation_verdict(scored, RULES)
        return parsed(evaluation_result(scored, verdict, RUN)), verdict, scored

    return _result_of


@pytest.mark.parametrize("after", [(), (GOOD,), (in_state("IN_PROGRESS"),)])
def test_a_failed_answer_fails_its_conversation(after, result_of):
    result, verdict, scored = result_of(in_state("FAILED"), *after)
    assert (result["executionState"], result["evaluationStatus"]) == ("COMPLETED", "FAIL")
    assert result["errorInfo"]["errorType"] == "RUNTIME_FAILURE"
    assert "turn 1: the state of its answer is FAILED" in result["errorInfo"]["errorMessage"]
    assert verdict.status == "FAIL" and all(t for entry in scored.scores for t, _ in entry.turns)
    assert {turn for (turn, _, _), *_ in result_parts(result)} == ({1} if after == (GOOD,) else set())


@pytest.mark.parametrize("state", ["IN_PROGRESS", "STREAMING"])
def test_an_unfinished_answer_is_not_evaluable_yet(state, result_of):
    result, verdict, scored = result_of(GOOD, in_state(state))
    assert result["executionState"] == "RUNNING"
    assert not {"evaluationStatus", "scenarioResult", "errorInfo"} & result.keys()
    assert verdict == Verdict(None, (f"turn 2: the state of its answer is {state}",))
    assert [(e.criterion.name, [turn for turn, _ in e.turns]) for e in scored.scores] == [
        ("grounding_score", [0]),
        ("turn_latency", []),
    ]


@pytest.mark.parametrize("state", ["SUCCEEDED", None, "PAUSED"])
def test_any_other_state_is_evaluated(state, result_of):
    result, verdict, _ = result_of(in_state(state))
    assert (result["executionState"], result["evaluationStatus"]) == ("COMPLETED", "FAIL")
    assert verdict.status == "FAIL"


def test_the_whole_is_not_scored_while_a_part_is_missing(result_of, matched, judged, scripted):
    case = EvalCase(eval_id="e", actions=[ToolCall(name="search")])
    *_, scored = result_of(GOOD, in_state("STREAMING"), case=case, tool_trajectory_avg_score={})
    assert {entry.criterion.name: entry.overall for entry in scored.scores}[
        "tool_trajectory_avg_score"
    ] is None
    judge = scripted([])
    criterion = CRITERIA["multi_turn_task_success_v1"]()
    assert judged(criterion, matched(None, in_state("FAILED")), judge).overall is None
    assert judge.samples == 0


@pytest.mark.parametrize(
    ("fields", "score", "label"),
    [
        ({"claims": [GroundedClaim(score=0.9), GroundedClaim(score=0.6)]}, 1, "Justified"),
        ({"claims": [GroundedClaim(score=0.9), GroundedClaim(score=0.5)]}, 0, "Not Justified"),
        ({"claims": [GroundedClaim(score=0.9)], "grounding_score": 0.1}, 1, "Justified"),
        ({"claims": [GroundedClaim(score=0.1, check_required=False)]}, -1, "No Claim To Assess"),
        ({"claims": [GroundedClaim()], "grounding_score": 0.6}, 1, "Justified"),
        ({"grounding_score": 0.5}, 0, "Not Justified"),
        ({"grounding_score": float("nan")}, -1, "No Claim To Assess"),
        ({}, -1, "No Claim To Assess"),
        ({"grounding_score": 0.1, "skipped_reasons": ["LOW_GROUNDED_ANSWER"]}, -1, "No Claim To Assess"),
    ],
)
def test_the_engines_scores_as_a_hallucination_result(fields, score, label, result_of):
    turn = Turn(agent="a", grounded=GroundedAnswer(**fields))
    found = justification(turn, 0.6)
    assert (found.value, found.label) == (score, label)
    result, *_ = result_of(turn, grounding_score={"threshold": 0.6})
    (check,) = result["scenarioResult"]["hallucinationResult"]
    assert (check["score"], check["label"]) == (score, label)


def test_the_threshold_of_claims_goes_first(result_of):
    turn = Turn(agent="a", grounded=GroundedAnswer(claims=[GroundedClaim(score=0.6)]))
    for least, score in ((0.0, 1), (0.7, 0)):
        result, *_ = result_of(turn, grounding_score={"threshold": 0.65, "claim_threshold": least})
        assert result["scenarioResult"]["hallucinationResult"][0]["score"] == score


def test_in_a_golden_every_turn_has_its_own(result_of):
    case = EvalCase(eval_id="e", turns=[ExpectedTurn(response="a"), ExpectedTurn(response="b")])
    result, *_ = result_of(GOOD, Turn(user="x", agent="b"), case=case)
    first, second = result["goldenResult"]["turnReplayResults"]
    assert first["hallucinationResult"]["score"] == 1 and "hallucinationResult" not in second


def test_without_a_threshold_there_is_none(result_of):
    result, *_ = result_of(GOOD, grounding_score={})
    assert "hallucinationResult" not in result["scenarioResult"]


LIMIT = Reference(title="Grenzen", texts=["Die Grenze ist 1.131 SZR."], data={"lang": "de"})


def sourced(**fields):
    return Turn(user="Grenze?", agent="Bis 1.131 SZR.", grounded=GroundedAnswer(references=[LIMIT], **fields))


def test_references_are_evidence(matched):
    case = matched(None, sourced(), sourced())
    sections = context_sections(case.conversation, case.conversation.turns[1])[-2:]
    assert sections == [
        ("turn 2, user", "Grenze?"),
        ("turn 2, source 0", 'Grenzen\nDie Grenze ist 1.131 SZR.\n{"lang":"de"}'),
    ]
    assert facts(sections) == [sections[1][1]]


def test_there_are_only_so_many_sections(matched):
    answer = GroundedAnswer(references=[LIMIT] * (MAX_REFERENCES + 7))
    case = matched(None, Turn(agent="a", grounded=answer))
    sections = context_sections(case.conversation, case.conversation.turns[0])
    assert len(sections) == MAX_REFERENCES + 1
    assert sections[-1] == ("turn 1, 7 more sources are not shown", "")


@pytest.mark.parametrize(("turn", "value"), [(sourced(), 1.0), (Turn(agent="Bis 1.131 SZR."), 0.0)])
def test_hallucinations_by_the_references(turn, value, matched, judged):
    found = judged(CRITERIA["hallucinations_v1"](), matched(None, turn), LocalJudge()).turns[0][1]
    assert round(found.value, 2) == value


def test_safety_sees_the_references(matched, judged, scripted, sections_of):
    judge = scripted(["no answer"])
    judged(CRITERIA["safety_v1"](), matched(None, sourced(citations=[Citation()])), judge)
    names = [name for name, _ in sections_of(judge.evidence[0])]
    assert names == ["request", "turn 1, source 0", "answer"]


def test_a_skipped_answer_claims_nothing(matched, judged, scripted):
    judge = scripted([])
    turn = sourced(skipped_reasons=["NO_RELEVANT_CONTENT"])
    turn.tool_calls = [ToolCall(name="search")]
    assert judged(CRITERIA["hallucinations_v1"](), matched(None, turn), judge).turns == []
    found = judged(CRITERIA["hallucination"](), matched(None, turn), judge).turns[0][1]
    assert found.explanation == "The answer was skipped: NO_RELEVANT_CONTENT."
    assert (found.value, judge.samples) == (-1.0, 0)
