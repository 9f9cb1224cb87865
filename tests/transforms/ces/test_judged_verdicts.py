import pytest

from turnwise.schemas.case import CaseThresholds, EvalCase
from turnwise.schemas.conversation import Expectation, ExpectedTurn, ToolCall, Turn, TurnThresholds
from turnwise.schemas.score import Score
from turnwise.transforms.ces.judgements import CES_CRITERIA, Judgements
from turnwise.transforms.criteria.ces_conversations import ItemScore, JudgedItem
from turnwise.transforms.criteria.ces_turns import UNDECIDED
from turnwise.transforms.review.row import RULES
from turnwise.transforms.scoring.evaluate import (
    CriterionScores,
    ScoredConversation,
    Verdict,
    conversation_verdict,
)

CRITERION = {criterion.name: criterion for criterion in CES_CRITERIA}
CALL = ToolCall(name="a", args={"d": "x"})


def turns_of(name, *scores):
    return CriterionScores(CRITERION[name], list(enumerate(scores)))


def whole(name, score):
    return CriterionScores(CRITERION[name], [], score)


def says(text, comparison="SEMANTIC_SIMILARITY"):
    return Expectation("agent_response", text=text, comparison=comparison)


def golden(*expectations, thresholds=None, **fields):
    turn = ExpectedTurn(user="q", expectations=list(expectations), thresholds=thresholds)
    return EvalCase(**{"eval_id": "e", "dialect": "ces", "turns": [turn], **fields})


def verdict_of(case, turns, matched, *entries):
    return conversation_verdict(ScoredConversation(matched(case, *turns), list(entries), []), RULES)


def alike(value, reason=None):
    return turns_of("semantic_similarity", Score(value, reason=reason))


def justified(value, reason=None, label=None):
    return turns_of("hallucination", Score(value, reason=reason, label=label))


def stated(*scores, reason=None):
    items = tuple(JudgedItem("e", score, "r", prompt="e") for score in scores)
    return whole("evaluation_expectations", ItemScore(None, reason=reason, items=items))


def valued(*scores):
    items = tuple(JudgedItem(f"p{i}", score) for i, score in enumerate(scores))
    return turns_of("semantic_match", ItemScore(None, reason="429", items=items))


ENABLED = CaseThresholds(golden_hallucination="ENABLED", scenario_hallucination="ENABLED")
OTHERWISE = golden(says("hi"))
SAID = [Turn(user="q", agent="hello")]
SAID_AND_CALLED = [Turn(user="q", agent="hello", tool_calls=[CALL])]
CALLS = golden(says("hi"), Expectation("tool_call", tool_call=CALL), thresholds=None)
CHECKED = golden(says("hi"), Expectation("tool_call", tool_call=CALL))
CHECKED.thresholds = ENABLED
NEEDS = "1 turns need a judge to compare meaning"

GOLDENS = [
    (OTHERWISE, SAID, [], Verdict(None, (NEEDS,))),
    (OTHERWISE, SAID, [alike(4.0)], Verdict("PASS")),
    (OTHERWISE, SAID, [alike(3.0)], Verdict("PASS")),
    (OTHERWISE, SAID, [alike(2.0)], Verdict("FAIL")),
    (OTHERWISE, SAID, [alike(None, "429")], Verdict(None, (f"{NEEDS} (429)",))),
    (
        golden(says("hi"), thresholds=TurnThresholds(semantic_similarity=2)),
        SAID,
        [alike(2.0)],
        Verdict("PASS"),
    ),
    (golden(says("hi"), says("x", "EQUALS")), SAID, [alike(4.0)], Verdict("FAIL")),
    (CALLS, SAID_AND_CALLED, [alike(4.0)], Verdict("PASS")),
    (CALLS, SAID_AND_CALLED, [alike(4.0), justified(0.0)], Verdict("PASS")),
    (CALLS, SAID, [alike(4.0)], Verdict("FAIL")),
    (CHECKED, SAID_AND_CALLED, [alike(4.0), justified(0.0)], Verdict("FAIL")),
    (CHECKED, SAID_AND_CALLED, [alike(4.0), justified(1.0)], Verdict("PASS")),
    (CHECKED, SAID_AND_CALLED, [alike(4.0), justified(-1.0)], Verdict("PASS")),
    (CHECKED, SAID_AND_CALLED, [alike(4.0), justified(0.6, label="Justified")], Verdict("PASS")),
    (
        CHECKED,
        SAID_AND_CALLED,
        [alike(4.0), justified(0.2, label=UNDECIDED)],
        Verdict(None, ("hallucination needs a judge (the local judge is unsure, 0.20)",)),
    ),
    (CHECKED, SAID_AND_CALLED, [alike(4.0)], Verdict(None, ("hallucination needs a judge",))),
    (
        CHECKED,
        SAID_AND_CALLED,
        [alike(4.0), justified(None, "budget")],
        Verdict(None, ("hallucination needs a judge (budget)",)),
    ),
    (CHECKED, SAID_AND_CALLED, [alike(None, "429"), justified(0.0)], Verdict("FAIL")),
    (golden(says("hi"), evaluation_expectations=["e"]), SAID, [alike(4.0), stated(1.0)], Verdict("PASS")),
    (golden(says("hi"), evaluation_expectations=["e"]), SAID, [alike(4.0), stated(0.0)], Verdict("FAIL")),
    (
        golden(says("hi"), evaluation_expectations=["e"]),
        SAID,
        [alike(4.0), stated(None, reason="no text")],
        Verdict(None, ("1 evaluation expectations need a judge (no text)",)),
    ),
    (golden(says("hi"), evaluation_expectations=["e", "f"]), SAID, [stated(0.0, None)], Verdict("FAIL")),
]


@pytest.mark.parametrize(("case", "turns", "entries", "wanted"), GOLDENS)
def test_goldens(case, turns, entries, wanted, matched):
    assert verdict_of(case, turns, matched, *entries) == wanted


def vague(number=1, **others):
    args = {f"p{i}": {"$matchType": "semantic", "$matchValue": "one"} for i in range(number)} | others
    return Expectation("tool_call", tool_call=ToolCall(name="a", args=args))


def made(number=1, **others):
    return [
        Turn(user="q", tool_calls=[ToolCall(name="a", args={f"p{i}": "1" for i in range(number)} | others)])
    ]


HALF = CaseThresholds(parameter=0.5)
VALUES = [
    (golden(vague()), made(), [1.0], "PASS", (1, 1, 0, ())),
    (golden(vague()), made(), [0.0], "FAIL", (0, 1, 0, ("p0",))),
    (golden(vague()), made(), [None], None, (0, 1, 1, ())),
    (golden(vague(2)), made(2), [1.0, None], None, (1, 2, 1, ())),
    (golden(vague(2)), made(2), [0.0, None], "FAIL", (0, 2, 1, ("p0",))),
    (golden(vague(2), **{}), made(2), [1.0, 1.0], "PASS", (2, 2, 0, ())),
    (golden(vague(1, n=1)), made(1, n=2), [1.0], "FAIL", (1, 2, 0, ("n",))),
]


@pytest.mark.parametrize(("case", "turns", "scores", "status", "parameters"), VALUES)
def test_values_compared_by_meaning(case, turns, scores, status, parameters, matched):
    entry = valued(*scores)
    assert verdict_of(case, turns, matched, entry).status == status
    held = matched(case, *turns)
    (outcome,) = Judgements([entry]).golden_outcomes(held, held.pairs[0])
    assert tuple(outcome.parameters) == parameters
    assert outcome.outcome == status


def test_half_of_the_parameters_may_be_enough(matched):
    case = golden(vague(2))
    case.thresholds = HALF
    assert verdict_of(case, made(2), matched, valued(1.0, 0.0)).status == "PASS"


def test_parameters_do_not_count_if_their_check_is_off(matched):
    case = golden(vague(), step_tool_correctness_enabled=False)
    held = matched(case, *made())
    (outcome,) = Judgements([valued(0.0)]).golden_outcomes(held, held.pairs[0])
    assert (outcome.outcome, outcome.parameter_outcome) == ("PASS", "FAIL")


def variables(**wanted):
    return golden(Expectation("updated_variables", variables=wanted))


@pytest.mark.parametrize(
    ("scores", "wanted"),
    [([1.0, 1.0], "PASS"), ([1.0, 0.0], "FAIL"), ([0.0, None], "FAIL"), ([1.0, None], None)],
)
def test_variables_compared_by_meaning(scores, wanted, matched):
    directive = {"$matchType": "semantic", "$matchValue": "one"}
    turn = Turn(user="q", variables={"p0": "1", "p1": "1"})
    assert (
        verdict_of(variables(p0=directive, p1=directive), [turn], matched, valued(*scores)).status == wanted
    )


def scenario(*expectations, **fields):
    fields = {"user_goal": "IGNORED", "task": "get it", **fields}
    return EvalCase(eval_id="e", kind="scenario", dialect="ces", expectations=list(expectations), **fields)


def goal(outcome, value=1.0, reason=None):
    return whole("user_goal_satisfaction", Score(value, outcome=outcome, reason=reason))


def answered(*scores):
    items = tuple(JudgedItem("", score, place=i) for i, score in enumerate(scores))
    return whole("scenario_expectations", ItemScore(None, reason="429", items=items))


DONE = says("done", "CONTAINS")
UNCHECKED = Verdict(None, ("the scenario checks nothing",))
SCENARIOS = [
    (scenario(), SAID, [], UNCHECKED),
    (scenario(DONE), SAID, [answered(1.0)], Verdict("PASS")),
    (scenario(DONE), SAID, [answered(0.0)], Verdict("FAIL")),
    (scenario(DONE), SAID, [answered(None)], Verdict(None, ("expectations need a judge (429)",))),
    (scenario(DONE, DONE), SAID, [answered(None, 0.0)], Verdict("FAIL")),
    (scenario(user_goal="SATISFIED"), SAID, [goal("PASS")], Verdict("PASS")),
    (scenario(user_goal="SATISFIED"), SAID, [goal("FAIL", 0.0)], Verdict("FAIL")),
    (
        scenario(user_goal="SATISFIED"),
        SAID,
        [goal(None, None, "429")],
        Verdict(None, ("the user goal needs a judge (429)",)),
    ),
    (scenario(user_goal="SATISFIED", user_goal_enabled=False), SAID, [], UNCHECKED),
    (scenario(user_goal="IGNORED"), SAID, [goal("SKIPPED", 0.0)], UNCHECKED),
    (scenario(thresholds=ENABLED), SAID, [], UNCHECKED),
    (scenario(thresholds=ENABLED), SAID_AND_CALLED, [], Verdict(None, ("hallucination needs a judge",))),
    (scenario(thresholds=ENABLED), SAID_AND_CALLED, [justified(0.0)], Verdict("FAIL")),
    (scenario(thresholds=ENABLED), SAID_AND_CALLED, [justified(-1.0)], Verdict("PASS")),
    (scenario(), SAID_AND_CALLED, [justified(0.0)], UNCHECKED),
    (scenario(evaluation_expectations=["e"]), SAID, [stated(1.0)], Verdict("PASS")),
    (scenario(evaluation_expectations=["e"]), SAID, [stated(0.0)], Verdict("FAIL")),
]


@pytest.mark.parametrize(("case", "turns", "entries", "wanted"), SCENARIOS)
def test_scenarios(case, turns, entries, wanted, matched):
    assert verdict_of(case, turns, matched, *entries) == wanted


def test_judges_do_not_decide_cases_of_other_dialects(matched):
    case = EvalCase(eval_id="e", dialect="adk", turns=[ExpectedTurn(user="q", response="hi")])
    entry = turns_of("semantic_similarity", Score(1.0))
    entry.overall = Score(1.0, outcome="FAIL")
    assert verdict_of(case, SAID, matched, entry).status == "FAIL"
