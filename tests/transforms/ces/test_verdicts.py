"""Verdicts of CES cases, with and without a judge."""

import pytest

import turnwise
from tests.scripted_judge import Scripted
from turnwise.schemas.case import CaseThresholds, EvalCase
from turnwise.schemas.conversation import (
    Conversation,
    Expectation,
    ExpectedTurn,
    ToolCall,
    ToolResponse,
    Turn,
    TurnThresholds,
)
from turnwise.schemas.score import Score
from turnwise.transforms.ces.judgements import CES_CRITERIA
from turnwise.transforms.criteria.ces import UNDECIDED
from turnwise.transforms.review.row import RULES
from turnwise.transforms.scoring.evaluate import CriterionScores, ScoredConversation, conversation_verdict

CALL = ToolCall(name="a", args={"x": 1})
WANTS = Expectation("tool_call", tool_call=CALL)
ENABLED, OF_SCENARIO = (
    {"thresholds": CaseThresholds(**{f"{kind}_hallucination": "ENABLED"})} for kind in ("golden", "scenario")
)


def says(text, comparison="SEMANTIC_SIMILARITY"):
    return Expectation("agent_response", text=text, comparison=comparison)


def golden(*turns, of_turn=None, **fields):
    limits = of_turn and TurnThresholds(**of_turn)
    expected = [
        ExpectedTurn(user=f"turn {i}", expectations=list(e), thresholds=limits) for i, e in enumerate(turns)
    ]
    return EvalCase(**{"eval_id": "e", "dialect": "ces", "turns": expected, **fields})


def scenario(*expectations, **fields):
    fields = {"user_goal": "IGNORED", "task": "get it", **fields}
    return EvalCase(eval_id="e", kind="scenario", dialect="ces", expectations=list(expectations), **fields)


def limits(**fields):
    return {"thresholds": CaseThresholds(**fields)}


def evaluated(case, turns, answers, criteria=None):
    log = Conversation("c", eval_id="e", turns=turns, ended="normally")
    judge = "none" if answers is None else Scripted(answers)
    return turnwise.evaluate(log, cases=case, criteria=criteria or {"turn_latency": {}}, judge=judge)


def vague(*names, **others):
    args = {name: {"$matchType": "semantic", "$matchValue": "one"} for name in names} | others
    return Expectation("tool_call", tool_call=ToolCall("a", args))


ANSWERED = Expectation("tool_response", tool_response=ToolResponse("a", response={"x": 1}))
HI, DONE_SAID, POLITE = says("hi"), says("done", "CONTAINS"), {"evaluation_expectations": ["is polite"]}
HELLO, CALLED = [Turn(user="turn 0", agent="hello")], [Turn(user="turn 0", agent="hello", tool_calls=[CALL])]
MADE = [Turn(tool_calls=[CALL])]
DONE = [Turn(tool_calls=[CALL]), Turn(agent="all done now")]
MEANING, CLAIMS, GOAL = (
    "1 turn needs a judge to compare meaning",
    "hallucination needs a judge",
    "the user goal needs a judge",
)
ANSWERS, NOTHING = "expectations need a judge", "the scenario checks nothing"
NAMED = "p/locations/l/apps/a/evaluationExpectations/tone"
PROMPTS = "the config's criteria.evaluation_expectations.prompts"
NO_TEXT = f"1 evaluation expectation needs a judge ({PROMPTS} has no text for {NAMED})"
CHECKED = golden([HI, WANTS], **ENABLED)
GOALS = {"user_goal": "SATISFIED"}
RULED = [
    # case, turns, verdict, why there is none
    (golden([WANTS]), MADE, "PASS", None),
    (golden([WANTS]), [Turn()], "FAIL", None),
    (golden([WANTS]), [Turn(tool_calls=[CALL, CALL])], "FAIL", None),
    (golden([WANTS]), [Turn(tool_calls=[CALL], agent="hi")], "FAIL", None),
    (golden([WANTS]), [Turn(tool_calls=[CALL], transfers=["b"])], "FAIL", None),
    (golden([WANTS]), [Turn(tool_calls=[CALL], payloads=[{}])], "PASS", None),
    (golden([WANTS], **limits(tool_invocation=0.0)), [Turn()], "FAIL", None),
    (golden([ANSWERED]), [Turn(tool_responses=[ToolResponse("a", response={"x": 1})])], "PASS", None),
    (golden([ANSWERED]), [Turn(tool_responses=[ToolResponse("b", response={"x": 1})])], "FAIL", None),
    (golden([HI]), [Turn(agent="hi")], "PASS", None),
    (golden([HI]), HELLO, None, MEANING),
    (golden([HI, WANTS]), HELLO, "FAIL", None),
    (golden([HI], [says("bye")]), [*HELLO, Turn(agent="y")], None, "2 turns need a judge to compare meaning"),
    (golden([HI], [says("bye")]), [Turn(user="turn 0", agent="hi")], "FAIL", None),
    (golden([HI], [Expectation("no_tool_calls")]), [Turn(user="turn 0", agent="hi")], "FAIL", None),
    (golden([HI]), [Turn(user="turn 0", agent="hi"), Turn(user="more", agent="?")], "FAIL", None),
    (golden([HI]), [Turn(user="turn 0", agent="hi"), Turn(user="more")], "PASS", None),
    (golden([HI], similarity_enabled=False), HELLO, None, "the golden checks nothing"),
    (golden([]), [Turn()], None, "the golden checks nothing"),
    (golden(), [Turn(agent="x")], None, "the golden has no turns"),
    (golden([WANTS], **POLITE), MADE, None, "1 evaluation expectation needs a judge"),
    (golden([WANTS], **POLITE), [Turn()], "FAIL", None),
    (golden([WANTS], **ENABLED), MADE, None, CLAIMS),
    (golden([WANTS], **OF_SCENARIO), MADE, "PASS", None),
    (golden([WANTS], of_turn={"hallucination": "ENABLED"}), MADE, None, CLAIMS),
    (golden([WANTS], of_turn={"hallucination": "DISABLED"}, **ENABLED), MADE, "PASS", None),
    (golden([WANTS], **limits(extra_tool_calls="ALLOW")), [Turn(tool_calls=[CALL, CALL])], "PASS", None),
    (
        golden([WANTS], **limits(unexpected_response="ALLOW")),
        [Turn(tool_calls=[CALL], agent="hi")],
        "PASS",
        None,
    ),
    (
        golden([HI, says("x", "EQUALS"), WANTS], **POLITE, **ENABLED),
        [Turn(agent_messages=["hello", "x"], agent="x", tool_calls=[CALL])],
        None,
        f"{MEANING}; 1 evaluation expectation needs a judge; {CLAIMS}",
    ),
    (golden([HI], **ENABLED), [Turn(agent="hi")], "PASS", None),
    (scenario(WANTS, DONE_SAID), DONE, "PASS", None),
    (scenario(DONE_SAID, WANTS), DONE, "PASS", None),
    (scenario(WANTS), [Turn(tool_calls=[ToolCall("b"), CALL])], "PASS", None),
    (scenario(WANTS), [Turn(tool_calls=[ToolCall("a", {"x": 1, "y": 2})])], "PASS", None),
    (scenario(WANTS), [Turn(tool_calls=[ToolCall("a", {"x": 2})])], "FAIL", None),
    (scenario(WANTS, WANTS), MADE, "FAIL", None),
    (scenario(WANTS), [Turn(agent="done")], "FAIL", None),
    (scenario(DONE_SAID), [Turn(agent="finished")], None, ANSWERS),
    (scenario(DONE_SAID), [Turn(agent="finished"), Turn(user="and?")], None, ANSWERS),
    (scenario(DONE_SAID), [Turn(user="hello?", agent="")], "FAIL", None),
    (scenario(WANTS, DONE_SAID), [Turn(agent="finished")], "FAIL", None),
    (scenario(DONE_SAID), [Turn(agent_messages=["all done", "bye"], agent="bye")], "PASS", None),
    (scenario(DONE_SAID, user_goal="SATISFIED"), DONE, None, GOAL),
    (scenario(DONE_SAID, user_goal="REJECTED"), DONE, None, GOAL),
    (scenario(WANTS, user_goal="SATISFIED"), [Turn()], "FAIL", None),
    (scenario(vague("x")), DONE, None, ANSWERS),
    (scenario(vague("x"), DONE_SAID), MADE, "FAIL", None),
    (scenario(vague("x", y=1)), [Turn(tool_calls=[ToolCall("a", {"x": "1", "y": 2})])], "FAIL", None),
    (scenario(DONE_SAID, **POLITE), DONE, None, "1 evaluation expectation needs a judge"),
    (scenario(DONE_SAID, **OF_SCENARIO), DONE, None, CLAIMS),
    (scenario(DONE_SAID, **ENABLED), DONE, "PASS", None),
    (scenario(**OF_SCENARIO), HELLO, None, NOTHING),
    (scenario(**OF_SCENARIO), CALLED, None, CLAIMS),
    (scenario(user_goal="SATISFIED", user_goal_enabled=False), HELLO, None, NOTHING),
    # Two thirds of the parameters reach a gate of two thirds in float32.
    (
        scenario(
            Expectation("tool_call", tool_call=ToolCall("a", {"x": 1, "y": 1, "z": 1})),
            **limits(parameter=0.6666667),
        ),
        [Turn(tool_calls=[ToolCall("a", {"x": 1, "y": 1, "z": 2})])],
        "PASS",
        None,
    ),
]


@pytest.mark.parametrize(("case", "turns", "status", "why"), RULED)
def test_what_is_decided_without_a_judge(case, turns, status, why):
    (row,) = evaluated(case, turns, None).conversations
    assert (row["verdict"], row["reason"]) == (status, why)
    assert (row["severity_reason"] == "expectations" and bool(row["why"])) is (status == "FAIL")


JUDGED = [
    # case, turns, the judge's answers, verdict, why there is none
    (golden([HI]), HELLO, {"similar": 4}, "PASS", None),
    (golden([HI]), HELLO, {"similar": 3}, "PASS", None),
    (golden([HI]), HELLO, {"similar": 2}, "FAIL", None),
    (golden([HI]), HELLO, {}, None, f"{MEANING} (429)"),
    (golden([HI], similarity_enabled=False), HELLO, {"similar": 0}, None, "the golden checks nothing"),
    (golden([HI], of_turn={"semantic_similarity": 2}), HELLO, {"similar": 2}, "PASS", None),
    (golden([HI, says("x", "EQUALS")]), HELLO, {"similar": 4}, "FAIL", None),
    (golden([HI, WANTS]), CALLED, {"similar": 4}, "PASS", None),
    (golden([HI, WANTS]), CALLED, {"similar": 4, "claims": "not_justified"}, "PASS", None),
    (golden([HI, WANTS]), HELLO, {"similar": 4}, "FAIL", None),
    (CHECKED, CALLED, {"similar": 4, "claims": "not_justified"}, "FAIL", None),
    (CHECKED, CALLED, {"similar": 4, "claims": "justified"}, "PASS", None),
    (CHECKED, CALLED, {"similar": 4, "claims": "no_claim"}, "PASS", None),
    (CHECKED, CALLED, {"similar": 4}, None, f"{CLAIMS} (429)"),
    (CHECKED, CALLED, {"claims": "not_justified"}, "FAIL", None),
    (golden([HI], **POLITE), HELLO, {"similar": 4, "expectations": [1]}, "PASS", None),
    (golden([HI], **POLITE), HELLO, {"similar": 4, "expectations": [0]}, "FAIL", None),
    (golden([HI], similarity_enabled=False, **POLITE), HELLO, {"expectations": [1]}, "PASS", None),
    (golden([HI], evaluation_expectations=[NAMED]), HELLO, {"similar": 4}, None, NO_TEXT),
    (golden([HI], evaluation_expectations=["e", "f"]), HELLO, {"expectations": [0, None]}, "FAIL", None),
    (scenario(), CALLED, {"claims": "not_justified"}, None, NOTHING),
    (scenario(DONE_SAID), HELLO, {"answers": [1]}, "PASS", None),
    (scenario(DONE_SAID), HELLO, {"answers": [0]}, "FAIL", None),
    (scenario(DONE_SAID), HELLO, {}, None, f"{ANSWERS} (429)"),
    (scenario(DONE_SAID, says("x", "CONTAINS")), HELLO, {"answers": [None, 0]}, "FAIL", None),
    (scenario(**GOALS), HELLO, {"goal": "satisfied"}, "PASS", None),
    (scenario(**GOALS), HELLO, {"goal": "not_satisfied"}, "FAIL", None),
    (scenario(**GOALS), HELLO, {}, None, f"{GOAL} (429)"),
    (scenario(user_goal="IGNORED"), HELLO, {"goal": "not_satisfied"}, None, NOTHING),
    (scenario(**GOALS, user_goal_enabled=False), HELLO, {"goal": "not_satisfied"}, None, NOTHING),
    (scenario(user_goal="REJECTED"), HELLO, {"goal": "satisfied"}, "FAIL", None),
    (scenario(user_goal="REJECTED"), HELLO, {"goal": "not_satisfied"}, "PASS", None),
    (scenario(user_goal="REJECTED"), HELLO, {"goal": "unspecified"}, "FAIL", None),
    (scenario(**OF_SCENARIO), CALLED, {"claims": "not_justified"}, "FAIL", None),
    (scenario(**OF_SCENARIO), CALLED, {"claims": "no_claim"}, "PASS", None),
    (scenario(**POLITE), HELLO, {"expectations": [1]}, "PASS", None),
    (scenario(**POLITE), HELLO, {"expectations": [0]}, "FAIL", None),
]


@pytest.mark.parametrize(("case", "turns", "answers", "status", "why"), JUDGED)
def test_what_a_judge_decides(case, turns, answers, status, why):
    (row,) = evaluated(case, turns, answers).conversations
    assert (row["verdict"], row["reason"]) == (status, why)


HALF, UNCHECKED = limits(parameter=0.5), {"step_tool_correctness_enabled": False}
VALUES = [
    # parameters, fields of the case, the judge's answers, verdict, outcome of the call, of its parameters
    ({"p": "1"}, {}, [1], "PASS", "PASS", "1 of 1 parameters match."),
    ({"p": "1"}, {}, [0], "FAIL", "FAIL", "0 of 1 parameters match; wrong or missing: p."),
    ({"p": "1"}, {}, [None], None, None, "0 of 1 parameters match, 1 need a judge."),
    ({"p": "1", "q": "1"}, {}, [1, None], None, None, "1 of 2 parameters match, 1 need a judge."),
    (
        {"p": "1", "q": "1"},
        {},
        [0, None],
        "FAIL",
        "FAIL",
        "0 of 2 parameters match, 1 need a judge; wrong or missing: p.",
    ),
    ({"p": "1", "q": "1"}, {}, [1, 1], "PASS", "PASS", "2 of 2 parameters match."),
    ({"p": "1", "n": 2}, {}, [1], "FAIL", "FAIL", "1 of 2 parameters match; wrong or missing: n."),
    ({"p": "1", "q": "1"}, HALF, [1, 0], "PASS", "PASS", "1 of 2 parameters match; wrong or missing: q."),
    ({"p": "1"}, UNCHECKED, [0], "PASS", "PASS", "0 of 1 parameters match; wrong or missing: p."),
]


@pytest.mark.parametrize(("args", "fields", "answers", "status", "outcome", "why"), VALUES)
def test_values_compared_by_meaning(args, fields, answers, status, outcome, why):
    names = [name for name, value in args.items() if value == "1"]
    case = golden([vague(*names, **({"n": 1} if "n" in args else {}))], **fields)
    found = evaluated(case, [Turn(tool_calls=[ToolCall("a", args)])], {"values": answers})
    ((one, *_),) = (
        turn["expectationOutcome"] for turn in found.results[0]["result"]["goldenResult"]["turnReplayResults"]
    )
    assert (found.status, one.get("outcome")) == (status, outcome)
    assert one["toolInvocationResult"]["explanation"] == why


@pytest.mark.parametrize(
    ("answers", "status"), [([1, 1], "PASS"), ([1, 0], "FAIL"), ([0, None], "FAIL"), ([1, None], None)]
)
def test_variables_compared_by_meaning(answers, status):
    wanted = vague("p", "q").tool_call.args
    turn = Turn(user="q", variables={"p": "1", "q": "1"})
    case = golden([Expectation("updated_variables", variables=wanted)])
    assert evaluated(case, [turn], {"values": answers}).status == status


@pytest.mark.parametrize(
    ("value", "label", "status"), [(0.6, "Justified", "PASS"), (0.2, UNDECIDED, None), (0.2, None, "FAIL")]
)
def test_a_judge_that_is_unsure_decides_nothing(value, label, status, matched):
    (claims,) = (criterion for criterion in CES_CRITERIA if criterion.name == "hallucination")
    entry = CriterionScores(claims, [(0, Score(value, label=label))])
    scored = ScoredConversation(matched(golden([WANTS], **ENABLED), *MADE), [entry], [])
    found = conversation_verdict(scored, RULES)
    assert (found.status, found.reasons) == (
        status,
        () if status else (f"{CLAIMS} (the local judge is unsure, 0.20)",),
    )


OTHER = [
    EvalCase("e", dialect=dialect, turns=[ExpectedTurn(response="hi", tool_calls=[CALL])])
    for dialect in ("adk", "turnwise")
]
TWICE = [Turn(agent="hi", tool_calls=[CALL, CALL])]
SAYS_YOU = golden([says("hello you", "CONTAINS")])
BY_CRITERIA = [
    # A CES case is decided by CES's rules, whatever the criteria say; others by their criteria.
    (SAYS_YOU, [Turn(agent="hello you, and much more besides")], {"response_match_score": 0.99}, "PASS"),
    (SAYS_YOU, [Turn(agent="hello")], {"response_match_score": 0.0}, "FAIL"),
    (scenario(DONE_SAID), DONE, {"tool_call_count_v1": 0.0}, "PASS"),
    *((case, TWICE, {"response_match_score": 1.0}, "PASS") for case in OTHER),
    *(
        (case, TWICE, {"response_match_score": 1.0, "tool_trajectory_avg_score": 1.0}, "FAIL")
        for case in OTHER
    ),
    *((case, TWICE, {"final_state_v1": 1.0}, None) for case in OTHER),
    (None, [Turn(agent="x", latency_ms=2000)], {"turn_latency": 2.0}, "PASS"),
    (None, [Turn(agent="x", latency_ms=2000)], {"turn_latency": 1.0}, "FAIL"),
    (None, [Turn(agent="x", latency_ms=2000)], {"response_match_score": 1.0}, None),
]


@pytest.mark.parametrize(("case", "turns", "criteria", "status"), BY_CRITERIA)
def test_who_decides(case, turns, criteria, status):
    log = Conversation("c", eval_id="e" if case else None, turns=turns)
    found = turnwise.evaluate(log, cases=case, criteria=criteria, judge="none")
    (row,) = found.conversations
    assert row["verdict"] == status
    if status is None:
        assert row["reason"] == "no criterion with a threshold applies"
