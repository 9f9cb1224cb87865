import pytest
from hypothesis import given
from hypothesis import strategies as st

import turnwise
from tests.samples import calls, scores_of
from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import ExpectedTurn, ToolCall, Turn
from turnwise.transforms.criteria.trajectory import ToolTrajectory


def result_of(criterion, golden, recorded, actions=None):
    """Scores turns given as lists of calls; `golden` None: the turn states nothing."""
    case = EvalCase(
        eval_id="e",
        turns=[ExpectedTurn(user=f"turn number {i}", tool_calls=want) for i, want in enumerate(golden)],
        actions=actions,
    )
    turns = [Turn(turn_index=i, user=f"turn number {i}", tool_calls=made) for i, made in enumerate(recorded)]
    return scores_of(criterion, case, *turns)


def value_of(match_type, expected, actual, **fields):
    result = result_of(ToolTrajectory(match_type=match_type, **fields), [expected], [actual])
    (score,) = [score for _, score in result.turns]
    assert score.outcome == ("PASS" if score.value == 1.0 else "FAIL")
    return score.value


TYPES = ["EXACT", "IN_ORDER", "ANY_ORDER", "SUPERSET", "SUBSET"]
COMPARED = [
    # expected, actual, then 1 or 0 for each of TYPES
    ("", "", "11111"),
    ("", "a", "01110"),
    ("a", "", "00001"),
    ("a b", "a b", "11111"),
    ("a b", "b a", "00111"),
    ("a b", "a c b", "01110"),
    ("a b", "b c a", "00110"),
    ("a b", "a", "00001"),
    ("a b", "c", "00000"),
    ("a a", "a", "00001"),
    ("a", "a a", "01110"),
    ("a b a", "a a b", "00111"),
    ("a:1", "a:2", "00000"),
    ("a:1 a:2", "a:2 a:1", "00111"),
    ("a:1 a:2", "a:2 a:1 a:2", "01110"),
    ("a:1 b", "a:1 b:2", "00000"),
]


@pytest.mark.parametrize(("expected", "actual", "wanted"), COMPARED)
def test_match_types(expected, actual, wanted):
    found = [value_of(kind, calls(expected), calls(actual)) for kind in TYPES]
    assert found == [float(digit) for digit in wanted]


def one_call(**args):
    return [ToolCall(name="book", args=args)]


NAMED, GIVEN = [ToolCall("f"), ToolCall("g", {})], [ToolCall("f", {}), ToolCall("g", {})]
IGNORING = one_call(x={"$matchType": "ignore"})
OPTIONS = [
    (calls("a:1 b:2"), calls("a:3 b"), {"ignore_args": True}, 1.0),
    (calls("a:1 b:2"), calls("a:3 c"), {"ignore_args": True}, 0.0),
    (NAMED, GIVEN, {}, 1.0),
    (NAMED, GIVEN, {"adk_compat": True}, 0.0),
    (NAMED, GIVEN, {"adk_compat": True, "ignore_args": True}, 1.0),
    (IGNORING, one_call(x=1), {}, 1.0),
    (IGNORING, one_call(x=1), {"adk_compat": True}, 0.0),
]


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize(("expected", "made", "fields", "value"), OPTIONS)
def test_names_alone_are_compared_or_as_adk_does(kind, expected, made, fields, value):
    assert value_of(kind, expected, made, **fields) == value


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


def directive(kind, value=None):
    return {"$matchType": kind, "$matchValue": value}


MATCHERS = [
    ({"note": "ignore"}, {"x": 1, "note": "a"}, {"x": 1, "note": "b"}, 1.0),
    ({"note": "ignore"}, {"x": 1}, {"x": 1, "note": "b"}, 1.0),
    ({"note": "ignore"}, {"x": 1, "note": "a"}, {"x": 2, "note": "a"}, 0.0),
    ({"q": "contains"}, {"q": "Rome"}, {"q": "hotels in Rome"}, 1.0),
    ({"q": {"match": "regexp", "pattern": "Rome$"}}, {"q": "any"}, {"q": "hotels in Rome"}, 1.0),
    ({"q": {"match": "regexp", "pattern": "Rome$"}}, {"q": "any"}, {"q": "Rome hotels"}, 0.0),
    ({"q": "contains"}, {"q": 1}, {"q": [1, 2]}, 1.0),
    ({"q": {"match": "regexp", "pattern": r"^\d{4}$"}}, {"q": "2026"}, {"q": "26"}, 0.0),
    ({"q": "exact"}, {"q": "1"}, {"q": 1}, 0.0),
    ({"q": "exact", "note": "ignore"}, {"q": 1, "note": "a"}, {"q": 1.0, "note": "b"}, 1.0),
    ({"q": "ignore", "p": "number"}, {"p": directive("semantic", "x"), "q": 1}, {"p": "y", "q": 2}, 0.0),
    ({"p": "number"}, {"p": 10}, {}, 0.0),
    ({"p": "number", "note": "ignore"}, {"p": "a", "note": "a"}, {"p": "a", "note": "b"}, 1.0),
    ({"p": {"match": "number", "tolerance": 5}}, {"p": True}, {"p": 2}, 0.0),
    ({"p": {"match": "number", "tolerance": 0.5}}, {"p": 10}, {"p": 10.5}, 1.0),
    ({"p": {"match": "number", "tolerance": 0.5}}, {"p": 10}, {"p": 10.6}, 0.0),
    ({"p": {"match": "number", "relative_tolerance": 0.1}}, {"p": 100}, {"p": 109}, 1.0),
    ({"p": {"match": "number", "relative_tolerance": 0.01}}, {"p": 100}, {"p": 109}, 0.0),
    ({"note": "ignore"}, {"x": 1}, {"x": 1, "other": "b"}, 0.0),
    ({"note": "ignore"}, {"x": directive("ignore"), "note": "a"}, {"note": "b"}, 1.0),
    ({"note": "ignore"}, {"x": directive("contains", "x")}, {"x": "ab"}, 0.0),
    ({"p": {"match": "number", "tolerance": 0.01}}, {"p": 9.99}, {"p": "9.985"}, 1.0),
    ({"p": {"match": "number", "tolerance": 0.01}}, {"p": 9.99}, {"p": 9.0}, 0.0),
]


@pytest.mark.parametrize("tool", ["book", "*"])
@pytest.mark.parametrize(("matchers", "expected", "actual", "wanted"), MATCHERS)
def test_argument_matchers(tool, matchers, expected, actual, wanted):
    for name, value in ((tool, wanted), ("another_tool", 0.0)):
        found = value_of(
            "EXACT", one_call(**expected), one_call(**actual), argument_matchers={name: matchers}
        )
        assert found == value


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


ROOTS = [{"name": "order_cake", "args": {"size": 8}}, {"name": "music_agent", "args": {"request": "jazz"}}]
INNER = {"name": "make_list", "args": {"genre": "jazz"}}
TIMES = {"order_cake": (1, 3), "music_agent": (4, 7), "make_list": (5, 6), "delete_list": (5, 6)}


def timed(name):
    start, end = (f"2026-01-01T00:00:0{second}Z" for second in TIMES[name])
    return {"type": "TOOL", "name": name, "start_time": start, "end_time": end}


@pytest.mark.parametrize(
    ("inner", "expected", "wanted"),
    [
        ({**INNER, "agent": "music", "inside": "music_agent"}, ROOTS, ("PASS", "PASS")),
        (INNER, ROOTS, ("PASS", "PASS")),  # known by its time
        (INNER, [*ROOTS, INNER], ("PASS", "PASS")),  # the case states it
        (INNER, ROOTS[:1], ("FAIL", None)),
        ({**INNER, "name": "delete_list"}, ROOTS, ("PASS", "FAIL")),
        ({**INNER, "agent": "root"}, ROOTS, ("FAIL", "FAIL")),
    ],
)
def test_calls_inside_an_agent_that_is_used_as_a_tool(inner, expected, wanted):
    turn = {"user": "Plan a party", "agent": "Done.", "tool_calls": [*ROOTS, inner]}
    turn["spans"] = [timed(call["name"]) for call in turn["tool_calls"]]
    for stated in ({"turns": [{**turn, "expected": {"tool_calls": expected}}]},
                   {"turns": [turn], "expected": {"actions": expected}}):  # fmt: skip
        criteria = {"tool_trajectory_avg_score": 1.0, "tool_effects_v1": 1.0}
        result = turnwise.evaluate({"conversation_id": "c", **stated}, criteria=criteria)
        whole = {row["criterion"]: row["outcome"] for row in result.scores if row["turn_index"] is None}
        assert tuple(whole[name] for name in criteria) == wanted
