import pytest
from hypothesis import given
from hypothesis import strategies as st

import turnwise
from tests.samples import calls, scores_of
from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import ExpectedTurn, ToolCall, ToolResponse, Turn
from turnwise.transforms.criteria.trajectory import ToolTrajectory
from turnwise.transforms.matching.sample import EXTRA_TURN, MISSING_TURN


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


SPELLINGS = [
    ("in-order", "IN_ORDER"),
    (" Any Order ", "ANY_ORDER"),
    (0, "EXACT"),
    (2, "ANY_ORDER"),
    (1.0, "IN_ORDER"),
    (True, "IN_ORDER"),
]


@pytest.mark.parametrize(("spelling", "wanted"), SPELLINGS)
def test_spellings_of_match_types(spelling, wanted):
    assert ToolTrajectory(match_type=spelling).match_type == wanted


@pytest.mark.parametrize("spelling", ["InOrder", "0", "", None, 3, 1.5, -1, [], float("nan")])
def test_unknown_match_types(spelling):
    with pytest.raises(ValueError, match="is none of EXACT, IN_ORDER, ANY_ORDER, SUPERSET, SUBSET"):
        ToolTrajectory(match_type=spelling)


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


def test_a_tools_own_matcher_beats_the_one_for_all_tools():
    matchers = {"*": {"x": "ignore"}, "book": {"x": "exact"}}
    vague = [ToolCall(name="o", args={"x": directive("semantic", "one")})]
    assert value_of("EXACT", vague, [ToolCall(name="o", args={"x": 1})], argument_matchers=matchers) == 1.0
    assert value_of("EXACT", one_call(x=1), one_call(x=2), argument_matchers=matchers) == 0.0
    other = [ToolCall(name="o", args={"x": 1})], [ToolCall(name="o", args={"x": 2})]
    assert value_of("EXACT", *other, argument_matchers=matchers) == 1.0


CREDITS = [
    ("a b", "a b", 2, 1.0, 1.0, 1.0),
    ("a b", "a", 1, 1.0, 0.5, 2 / 3),
    ("a", "a b c d", 1, 0.25, 1.0, 0.4),
    ("a b", "c", 0, 0.0, 0.0, 0.0),
    ("", "", 0, 1.0, 1.0, 1.0),
    ("", "a", 0, 0.0, 1.0, 0.0),
    ("a", "", 0, 1.0, 0.0, 0.0),
]


@pytest.mark.parametrize(("expected", "actual", "matched", "precision", "recall", "f1"), CREDITS)
def test_partial_credit_stands_in_the_details(expected, actual, matched, precision, recall, f1):
    result = result_of(ToolTrajectory(), [calls(expected)], [calls(actual)])
    details = result.turns[0][1].details
    assert details["matched"] == matched
    assert (details["expected"], details["actual"]) == (len(expected.split()), len(actual.split()))
    assert (details["precision"], details["recall"]) == (precision, recall)
    assert details["f1"] == pytest.approx(f1)


def test_a_call_that_fits_anything_leaves_the_particular_one_its_partner():
    anything = {"$matchType": "ignore"}
    expected = [ToolCall(name="get", args={"x": anything}), ToolCall(name="get", args={"x": 1})]
    actual = [ToolCall(name="get", args={"x": 1}), ToolCall(name="get", args={"x": 2})]
    assert value_of("ANY_ORDER", expected, actual) == 1.0
    assert value_of("ANY_ORDER", expected, list(reversed(actual))) == 1.0
    assert value_of("ANY_ORDER", expected, actual[:1]) == 0.0
    near = {"get": {"x": {"match": "number", "tolerance": 1}}}
    expected = [ToolCall(name="get", args={"x": 1}), ToolCall(name="get", args={"x": 0})]
    actual = [ToolCall(name="get", args={"x": 1}), ToolCall(name="get", args={"x": 2})]
    result = result_of(ToolTrajectory(match_type="ANY_ORDER", argument_matchers=near), [expected], [actual])
    assert result.turns[0][1].value == 1.0
    assert result.turns[0][1].details["matched"] == 2


@pytest.mark.parametrize(
    ("made", "actions", "value", "missing"),
    [
        (["b", "c a:1"], "a:1 b", 1.0, []),
        (["b", "c"], "a:1 b", 0.0, ["a"]),
        # No actions at all may be wanted of a conversation.
        (["a"], "", 0.0, []),
        ([""], "", 1.0, []),
    ],
)
def test_actions_of_the_whole_conversation(made, actions, value, missing):
    criterion = ToolTrajectory(match_type="ANY_ORDER" if actions else "EXACT")
    result = result_of(criterion, [], list(map(calls, made)), actions=calls(actions))
    overall, wanted = result.overall, len(actions.split())
    assert (result.turns, overall.value, overall.outcome) == ([], value, "PASS" if value else "FAIL")
    assert overall.details["matched"] == wanted - len(missing)
    assert overall.details.get("missing", []) == missing
    assert result_of(criterion, [], list(map(calls, made))).overall is None


TURN_BY_TURN = [
    # calls expected in each turn (None: not stated) and made, (turn, value, label), value of the whole
    ([None, "a"], ["x", "a"], [(1, 1.0, None)], 1.0),
    (["a", None], ["a"], [(0, 1.0, None)], 1.0),
    (["a", "b"], ["a"], [(0, 1.0, None), (1, 0.0, MISSING_TURN)], 0.5),
    (["a"], ["a", ""], [(0, 1.0, None), (1, 0.0, EXTRA_TURN)], 0.5),
]


@pytest.mark.parametrize(("expected", "made", "turns", "whole"), TURN_BY_TURN)
def test_missing_and_extra_turns_count_as_zero_and_silent_ones_not_at_all(expected, made, turns, whole):
    expected = [None if text is None else calls(text) for text in expected]
    result = result_of(ToolTrajectory(), expected, list(map(calls, made)))
    assert [(turn, score.value, score.label) for turn, score in result.turns] == turns
    assert (result.overall.value, result.overall.outcome) == (whole, "PASS" if whole == 1.0 else "FAIL")


VAGUE = {"x": {"$matchType": "semantic", "$matchValue": "one"}}
VAGUE_COMPARED = [
    # arguments of one expected call, the calls made, match type, value
    (VAGUE, [{"x": "1"}], "EXACT", None),
    (VAGUE, [{"x": "one"}], "EXACT", 1.0),
    (VAGUE, [], "EXACT", 0.0),
    (VAGUE, [{}], "EXACT", 0.0),
    (VAGUE, [{"x": "1"}, {"x": "1"}], "EXACT", 0.0),
    (VAGUE, [{"x": "1"}, {"x": "1"}], "IN_ORDER", None),
    (VAGUE, [{"x": "1"}, {"x": "one"}], "ANY_ORDER", 1.0),
    (VAGUE, [{"x": "1"}], "SUBSET", None),
    (VAGUE, [], "SUBSET", 1.0),
    ({**VAGUE, "y": 1}, [{"x": "1", "y": 2}], "EXACT", 0.0),
    ({**VAGUE, "y": 1}, [{"x": "1", "y": 1}], "EXACT", None),
    ({**VAGUE, "y": 1}, [{"x": "1", "y": 1, "z": 1}], "EXACT", 0.0),
]


@pytest.mark.parametrize(("expected", "made", "match_type", "wanted"), VAGUE_COMPARED)
def test_a_deciding_comparison_of_meaning_leaves_a_turn_without_a_score(expected, made, match_type, wanted):
    wanted_calls, calls_made = ([ToolCall(name="a", args=a) for a in args] for args in ([expected], made))
    result = result_of(ToolTrajectory(match_type=match_type), [wanted_calls], [calls_made])
    score = result.turns[0][1]
    assert score.value == wanted
    assert bool(score.reason) == (wanted is None)
    assert score.outcome == {1.0: "PASS", 0.0: "FAIL", None: None}[wanted]


@pytest.mark.parametrize(("match_type", "wanted"), [("ANY_ORDER", 0.0), ("SUBSET", 0.0), ("EXACT", 0.0)])
def test_thousands_of_calls_of_one_tool_are_compared(match_type, wanted):
    expected = [ToolCall(name="get", args={"page": i, "of": [3000]}) for i in range(3000)]
    made = [ToolCall(name="get", args={"page": i + 1, "of": [3000]}) for i in reversed(range(3000))]
    score = result_of(ToolTrajectory(match_type=match_type), [expected], [made]).turns[0][1]
    assert score.value == wanted
    assert (score.details["matched"], score.details["expected"], score.details["actual"]) == (
        2999,
        3000,
        3000,
    )
    assert (score.details["missing"], score.details["extra"]) == (["get"], ["get"])
    shuffled = result_of(ToolTrajectory(match_type="ANY_ORDER"), [expected], [list(reversed(expected))])
    assert shuffled.turns[0][1].value == 1.0


@pytest.mark.parametrize(
    ("expected", "actual", "why"),
    [
        (1, 1.5, "Missing: a(x: 1). Not expected: a(x: 1.5)."),
        (1, "1", 'Missing: a({"x": 1}). Not expected: a({"x": "1"}).'),
        (None, "nothing", 'Missing: a({"x": null}). Not expected: a({"x": "nothing"}).'),
        ("x", "x ", 'Missing: a({"x": "x"}). Not expected: a({"x": "x "}).'),
        ("\u00e9", "e\u0301", 'Missing: a({"x": "\\u00e9"}). Not expected: a({"x": "e\\u0301"}).'),
    ],
)
def test_calls_that_look_alike_are_told_apart(expected, actual, why):
    made = [[ToolCall(name="a", args={"x": value})] for value in (expected, actual)]
    ((_, score),) = result_of(ToolTrajectory(match_type="EXACT"), made[:1], made[1:]).turns
    assert score.explanation == why


def test_a_missing_call_that_was_made_once_is_named_plainly():
    ((_, score),) = result_of(
        ToolTrajectory(match_type="ANY_ORDER"), [calls("a:1 a:1")], [calls("a:1")]
    ).turns
    assert score.explanation == "Missing: a(x: 1). Made: a(x: 1)."


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


def retried(expected, *made, dialect="turnwise", **fields):
    """Scores calls of `a`, which are `+` (it succeeded) or `-` (it failed), as `+- -` for two turns."""
    turns = [
        Turn(
            turn_index=i,
            user=f"turn number {i}",
            tool_calls=[ToolCall(name="a", id=f"{i}.{n}") for n in range(len(marks))],
            tool_responses=[
                ToolResponse(
                    "a", f"{i}.{n}", **({"response": {"id": 7}} if mark == "+" else {"error": "busy"})
                )
                for n, mark in enumerate(marks)
            ],
        )
        for i, marks in enumerate(made)
    ]
    wanted = [
        ExpectedTurn(user=turn.user, tool_calls=calls("a " * n))
        for turn, n in zip(turns, expected, strict=True)
    ]
    case = EvalCase(eval_id="e", turns=wanted, dialect=dialect)
    scores = [score for _, score in scores_of(ToolTrajectory(**fields), case, *turns).turns]
    return [score.value for score in scores], [(score.details or {}).get("retried") for score in scores]


@pytest.mark.parametrize(
    ("expected", "made", "values", "left_out"),
    [
        ([1], ["-+"], [1.0], [["a"]]),
        ([1], ["+-"], [1.0], [["a"]]),
        ([1, 0], ["+", "-"], [1.0, 1.0], [None, ["a"]]),
        ([0, 1], ["-", "+"], [0.0, 1.0], [None, None]),
        ([1], ["--"], [0.0], [None]),
        ([1], ["++"], [0.0], [None]),
    ],
)
def test_a_failed_call_does_not_count_if_it_succeeded_in_this_or_an_earlier_turn(
    expected, made, values, left_out
):
    assert retried(expected, *made) == (values, left_out)


@pytest.mark.parametrize("options", [{"adk_compat": True}, {"dialect": "adk"}], ids=str)
def test_a_retry_counts_as_a_call_where_adk_counts_it(options):
    assert retried([1], "-+", **options) == ([0.0], [None])
