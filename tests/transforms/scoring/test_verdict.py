from itertools import product

import pytest

from turnwise.schemas.case import CaseThresholds, EvalCase
from turnwise.schemas.conversation import (
    Conversation,
    Expectation,
    ExpectedTurn,
    Record,
    ToolCall,
    Turn,
    TurnThresholds,
)
from turnwise.schemas.score import Score
from turnwise.transforms.ces.verdict import golden_verdict, scenario_verdict
from turnwise.transforms.criteria.base import CRITERIA
from turnwise.transforms.matching.sample import Sample
from turnwise.transforms.review.row import RULES
from turnwise.transforms.scoring.evaluate import (
    CriterionScores,
    Verdict,
    conversation_verdict,
    criteria_verdict,
    score_conversation,
)

CALL = ToolCall(name="a", args={"x": 1})
WANTS_CALL = Expectation("tool_call", tool_call=CALL)


def says(text, comparison="SEMANTIC_SIMILARITY"):
    return Expectation("agent_response", text=text, comparison=comparison)


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


def matched(case, *turns):
    conversation = Conversation(conversation_id="c", turns=list(turns))
    return Sample(conversation, case, Record("f", 1, b"{}"))


def golden(*turns, **fields):
    expected = [ExpectedTurn(user=f"turn {i}", expectations=list(e)) for i, e in enumerate(turns)]
    return EvalCase(**{"eval_id": "e", "dialect": "ces", "turns": expected, **fields})


NOTHING_CHECKED = "the golden checks nothing"
ONE_MEANING = "1 turns need a judge to compare meaning"
GOLDENS = [
    (golden([WANTS_CALL]), [Turn(tool_calls=[CALL])], "PASS", ()),
    (golden([WANTS_CALL]), [Turn()], "FAIL", ()),
    (golden([WANTS_CALL]), [Turn(tool_calls=[CALL, CALL])], "FAIL", ()),
    (golden([WANTS_CALL]), [Turn(tool_calls=[CALL], agent="hi")], "FAIL", ()),
    (golden([WANTS_CALL]), [Turn(tool_calls=[CALL], transfers=["b"])], "FAIL", ()),
    (golden([WANTS_CALL]), [Turn(tool_calls=[CALL], payloads=[{}])], "PASS", ()),
    (golden([says("hi")]), [Turn(agent="hi")], "PASS", ()),
    (golden([says("hi")]), [Turn(agent="hello")], None, (ONE_MEANING,)),
    (golden([says("hi"), WANTS_CALL]), [Turn(agent="hello")], "FAIL", ()),
    (
        golden([says("hi")], [says("bye")]),
        [Turn(agent="x"), Turn(agent="y")],
        None,
        ("2 turns need a judge to compare meaning",),
    ),
    (golden([says("hi")], [says("bye")]), [Turn(user="turn 0", agent="hi")], "FAIL", ()),
    (golden([says("hi")]), [Turn(user="turn 0", agent="hi"), Turn(user="more", agent="?")], "FAIL", ()),
    (golden([says("hi")]), [Turn(user="turn 0", agent="hi"), Turn(user="more")], "PASS", ()),
    (golden([says("hi")], similarity_enabled=False), [Turn(agent="hello")], None, (NOTHING_CHECKED,)),
    (golden([]), [Turn()], None, (NOTHING_CHECKED,)),
    (golden(), [Turn(agent="x")], None, ("the golden has no turns",)),
    (
        golden([WANTS_CALL], evaluation_expectations=["polite", "brief"]),
        [Turn(tool_calls=[CALL])],
        None,
        ("2 evaluation expectations need a judge",),
    ),
    (golden([WANTS_CALL], evaluation_expectations=["polite"]), [Turn()], "FAIL", ()),
    (
        golden([WANTS_CALL], thresholds=CaseThresholds(golden_hallucination="ENABLED")),
        [Turn(tool_calls=[CALL])],
        None,
        ("hallucination needs a judge",),
    ),
    (
        golden([WANTS_CALL], thresholds=CaseThresholds(scenario_hallucination="ENABLED")),
        [Turn(tool_calls=[CALL])],
        "PASS",
        (),
    ),
    (
        golden([WANTS_CALL], thresholds=CaseThresholds(extra_tool_calls="ALLOW")),
        [Turn(tool_calls=[CALL, CALL])],
        "PASS",
        (),
    ),
    (
        golden([WANTS_CALL], thresholds=CaseThresholds(unexpected_response="ALLOW")),
        [Turn(tool_calls=[CALL], agent="hi")],
        "PASS",
        (),
    ),
    (
        golden(
            [says("hi"), says("x", "EQUALS"), WANTS_CALL],
            evaluation_expectations=["polite"],
            thresholds=CaseThresholds(golden_hallucination="ENABLED"),
        ),
        [Turn(agent_messages=["hello", "x"], agent="x", tool_calls=[CALL])],
        None,
        (ONE_MEANING, "1 evaluation expectations need a judge", "hallucination needs a judge"),
    ),
    (
        golden([says("hi")], thresholds=CaseThresholds(golden_hallucination="ENABLED")),
        [Turn(agent="hi")],
        "PASS",
        (),
    ),
]


@pytest.mark.parametrize(("case", "turns", "status", "reasons"), GOLDENS)
def test_golden_verdicts(case, turns, status, reasons):
    assert golden_verdict(matched(case, *turns)) == Verdict(status, reasons)


def test_a_low_tool_threshold_does_not_forgive_the_missing_call_itself():
    case = golden([WANTS_CALL], thresholds=CaseThresholds(tool_invocation=0.0))
    assert golden_verdict(matched(case, Turn())).status == "FAIL"


def test_a_turn_may_switch_the_hallucination_gate_on():
    turn = ExpectedTurn(expectations=[WANTS_CALL], thresholds=TurnThresholds(hallucination="ENABLED"))
    case = EvalCase(eval_id="e", dialect="ces", turns=[turn])
    assert golden_verdict(matched(case, Turn(tool_calls=[CALL]))).status is None


def test_a_turn_may_switch_the_hallucination_gate_off():
    turn = ExpectedTurn(expectations=[WANTS_CALL], thresholds=TurnThresholds(hallucination="DISABLED"))
    thresholds = CaseThresholds(golden_hallucination="ENABLED")
    case = EvalCase(eval_id="e", dialect="ces", turns=[turn], thresholds=thresholds)
    assert golden_verdict(matched(case, Turn(tool_calls=[CALL]))).status == "PASS"


def test_a_missing_turn_fails_a_golden():
    case = golden([says("hi")], [Expectation("no_tool_calls")])
    assert golden_verdict(matched(case, Turn(user="turn 0", agent="hi"))) == Verdict("FAIL")


def scenario(*expectations, **fields):
    fields = {"user_goal": "IGNORED", **fields}
    return EvalCase(eval_id="e", kind="scenario", dialect="ces", expectations=list(expectations), **fields)


def directive(kind, value):
    return {"$matchType": kind, "$matchValue": value}


VAGUE_CALL = Expectation("tool_call", tool_call=ToolCall(name="a", args={"x": directive("semantic", "one")}))
SAYS_DONE = says("done", "CONTAINS")
DONE = [Turn(tool_calls=[CALL]), Turn(agent="all done now")]
JUDGED = "expectations need a judge"
GOAL = "the user goal needs a judge"
SCENARIOS = [
    (scenario(WANTS_CALL, SAYS_DONE), DONE, "PASS", ()),
    (scenario(SAYS_DONE, WANTS_CALL), DONE, "PASS", ()),
    (scenario(WANTS_CALL), [Turn(tool_calls=[ToolCall(name="b"), CALL])], "PASS", ()),
    (scenario(WANTS_CALL), [Turn(tool_calls=[ToolCall(name="a", args={"x": 1, "y": 2})])], "PASS", ()),
    (scenario(WANTS_CALL), [Turn(tool_calls=[ToolCall(name="a", args={"x": 2})])], "FAIL", ()),
    (scenario(WANTS_CALL, WANTS_CALL), [Turn(tool_calls=[CALL])], "FAIL", ()),
    (scenario(WANTS_CALL), [Turn(agent="done")], "FAIL", ()),
    (scenario(SAYS_DONE), [Turn(agent="finished")], None, (JUDGED,)),
    (scenario(SAYS_DONE), [Turn(agent="finished"), Turn(user="and?")], None, (JUDGED,)),
    (scenario(SAYS_DONE), [Turn(user="hello?", agent="")], "FAIL", ()),
    (scenario(SAYS_DONE), [], "FAIL", ()),
    (scenario(WANTS_CALL, SAYS_DONE), [Turn(agent="finished")], "FAIL", ()),
    (scenario(SAYS_DONE), [Turn(agent_messages=["all done", "bye"], agent="bye")], "PASS", ()),
    (scenario(SAYS_DONE, user_goal="SATISFIED"), DONE, None, (GOAL,)),
    (scenario(SAYS_DONE, user_goal="REJECTED"), DONE, None, (GOAL,)),
    (scenario(WANTS_CALL, user_goal="SATISFIED"), [Turn()], "FAIL", ()),
    (scenario(VAGUE_CALL), DONE, None, (JUDGED,)),
    (scenario(VAGUE_CALL, SAYS_DONE), [Turn(tool_calls=[CALL])], "FAIL", ()),
    (
        scenario(SAYS_DONE, evaluation_expectations=["polite"]),
        DONE,
        None,
        ("1 evaluation expectations need a judge",),
    ),
    (
        scenario(SAYS_DONE, thresholds=CaseThresholds(scenario_hallucination="ENABLED")),
        DONE,
        None,
        ("hallucination needs a judge",),
    ),
    (scenario(SAYS_DONE, thresholds=CaseThresholds(golden_hallucination="ENABLED")), DONE, "PASS", ()),
]


@pytest.mark.parametrize(("case", "turns", "status", "reasons"), SCENARIOS)
def test_scenario_verdicts(case, turns, status, reasons):
    assert scenario_verdict(matched(case, *turns)) == Verdict(status, reasons)


def test_a_scenario_call_with_a_wrong_parameter_fails_without_a_judge():
    args = {"x": directive("semantic", "one"), "y": 1}
    case = scenario(Expectation("tool_call", tool_call=ToolCall(name="a", args=args)))
    turn = Turn(tool_calls=[ToolCall(name="a", args={"x": "1", "y": 2})])
    assert scenario_verdict(matched(case, turn)).status == "FAIL"


def test_a_scenario_gate_of_two_thirds_is_reached_in_float32():
    case = scenario(
        Expectation("tool_call", tool_call=ToolCall(name="a", args={"x": 1, "y": 1, "z": 1})),
        thresholds=CaseThresholds(parameter=0.6666667),
    )
    turn = Turn(tool_calls=[ToolCall(name="a", args={"x": 1, "y": 1, "z": 2})])
    assert scenario_verdict(matched(case, turn)).status == "PASS"


def verdict_by(case, turns, **criteria):
    built = [CRITERIA[name](threshold=threshold) for name, threshold in criteria.items()]
    return conversation_verdict(score_conversation(matched(case, *turns), built), RULES)


def test_a_ces_case_is_decided_by_ces_rules_whatever_the_criteria_say():
    case = golden([says("hello you", "CONTAINS")])
    turns = [Turn(agent="hello you, and much more besides")]
    assert verdict_by(case, turns, response_match_score=0.99).status == "PASS"
    failing = [Turn(agent="hello")]
    assert verdict_by(case, failing, response_match_score=0.0).status == "FAIL"
    goal = scenario(SAYS_DONE)
    assert verdict_by(goal, DONE, tool_call_count_v1=0.0).status == "PASS"


@pytest.mark.parametrize("dialect", ["adk", "turnwise"])
def test_other_cases_are_decided_by_the_criteria(dialect):
    case = EvalCase(eval_id="e", dialect=dialect, turns=[ExpectedTurn(response="hi", tool_calls=[CALL])])
    turns = [Turn(agent="hi", tool_calls=[CALL, CALL])]
    assert verdict_by(case, turns, response_match_score=1.0).status == "PASS"
    assert verdict_by(case, turns, response_match_score=1.0, tool_trajectory_avg_score=1.0).status == "FAIL"
    assert verdict_by(case, turns, turn_latency=1.0).status is None


def test_a_conversation_without_a_case_is_decided_by_what_applies():
    turns = [Turn(agent="x", latency_ms=2000)]
    assert verdict_by(None, turns, turn_latency=2.0).status == "PASS"
    assert verdict_by(None, turns, turn_latency=1.0).status == "FAIL"
    assert verdict_by(None, turns, response_match_score=1.0) == Verdict(
        None, ("no criterion with a threshold applies",)
    )
