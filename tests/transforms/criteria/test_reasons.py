"""Every failure says why: in its row, and in the evaluation result."""

import asyncio
import json

import pytest

import turnwise
from tests.ces_messages import parsed
from tests.samples import sample_of
from tests.scripted_judge import verdicts
from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import (
    Expectation,
    ExpectedTurn,
    Rubric,
    ToolCall,
    Turn,
)
from turnwise.schemas.run import RunInfo
from turnwise.schemas.score import Score
from turnwise.transforms.ces.result import evaluation_result
from turnwise.transforms.criteria.base import MeasuredCriterion
from turnwise.transforms.formats.adk_formats import eval_result_conversations
from turnwise.transforms.judging.ask import JudgeSample
from turnwise.transforms.review.row import RULES
from turnwise.transforms.scoring.config import build_criteria, parse_config
from turnwise.transforms.scoring.evaluate import conversation_verdict, judge_conversation, score_conversation
from turnwise.transforms.scoring.selection import select

RUN = RunInfo("run-1", "2026-03-01T02:00:00Z")


def call(name, **args):
    return ToolCall(name=name, args=args)


def scored_by(criteria, case, *turns, answer=None, **fields):
    """Scores turns; `answer` is what a judge replies."""
    selection = select(build_criteria(parse_config(json.dumps({"criteria": criteria}))))
    scored = score_conversation(sample_of(case, *turns, **fields), selection.measured)

    async def ask(question, samples):
        return [JudgeSample(question.reply_model.model_validate(answer), None, "scripted")] * len(samples)

    asyncio.run(judge_conversation(scored, selection.judged, ask))
    assert scored.failures == []
    return scored


def entry(scored):
    (found,) = scored.scores
    return found


def result_of(scored):
    return parsed(evaluation_result(scored, conversation_verdict(scored, RULES), RUN))


PAY5, PAY7, FIND = call("pay", amount=5), call("pay", amount=7), call("find", q="x")
MEAL = call("add_meal", kind="vegan")
TRAJECTORIES = [
    ("EXACT", [PAY5], [PAY7], "Missing: pay(amount: 5). Not expected: pay(amount: 7)."),
    ("EXACT", [PAY5], [], "Missing: pay(amount: 5). Made: none."),
    ("EXACT", [], [PAY7], "Not expected: pay(amount: 7)."),
    (
        "EXACT",
        [FIND, PAY5],
        [PAY5, FIND],
        "The order differs. Expected: find(q: x); pay(amount: 5). Made: pay(amount: 5); find(q: x).",
    ),
    ("IN_ORDER", [PAY5], [PAY7], "Missing: pay(amount: 5). Made: pay(amount: 7)."),
    ("ANY_ORDER", [PAY5], [], "Missing: pay(amount: 5). Made: none."),
    ("SUBSET", [PAY5, FIND], [PAY7, PAY5], "Not expected: pay(amount: 7)."),
]


@pytest.mark.parametrize(("kind", "expected", "actual", "wanted"), TRAJECTORIES)
@pytest.mark.parametrize("matchers", [{}, {"pay": {"amount": "exact"}}])
def test_a_trajectory_names_the_calls_with_their_arguments(kind, expected, actual, wanted, matchers):
    criteria = {"tool_trajectory_avg_score": {"match_type": kind, "argument_matchers": matchers}}
    case = EvalCase(eval_id="e", turns=[ExpectedTurn(tool_calls=expected)])
    found = entry(scored_by(criteria, case, Turn(user="q", tool_calls=actual)))
    assert [score.explanation for _, score in found.turns] == [wanted]
    assert found.overall.explanation == f"1 of 1 fail. Turn 1: {wanted}"


def test_what_was_expected_when():
    find = [FIND]
    case = EvalCase(
        eval_id="e",
        turns=[ExpectedTurn(user="a", tool_calls=[PAY5]), ExpectedTurn(user="b", tool_calls=find)],
        actions=[PAY5],
    )
    turns = [Turn(user="a", tool_calls=[]), Turn(user="b", tool_calls=[FIND, PAY5])]
    overall = entry(scored_by({"tool_effects_v1": 1.0}, case, *turns)).overall
    assert (overall.value, overall.outcome) == (1.0, "FAIL")
    assert overall.explanation == (
        "As a whole: 1 expected change made, and no other. By turns: 2 of 2 fail. pay(amount: 5) is expected "
        "in turn 1 and made in turn 2. Turn 1: 0 of 1 expected change made. Missing: pay(amount: 5)."
    )


class Stubborn(MeasuredCriterion):
    name = "stubborn"

    threshold: float | None = 0.5
    gives: float = 0.0
    says: str | None = None
    why: str | None = None

    def score(self, sample, pair):
        return Score(self.gives, outcome=self.says, reason=self.why)


@pytest.mark.parametrize(
    ("gives", "says", "why", "wanted"),
    [
        (1.0, "FAIL", None, "1 reaches the threshold 0.5, but it fails."),
        (1.0, "FAIL", "a rule", "1 reaches the threshold 0.5, but it fails: a rule."),
        (0.0, "PASS", None, "It passes, although 0 does not reach the threshold 0.5."),
        (0.49999999, None, None, "0.49999999 is below the threshold 0.5."),
        (0.0, None, None, "0 is below the threshold 0.5."),
        (0.5, "PASS", None, None),
        (1.0, None, None, None),
    ],
)
def test_an_outcome_that_the_value_does_not_give_is_explained(gives, says, why, wanted, matched):
    criterion = Stubborn(gives=gives, says=says, why=why)
    (found,) = score_conversation(matched(None, Turn(user="q", agent="a")), [criterion]).scores
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
    many = [call("pay", text="x" * 10_000, n=n) for n in range(1000)]
    case = EvalCase(eval_id="e", turns=[ExpectedTurn(tool_calls=many, response="y" * 10_000)])
    criteria = {"tool_trajectory_avg_score": 1, "response_match_score": 1, "tool_invocation_score": 1}
    for found in scored_by(criteria, case, Turn(user="q", agent="no")).scores:
        assert 0 < len(found.overall.explanation) < 2000
    found = entry(scored_by({"tool_trajectory_avg_score": 1}, case, Turn(user="q")))
    assert found.overall.explanation.endswith("; and 995 more. Made: none.")


WORDS = {"response_match_score": 0.8}


def test_what_was_expected_and_what_was_said():
    case = EvalCase(eval_id="e", turns=[ExpectedTurn(response="The flight leaves at nine.")])
    found = entry(scored_by(WORDS, case, Turn(user="q", agent="It  is\nlate.")))
    assert found.turns[0][1].explanation == (
        "0 is below the threshold 0.8. Expected: “The flight leaves at nine.”; said: “It is late.”."
    )
    found = entry(scored_by(WORDS, case, Turn(user="q", agent="")))
    assert found.turns[0][1].explanation.endswith("; said: nothing.")


def test_a_pass_says_nothing():
    case = EvalCase(eval_id="e", turns=[ExpectedTurn(response="hi", tool_calls=[PAY5])])
    criteria = {**WORDS, "tool_trajectory_avg_score": 1.0, "tool_invocation_score": 1.0}
    scored = scored_by(criteria, case, Turn(user="q", agent="hi", tool_calls=[PAY5]))
    assert {found.overall.explanation for found in scored.scores} == {None}
    assert "evaluationExpectationResults" not in result_of(scored)["goldenResult"]


def two_turns():
    return EvalCase(
        eval_id="e",
        turns=[
            ExpectedTurn(user="book a seat", response="booked", tool_calls=[PAY5]),
            ExpectedTurn(user="and a meal", response="a vegan meal", tool_calls=[MEAL]),
        ],
    )


MISSING = "Turn 2 is missing. Expected: user “and a meal”, agent “a vegan meal”, calls add_meal(kind: vegan)."
EXTRA = "Turn 3 was not expected. It holds: user “one more thing”, agent “yes?”, calls pay(amount: 7)."
BOOKED = Turn(user="book a seat", agent="booked", tool_calls=[PAY5])
FED = Turn(user="and a meal", agent="a vegan meal", tool_calls=[MEAL])
MORE = Turn(user="one more thing", agent="yes?", tool_calls=[PAY7])


@pytest.mark.parametrize(
    "name", ["response_match_score", "tool_trajectory_avg_score", "tool_effects_v1", "tool_invocation_score"]
)
def test_a_missing_turn_is_named_with_what_was_expected_of_it(name):
    found = entry(scored_by({name: 1.0}, two_turns(), BOOKED))
    (wrong,) = [score for _, score in found.turns if score.outcome == "FAIL"]
    assert wrong.explanation.startswith(MISSING)
    assert MISSING in found.overall.explanation and "Turn 2: Turn 2" not in found.overall.explanation


def test_missing_and_extra_turns_stand_in_the_result():
    short, long = (result_of(scored_by(WORDS, two_turns(), *t)) for t in ([BOOKED], [BOOKED, FED, MORE]))
    for result, wanted in ((short, MISSING), (long, EXTRA)):
        turn = result["goldenResult"]["turnReplayResults"][-1]
        assert turn["errorInfo"] == {"errorMessage": wanted}
        assert all("errorInfo" not in t for t in result["goldenResult"]["turnReplayResults"][:-1])
        (gate,) = result["goldenResult"]["evaluationExpectationResults"]
        assert gate["explanation"].endswith(wanted)


def test_a_missing_turn_of_a_ces_case_is_named_too():
    wants = Expectation("agent_response", text="bye", comparison="EQUALS")
    turns = [ExpectedTurn(user="hi", expectations=[]), ExpectedTurn(user="bye", expectations=[wants])]
    case = EvalCase(eval_id="e", dialect="ces", turns=turns)
    scored = scored_by({"turn_latency": {}}, case, Turn(user="hi"))
    result = result_of(scored)
    assert result["evaluationStatus"] == "FAIL"
    *_, last = result["goldenResult"]["turnReplayResults"]
    assert last["errorInfo"]["errorMessage"] == "Turn 2 is missing. Expected: user “bye”."
    assert "evaluationExpectationResults" not in result["goldenResult"]


@pytest.mark.parametrize("dialect", ["turnwise", "adk"])
def test_the_result_of_a_failed_case_says_which_gates_failed_and_why(dialect):
    case = EvalCase(eval_id="e", dialect=dialect, turns=[ExpectedTurn(tool_calls=[PAY5], response="hi")])
    criteria = {**WORDS, "tool_trajectory_avg_score": 1.0, "turn_latency": 2, "tool_call_count_v1": {}}
    turn = Turn(user="q", agent="hi", tool_calls=[PAY7], latency_ms=2500)
    result = result_of(scored_by(criteria, case, turn))
    assert result["goldenResult"]["evaluationExpectationResults"] == [
        {
            "prompt": "tool_trajectory_avg_score: at least 1",
            "outcome": "FAIL",
            "explanation": "1 of 1 fail. Turn 1: Missing: pay(amount: 5). Not expected: pay(amount: 7).",
        },
        {
            "prompt": "turn_latency: at most 2",
            "outcome": "FAIL",
            "explanation": "1 of 1 fail. Turn 1: 2.5 s is above the threshold 2 s.",
        },
    ]


def test_a_conversation_without_a_case_says_why_as_well():
    result = result_of(scored_by({"turn_latency": 1}, None, Turn(user="q", agent="hi", latency_ms=1500)))
    (gate,) = result["scenarioResult"]["evaluationExpectationResults"]
    assert gate["explanation"] == "1 of 1 fail. Turn 1: 1.5 s is above the threshold 1 s."


def test_of_several_scores_of_a_turn_the_one_that_fails_is_named():
    case = EvalCase(
        eval_id="e", turns=[ExpectedTurn(tool_calls=[], response="a b"), ExpectedTurn(response="c")]
    )
    found = entry(scored_by(WORDS, case, Turn(user="q", agent="a b"), Turn(user="q", agent="d")))
    assert found.overall.explanation.startswith("1 of 2 fail. Turn 2: 0 is below the threshold 0.8.")


def test_judged_failures_give_the_judges_reason():
    rubrics = [Rubric(rubric_id="r", text="is polite", type="FINAL_RESPONSE_QUALITY")]
    case = EvalCase(eval_id="e", turns=[ExpectedTurn(response="hi")], rubrics=rubrics)
    criteria = {"rubric_based_final_response_quality_v1": 0.5}
    found = entry(scored_by(criteria, case, Turn(user="q", agent="hi"), answer=verdicts("N")))
    assert found.overall.outcome == "FAIL"
    assert found.overall.explanation == "1 of 1 fail. Turn 1: no to 1"


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


ADDED, PAID, SENT = ({"name": name, "args": {"n": "x"}} for name in ("add", "pay", "send"))
SENT_OTHER = {"name": "send", "args": {"n": "y"}}
BESIDE = [
    # expected, made, missing, extra, value of the effects, why
    ([ADDED, PAID], [ADDED, SENT], [PAID], [SENT], 0.5, "missing pay(n: x)"),
    ([ADDED, PAID], [SENT, ADDED], [PAID], [SENT], 0.5, "missing pay(n: x)"),
    ([PAID], [SENT], [PAID], [SENT], 0.0, "missing pay(n: x)"),
    ([PAID], [PAID, SENT], [], [SENT], 2 / 3, "not expected: send(n: x)"),
    ([ADDED, PAID], [ADDED], [PAID], [], 2 / 3, "missing pay(n: x)"),
    ([ADDED, PAID], [SENT], [ADDED, PAID], [SENT], 0.0, "missing add(n: x) and 1 more"),
    ([PAID], [SENT, SENT_OTHER], [PAID], [SENT, SENT_OTHER], 0.0, "missing pay(n: x)"),
    ([], [SENT, SENT_OTHER], [], [SENT, SENT_OTHER], 0.0, "not expected: send(n: x) and 1 more"),
]


def names(made):
    return [call["name"] for call in made]


def evaluated(made, case, config=None):
    log = {"conversation_id": "c", "eval_id": "e", "turns": [{"user": "u", "tool_calls": made}]}
    criteria = dict.fromkeys(("tool_trajectory_avg_score", "tool_effects_v1", "tool_invocation_score"), 1.0)
    return turnwise.evaluate(log, cases=case, config={"criteria": criteria, **(config or {})})


@pytest.mark.parametrize(("expected", "made", "missing", "extra", "effects", "why"), BESIDE)
def test_an_extra_call_beside_a_missing_one_is_named_by_every_criterion(
    expected, made, missing, extra, effects, why
):
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


@pytest.mark.parametrize("behavior", ["FAIL", "ALLOW", None])
@pytest.mark.parametrize(("expected", "made", "missing", "extra"), [row[:4] for row in BESIDE if row[0]])
def test_in_a_result_only_ces_fails_an_extra_call(expected, made, missing, extra, behavior):
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
