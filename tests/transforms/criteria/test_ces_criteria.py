import pytest

from tests.samples import scores_of
from turnwise.schemas.case import CaseThresholds, EvalCase
from turnwise.schemas.conversation import (
    Expectation,
    ExpectedTurn,
    ToolCall,
    ToolResponse,
    Turn,
    TurnThresholds,
)
from turnwise.transforms.criteria.base import CRITERIA
from turnwise.transforms.matching.sample import EXTRA_TURN, MISSING_TURN


def result_of(name, case, *turns, **fields):
    return scores_of(CRITERIA[name](**fields), case, *turns)


def call(name, **args):
    return ToolCall(name=name, args=args)


def wants(name, **args):
    return Expectation("tool_call", tool_call=call(name, **args))


def golden(*turns, dialect="ces", gate=1.0, own=None, **fields):
    expected = [
        ExpectedTurn(
            user=f"turn {i}",
            expectations=list(e),
            tool_calls=[x.tool_call for x in e if x.tool_call],
            thresholds=TurnThresholds(tool_invocation=own),
        )
        for i, e in enumerate(turns)
    ]
    thresholds = CaseThresholds(tool_invocation=gate)
    return EvalCase(eval_id="e", dialect=dialect, turns=expected, thresholds=thresholds, **fields)


TWO_TOOLS = golden([wants("a", x=1), wants("b")])
TOOL_SCORES = [
    (TWO_TOOLS, [call("a", x=1), call("b")], {}, 1.0, "PASS", 1.0),
    (TWO_TOOLS, [call("b"), call("a", x=1)], {}, 1.0, "PASS", 1.0),
    (TWO_TOOLS, [call("a", x=2), call("b")], {}, 1.0, "PASS", 1.0),
    (TWO_TOOLS, [call("a", x=1)], {}, 0.5, "FAIL", 1.0),
    (TWO_TOOLS, [], {}, 0.0, "FAIL", 1.0),
    (golden([wants("a"), wants("b")], gate=0.5), [call("a")], {}, 0.5, "PASS", 0.5),
    (golden([wants("a"), wants("b")], own=0.5), [call("a")], {}, 0.5, "PASS", 0.5),
    (TWO_TOOLS, [call("a", x=1)], {"threshold": 0.4}, 0.5, "PASS", 0.4),
    (golden([wants("a")], gate=0.0), [], {"threshold": 0.4}, 0.0, "FAIL", 0.4),
    (golden([wants("a")], dialect="adk"), [], {}, 0.0, None, None),
    (golden([wants("a")], dialect="adk"), [], {"threshold": 1.0}, 0.0, "FAIL", 1.0),
    (golden([wants("a")], tool_correctness_enabled=False), [], {}, 0.0, None, 1.0),
]


@pytest.mark.parametrize(("case", "calls", "fields", "value", "outcome", "threshold"), TOOL_SCORES)
def test_tool_invocation_score(case, calls, fields, value, outcome, threshold):
    result = result_of("tool_invocation_score", case, Turn(tool_calls=calls), **fields)
    ((_, score),) = result.turns
    assert (score.value, score.outcome, score.threshold) == (value, outcome, threshold)


def test_details_of_a_turns_tools():
    case = golden([wants("a", x=1, y=2), wants("b"), wants("c")])
    turn = Turn(tool_calls=[call("b"), call("a", x=1, y=3), call("z")])
    ((_, score),) = result_of("tool_invocation_score", case, turn).turns
    assert score.value == pytest.approx(2 / 3)
    assert score.details == {
        "ordered": 1 / 3,
        "calls": [
            {"tool": "a", "called": True, "parameters": 0.5, "wrong": ["y"], "outcome": "FAIL"},
            {"tool": "b", "called": True, "parameters": 1.0, "wrong": [], "outcome": "PASS"},
            {"tool": "c", "called": False, "parameters": 0.0, "wrong": [], "outcome": "FAIL"},
        ],
        "extra": ["z"],
    }


def test_tools_where_none_or_no_turn_is_expected():
    silent = golden([Expectation("no_tool_calls")], [wants("a")])
    result = result_of("tool_invocation_score", silent, Turn(tool_calls=[call("x")]), Turn())
    assert [(turn, score.value) for turn, score in result.turns] == [(1, 0.0)]
    assert result_of("tool_invocation_score", None, Turn(tool_calls=[call("x")])).turns == []
    missing = result_of("tool_invocation_score", golden([wants("a")], [wants("b")]), Turn(user="turn 1"))
    assert [(turn, score.value, score.label) for turn, score in missing.turns] == [
        (0, 0.0, MISSING_TURN),
        (1, 0.0, None),
    ]
    extra = result_of(
        "tool_invocation_score",
        golden([wants("a")]),
        Turn(user="turn 0", tool_calls=[call("a")]),
        Turn(user="x"),
    )
    assert [(turn, score.value) for turn, score in extra.turns] == [(0, 1.0)]
    assert EXTRA_TURN not in [score.label for _, score in extra.turns]


def test_resource_names_are_shown():
    tool = ToolCall(name="a", resource="p/tools/a")
    case = golden([Expectation("tool_call", tool_call=tool)])
    extra = ToolCall(name="b", resource="p/tools/b")
    ((_, score),) = result_of("tool_invocation_score", case, Turn(tool_calls=[tool, extra])).turns
    assert (score.details["calls"][0]["tool"], score.details["extra"]) == ("p/tools/a", ["p/tools/b"])


def says(text, comparison="EQUALS", skip=False):
    return Expectation("agent_response", text=text, comparison=comparison, skip=skip)


MEANING = "SEMANTIC_SIMILARITY"
VAGUE = {"$matchType": "semantic", "$matchValue": "one"}
MET = [
    ([says("hi")], Turn(agent="hi"), 1.0, "PASS"),
    ([says("hi")], Turn(agent="ho"), 0.0, "FAIL"),
    (
        [says("h", "CONTAINS"), Expectation("no_tool_calls")],
        Turn(agent="ho", tool_calls=[call("a")]),
        0.5,
        "FAIL",
    ),
    ([Expectation("agent_transfer", target_agent="b")], Turn(transfers=["b"]), 1.0, "PASS"),
    ([Expectation("updated_variables", variables={"x": 1})], Turn(variables={"x": 1}), 1.0, "PASS"),
    ([Expectation("updated_variables", variables={"x": 1})], Turn(), 0.0, "FAIL"),
    ([Expectation("updated_variables", variables={"x": VAGUE})], Turn(variables={"x": "1"}), None, None),
    ([Expectation("tool_response", tool_response=ToolResponse(name="a", response={}))], Turn(), 0.0, "FAIL"),
    ([says("hi"), wants("a"), Expectation("mock_tool_response")], Turn(agent="hi"), 1.0, "PASS"),
    ([says("hi"), says("x", skip=True), says("y", MEANING)], Turn(agent="hi"), 1.0, "PASS"),
]


@pytest.mark.parametrize(("expectations", "turn", "value", "outcome"), MET)
def test_expectations_met(expectations, turn, value, outcome):
    result = result_of("expectations_met", golden(expectations), turn)
    ((_, score),) = result.turns
    assert (score.value, score.outcome) == (value, outcome)
    assert bool(score.reason) == (value is None)


NOTHING_TO_CHECK = [
    [],
    [wants("a")],
    [says("hi", MEANING)],
    [says("hi", skip=True)],
    [Expectation("mock_tool_response")],
]


@pytest.mark.parametrize("expectations", NOTHING_TO_CHECK)
def test_turns_without_anything_to_check(expectations):
    result = result_of("expectations_met", golden(expectations), Turn(agent="x", tool_calls=[call("z")]))
    assert (result.turns, result.overall) == ([], None)


UPDATES = [
    # turns, whether the agent updated x to 1 in the last one
    ([Turn(variables={"x": 1})], True),
    ([Turn(variables={"x": 2})], False),
    ([Turn()], False),
    ([Turn(variables={"x": 1}), Turn()], False),
    ([Turn(variables={"x": 2}), Turn(variables={"x": 1})], True),
    ([Turn(variables={"x": 1}), Turn(variables={"x": 1})], True),
    ([Turn(variables={"x": 1}, given_variables=["x"])], False),
    ([Turn(variables={"x": 1, "y": 1}, given_variables=["y"])], True),
]


@pytest.mark.parametrize(("turns", "is_met"), UPDATES)
def test_a_variable_is_updated_by_the_agent_in_its_turn(turns, is_met):
    wanted = [Expectation("updated_variables", variables={"x": 1})]
    result = result_of("expectations_met", golden(*([] for _ in turns[1:]), wanted), *turns)
    assert [score.value for _, score in result.turns] == [float(is_met)]


def test_a_missing_turn_meets_nothing():
    result = result_of(
        "expectations_met", golden([says("hi")], [says("bye")]), Turn(user="turn 1", agent="bye")
    )
    assert [(turn, score.value, score.label) for turn, score in result.turns] == [
        (0, 0.0, MISSING_TURN),
        (1, 1.0, None),
    ]


def scenario(*expectations):
    return EvalCase(eval_id="s", kind="scenario", dialect="ces", expectations=list(expectations))


SCENARIOS = [
    ([wants("a", x=1), says("done", "CONTAINS")], 1.0, "PASS"),
    ([wants("b"), says("done", "CONTAINS")], 0.5, "FAIL"),
    ([wants("a", x=1), says("lost", "CONTAINS")], None, None),
    ([wants("b")], 0.0, "FAIL"),
    ([wants("a", x=VAGUE), says("done", "CONTAINS")], None, None),
]


@pytest.mark.parametrize(("expectations", "value", "outcome"), SCENARIOS)
def test_expectations_of_a_scenario_are_met_anywhere(expectations, value, outcome):
    turns = [Turn(agent="all done"), Turn(tool_calls=[call("a", x=1)])]
    result = result_of("expectations_met", scenario(*expectations), *turns)
    assert result.turns == []
    assert (result.overall.value, result.overall.outcome) == (value, outcome)
    assert len(result.overall.details["checks"]) == len(expectations)


def test_a_silent_agent_meets_no_expected_response():
    case = scenario(wants("a", x=1), says("done", "CONTAINS"))
    result = result_of("expectations_met", case, Turn(tool_calls=[call("a", x=1)]))
    assert (result.overall.value, result.overall.outcome) == (0.5, "FAIL")


def test_a_scenario_without_expectations_has_no_score():
    assert result_of("expectations_met", scenario(), Turn(agent="x")).overall is None
