import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import turnwise
from tests.samples import calls, scores_of
from tests.tables import rows_test
from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import ExpectedTurn, ToolCall, Turn
from turnwise.transforms.criteria.trajectory import ToolTrajectory

test_rows = rows_test(globals(), "trajectory")


def result_of(criterion, golden, recorded):
    """Scores turns given as lists of calls; `golden` None: the turn states nothing."""
    case = EvalCase(
        eval_id="e",
        turns=[ExpectedTurn(user=f"turn number {i}", tool_calls=want) for i, want in enumerate(golden)],
    )
    turns = [Turn(turn_index=i, user=f"turn number {i}", tool_calls=made) for i, made in enumerate(recorded)]
    return scores_of(criterion, case, *turns)


def value_of(match_type, expected, actual, **fields):
    result = result_of(ToolTrajectory(match_type=match_type, **fields), [expected], [actual])
    (score,) = [score for _, score in result.turns]
    assert score.outcome == ("PASS" if score.value == 1.0 else "FAIL")
    return score.value


TYPES = ["EXACT", "IN_ORDER", "ANY_ORDER", "SUPERSET", "SUBSET"]


def match_types(expected, actual, wanted):
    """`wanted` is 1 or 0 for each of TYPES."""
    found = [value_of(kind, calls(expected), calls(actual)) for kind in TYPES]
    assert found == [float(digit) for digit in wanted]


def one_call(**args):
    return [ToolCall(name="book", args=args)]


def names_alone(expected, made, fields, value):
    """Names alone are compared, or as ADK does."""
    sides = [msgspec.convert(side, list[ToolCall]) for side in (expected, made)]
    for kind in TYPES:
        assert value_of(kind, *sides, **fields) == value


NO_ARGUMENTS = [{}, {"args": None}, {"args": {}}]


@pytest.mark.parametrize("made", NO_ARGUMENTS)
@pytest.mark.parametrize("wanted", NO_ARGUMENTS)
@pytest.mark.parametrize("by_turn", [True, False])
def test_no_arguments_null_and_empty_ones_are_one_thing(wanted, made, by_turn):
    failed = {"name": "set_alarm", "response": {"error": "busy"}}
    turn = {
        "user": "x",
        "agent": "y",
        "tool_calls": [{"name": "set_alarm", **made}, {"name": "set_alarm", **wanted}],
        "tool_responses": [failed, {"name": "set_alarm", "response": {"ok": 1}}],
    }
    expected = [{"name": "set_alarm", **wanted}]
    of = {"turns": [{**turn, "expected": {"tool_calls": expected}}]}
    if not by_turn:
        of = {"turns": [turn], "expected": {"actions": expected}}
    criteria = {"tool_trajectory_avg_score": 1.0, "tool_effects_v1": 1.0}
    found = turnwise.evaluate({"conversation_id": "c", **of}, criteria=criteria)
    assert found.status == "PASS"
    extra = {**turn, "tool_calls": [{"name": "set_alarm", "args": {"at": 7}}], "tool_responses": []}
    of["turns"] = [{**of["turns"][0], **extra}]
    found = turnwise.evaluate({"conversation_id": "c", **of}, criteria=criteria)
    assert [row["outcome"] for row in found.scores if row["turn_index"] is None] == ["FAIL", "FAIL"]


CALL_LISTS = st.lists(
    st.sampled_from(["a:1", "a:2", "b", "c:1"]).map(lambda word: calls(word)[0]), max_size=5
)


@given(CALL_LISTS, CALL_LISTS)
def test_match_types_follow_from_each_other(expected, actual):
    exact, in_order, any_order, superset, subset = (value_of(kind, expected, actual) for kind in TYPES)
    assert exact <= in_order <= any_order
    assert superset == any_order
    assert subset == value_of("SUPERSET", actual, expected)
    same_calls = sorted(map(str, expected)) == sorted(map(str, actual))
    assert (superset == subset == 1.0) == same_calls
    assert exact == float([(c.name, c.args) for c in expected] == [(c.name, c.args) for c in actual])


def matchers(given, expected, actual, wanted):
    for tool in ("book", "*"):
        for name, value in ((tool, wanted), ("another_tool", 0.0)):
            fields = {"argument_matchers": {name: given}}
            assert value_of("EXACT", one_call(**expected), one_call(**actual), **fields) == value


@pytest.mark.parametrize("match_type", ["ANY_ORDER", "SUBSET", "EXACT"])
def test_thousands_of_calls_of_one_tool_are_compared(match_type):
    expected = [ToolCall(name="get", args={"page": i, "of": [3000]}) for i in range(3000)]
    made = [ToolCall(name="get", args={"page": i + 1, "of": [3000]}) for i in reversed(range(3000))]
    score = result_of(ToolTrajectory(match_type=match_type), [expected], [made]).turns[0][1]
    counts = [score.details[name] for name in ("matched", "expected", "actual")]
    assert (score.value, counts) == (0.0, [2999, 3000, 3000])
    assert (score.details["missing"], score.details["extra"]) == (["get"], ["get"])
    shuffled = result_of(ToolTrajectory(match_type="ANY_ORDER"), [expected], [list(reversed(expected))])
    assert shuffled.turns[0][1].value == 1.0


TIMES = {"order_cake": (1, 3), "music_agent": (4, 7), "make_list": (5, 6), "delete_list": (5, 6)}


def timed(name):
    start, end = (f"2026-01-01T00:00:0{second}Z" for second in TIMES[name])
    return {"type": "TOOL", "name": name, "start_time": start, "end_time": end}


def inside(inner, expected, wanted):
    """Calls inside an agent that is used as a tool."""
    roots = [
        {"name": "order_cake", "args": {"size": 8}},
        {"name": "music_agent", "args": {"request": "jazz"}},
    ]
    turn = {"user": "Plan a party", "agent": "Done.", "tool_calls": [*roots, inner]}
    turn["spans"] = [timed(call["name"]) for call in turn["tool_calls"]]
    for stated in (
        {"turns": [{**turn, "expected": {"tool_calls": expected}}]},
        {"turns": [turn], "expected": {"actions": expected}},
    ):
        criteria = {"tool_trajectory_avg_score": 1.0, "tool_effects_v1": 1.0}
        result = turnwise.evaluate({"conversation_id": "c", **stated}, criteria=criteria)
        whole = {row["criterion"]: row["outcome"] for row in result.scores if row["turn_index"] is None}
        assert [whole[name] for name in criteria] == wanted
