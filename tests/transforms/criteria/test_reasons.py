"""Every failure says why: in its row, and in the evaluation result."""

import json

import msgspec
import pytest

import turnwise
from tests.ces_messages import parsed
from tests.samples import sample_of, score_conversation, scores_of
from tests.tables import rows_test
from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import Citation, ExpectedTurn, GroundedAnswer, Reference, ToolCall, Turn
from turnwise.schemas.run import RunInfo
from turnwise.schemas.score import Score
from turnwise.transforms.ces.result import evaluation_result
from turnwise.transforms.criteria.base import CRITERIA, MeasuredCriterion
from turnwise.transforms.formats.adk_formats import eval_result_conversations
from turnwise.transforms.review.row import RULES
from turnwise.transforms.scoring.config import build_criteria, parse_config
from turnwise.transforms.scoring.evaluate import conversation_verdict

RUN = RunInfo("run-1", "2026-03-01T02:00:00Z")
test_rows = rows_test(globals(), "reasons")


def scored_by(criteria, case, *turns, **fields):
    criteria = build_criteria(parse_config(json.dumps({"criteria": criteria})))
    scored = score_conversation(sample_of(case, *turns, **fields), criteria)
    assert scored.failures == []
    return scored


def entry(scored):
    (found,) = scored.scores
    return found


def result_of(scored):
    return parsed(evaluation_result(scored, conversation_verdict(scored, RULES), RUN))


def trajectory(kind, expected, actual, wanted):
    """It names the calls with their arguments."""
    case = msgspec.convert({"eval_id": "e", "turns": [{"tool_calls": expected}]}, EvalCase)
    for matchers in ({}, {"pay": {"amount": "exact"}}):
        criteria = {"tool_trajectory_avg_score": {"match_type": kind, "argument_matchers": matchers}}
        found = entry(scored_by(criteria, case, msgspec.convert({"user": "q", "tool_calls": actual}, Turn)))
        assert [score.explanation for _, score in found.turns] == [wanted]
        assert found.overall.explanation == f"1 of 1 fail. Turn 1: {wanted}"


class Stubborn(MeasuredCriterion):
    name = "stubborn"

    threshold: float | None = 0.5
    gives: float = 0.0
    says: str | None = None
    why: str | None = None

    def score(self, sample, pair):
        return Score(self.gives, outcome=self.says, reason=self.why)


def stubborn(gives, says, why, wanted):
    """An outcome that the value does not give is explained."""
    criterion = Stubborn(gives=gives, says=says, why=why)
    (found,) = score_conversation(sample_of(None, Turn(user="q", agent="a")), [criterion]).scores
    assert found.turns[0][1].explanation == wanted


class Summing(Stubborn):
    name = "summing"

    def overall(self, scores):
        return Score(0.0, outcome="FAIL", explanation="Its own words.")


def test_a_criterion_that_explains_the_whole_itself_is_left_at_that(matched):
    (found,) = score_conversation(matched(None, Turn(user="q", agent="a")), [Summing()]).scores
    assert found.overall.explanation == "Its own words."
    (plain,) = score_conversation(matched(None, Turn(user="q", agent="a")), [Stubborn()]).scores
    assert "Turn 1" in plain.overall.explanation


def test_reasons_are_bounded():
    many = [ToolCall("pay", {"text": "x" * 10_000, "n": n}) for n in range(1000)]
    case = EvalCase(eval_id="e", turns=[ExpectedTurn(tool_calls=many, response="y" * 10_000)])
    criteria = {"tool_trajectory_avg_score": 1, "response_match_score": 1, "tool_invocation_score": 1}
    for found in scored_by(criteria, case, Turn(user="q", agent="no")).scores:
        assert 0 < len(found.overall.explanation) < 2000
    found = entry(scored_by({"tool_trajectory_avg_score": 1}, case, Turn(user="q")))
    assert found.overall.explanation.endswith("; and 995 more. Made: none.")
    wanted = EvalCase(eval_id="e", outputs=[f"{i} {'x' * 10_000}" for i in range(50)])
    overall = entry(
        scored_by({"expectations_met": 1}, wanted, Turn(user="q", agent="word " * 10_000))
    ).overall
    assert len(overall.explanation) < 1_500 and "and 47 more" in overall.explanation
    assert all(len(check["wanted"]) + len(check["observed"]) < 400 for check in overall.details["checks"])
    answer = GroundedAnswer(references=[Reference(texts=["x"])], citations=[Citation(0, 7, ["0"])] * 1000)
    turn = Turn(user="q", agent="Gepäck.", grounded=answer)
    details = scores_of(CRITERIA["citation_validity"](), None, turn).turns[0][1].details
    assert (len(details["citations"]), details["not_listed"]) == (200, 800)


WORDS = {"response_match_score": 0.8}


def test_several_runs_of_a_case_have_names_that_tell_them_apart():
    def named(case, **fields):
        return result_of(scored_by(WORDS, case, Turn(user="q", agent="hi"), **fields))["displayName"]

    case = EvalCase(eval_id="7", display_name="Book a seat", turns=[ExpectedTurn(response="hi")])
    meta = {"task_id": 7, "trial": 2}
    assert named(case, conversation_id="7-2", meta=meta) == "Book a seat result, trial 2 - 7-2"
    assert named(case, conversation_id="c", eval_id="7") == "Book a seat result - c"
    assert named(None, conversation_id="c", meta=meta) == "c result - c"
    assert named(case, conversation_id="c", app_version="a/versions/v2") == "Book a seat result (v2) - c"


def test_the_runs_of_a_case_in_an_adk_result_are_numbered():
    def run(eval_id, eval_set_id=""):
        return {"eval_id": eval_id, "eval_set_id": eval_set_id, "final_eval_status": 1, "session_id": "s"}

    results = [run("a"), run("b"), run("a"), run("a", "other"), run("a")]
    document = {"eval_set_result_id": "r", "eval_set_id": "set", "eval_case_results": results}
    assert [c.meta.get("trial") for c in eval_result_conversations(document)] == [0, None, 1, None, 2]


def names(made):
    return [call["name"] for call in made]


def evaluated(made, case, config=None):
    log = {"conversation_id": "c", "eval_id": "e", "turns": [{"user": "u", "tool_calls": made}]}
    criteria = dict.fromkeys(("tool_trajectory_avg_score", "tool_effects_v1", "tool_invocation_score"), 1.0)
    return turnwise.evaluate(log, cases=case, config={"criteria": criteria, **(config or {})})


def beside(expected, made, missing, extra, effects, why):
    """An extra call beside a missing one is named by every criterion; in a result only CES fails it."""
    result = evaluated(made, {"eval_id": "e", "turns": [{"user": "u", "tool_calls": expected}]})
    found = {row["criterion"]: row for row in result.scores if row["turn_index"] == 0}
    texts, wanted = (
        [f"{call['name']}(n: {call['args']['n']})" for call in side] for side in (extra, missing)
    )
    trajectory, changes = found["tool_trajectory_avg_score"], found["tool_effects_v1"]
    for each in (trajectory, changes):
        assert (f"Missing: {'; '.join(wanted)}." in each["explanation"]) is bool(missing)
        assert (f"Not expected: {'; '.join(texts)}." in each["explanation"]) is bool(extra)
    told = {name: trajectory["details"][name] for name in ("missing", "extra")}
    assert told == {"missing": names(missing), "extra": names(extra)}
    assert (changes["details"]["missing"], changes["details"]["extra"]) == (wanted, texts)
    assert changes["value"] == pytest.approx(effects)
    if expected:
        assert found["tool_invocation_score"]["details"]["extra"] == names(extra)
    assert result.conversations[0]["why"] == f"turn 1: {why}"
    for behavior in ("FAIL", "ALLOW", None) if expected else ():
        extra_in_result(expected, made, missing, extra, behavior)


def extra_in_result(expected, made, missing, extra, behavior):
    steps = [{"expectation": {"toolCall": {"tool": call["name"], "args": call["args"]}}} for call in expected]
    turn = {"steps": [{"userInput": {"text": "u"}}, *steps]}
    case = {"name": "evaluations/e", "displayName": "e", "golden": {"turns": [turn]}}
    rules = {"toolMatchingSettings": {"extraToolCallBehavior": behavior}}
    if behavior is None:
        case = {"eval_id": "e", "turns": [{"user": "u", "tool_calls": expected}]}
    ces = {"evaluation_metrics_thresholds": {"goldenEvaluationMetricsThresholds": rules}}
    (row,) = evaluated(made, case, {"ces": ces} if behavior else None).results
    (replay,) = row["result"]["goldenResult"]["turnReplayResults"]
    outcomes = replay["expectationOutcome"]
    assert [one["outcome"] for one in outcomes[: len(expected)]] == [
        "FAIL" if call in missing else "PASS" for call in expected
    ]
    assert [(one["observedToolCall"]["tool"], one["outcome"]) for one in outcomes[len(expected) :]] == [
        (name, "FAIL" if behavior == "FAIL" else "SKIPPED") for name in names(extra)
    ]
    is_met = not missing and not (extra and behavior == "FAIL")
    if behavior is not None:
        assert row["verdict"] == ("PASS" if is_met else "FAIL")
