import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.schemas.conversation import ToolCall
from turnwise.transforms.matching.alignment import best_assignment
from turnwise.transforms.matching.calls import (
    ordered_share,
    pair_calls,
    parameter_score,
    same_tool,
    same_value,
)


def calls(text):
    """`a:1 b` -> a call of a with {"x": 1}, a call of b."""
    made = []
    for word in text.split():
        name, _, value = word.partition(":")
        made.append(ToolCall(name=name, args={"x": int(value)} if value else {}))
    return made


PAIRS = [
    ("a b", "a b", [0, 1]),
    ("a:1 a:2", "a:2 a:1", [1, 0]),
    ("a:1", "b:1", [None]),
    ("", "a", []),
    ("a:5 a:6", "a:7 a:8", [0, 1]),
]


@pytest.mark.parametrize(("expected", "actual", "wanted"), PAIRS)
def test_calls_are_paired_by_tool_then_parameters_then_order(expected, actual, wanted):
    assert pair_calls(calls(expected), calls(actual)) == wanted


MEANT = {"$matchType": "semantic", "$originalValue": "Rome"}
UNDECIDED = [
    # arguments of one expected call, of two actual ones, which of them is its partner
    (
        {"a": MEANT, "b": 1},
        {"a": "Oslo", "b": 2},
        {"a": "Rome", "b": 2},
        1,
    ),  # equal counts more than undecided
    ({"a": MEANT, "b": 1}, {"b": 2}, {"a": "Oslo", "b": 2}, 1),  # undecided counts more than missing
    ({"a": MEANT, "b": MEANT, "c": 1}, {"a": "Oslo", "b": "Oslo"}, {"c": 1}, 0),  # two undecided count as one
    ({"a": MEANT, "b": MEANT, "c": 1}, {"c": 1}, {"a": "Oslo", "b": "Oslo"}, 0),
]


@pytest.mark.parametrize(("wanted", "first", "second", "partner"), UNDECIDED)
def test_an_undecided_parameter_counts_as_half_a_match(wanted, first, second, partner):
    actual = [ToolCall(name="go", args=first), ToolCall(name="go", args=second)]
    assert pair_calls([ToolCall(name="go", args=wanted)], actual) == [partner]


def test_calls_of_one_resource_are_paired_whatever_their_names():
    expected = [ToolCall(name="book", resource="p/tools/1", args={"a": 1})]
    actual = [ToolCall(name="Book a ride", resource="p/tools/1", args={"a": 2})]
    assert pair_calls(expected, actual) == [0]


def test_true_is_not_one_when_calls_are_paired():
    one, true = ToolCall(name="pay", args={"on": 1}), ToolCall(name="pay", args={"on": True})
    assert pair_calls([one, true], [true, one]) == [1, 0]


def paged(pages):
    return [ToolCall(name="get", args={"page": page, "size": 10}) for page in pages]


def test_a_thousand_calls_of_one_tool_are_paired_by_equality():
    assert pair_calls(paged(range(1000)), paged(reversed(range(1000)))) == list(reversed(range(1000)))


def test_what_is_not_equal_among_a_thousand_is_paired_in_order():
    expected, actual = paged(range(1000)), paged([*range(2000, 2500), *range(500)])
    assert pair_calls(expected, actual) == [*range(500, 1000), *range(500)]
    assert pair_calls(expected, actual[:500]) == [*range(500), *[None] * 500]
    assert pair_calls(expected[:1], paged(range(1, 50_001))) == [0]


def test_thirty_calls_with_another_size_are_paired_by_their_page():
    wanted, made = paged(range(30)), paged(reversed(range(30)))
    for call in made:
        call.args = {**(call.args or {}), "size": 20}
    assert pair_calls(wanted, made) == list(reversed(range(30)))


def test_a_thousand_calls_of_one_name_are_told_apart_by_their_resource():
    one, other = (
        [ToolCall(name="get", resource=f"p/apps/{app}/tools/get", args={"page": i}) for i in range(300)]
        for app in ("one", "other")
    )
    partners = pair_calls(one, [*other, *one])
    assert all(same_tool(one[i], [*other, *one][j]) for i, j in enumerate(partners) if j is not None)
    assert partners == list(range(300, 600))
    assert pair_calls(one, other) == [None] * 300


PLAIN = st.integers(0, 60)
ODD = st.sampled_from([True, 1.0, "1", None, [1], {"$matchType": "ignore"}, MEANT])
ARGUMENTS = st.one_of(
    *(st.fixed_dictionaries({"a": PLAIN, **more}) for more in ({}, {}, {"b": PLAIN})),
    st.fixed_dictionaries({"a": ODD}),
)


def weight(score):
    return 1 + (score.matched + score.undecided / 2) / score.total if score.total else 2.0


@given(st.lists(ARGUMENTS, max_size=3), st.lists(PLAIN, min_size=7, max_size=12, unique=True), st.data())
def test_many_calls_in_another_order_are_paired_as_the_best_assignment_pairs_them(odd, plain, data):
    wanted = [*({"a": value} for value in plain), *odd]
    made = [*data.draw(st.permutations(wanted)), *data.draw(st.lists(ARGUMENTS, max_size=2))]
    expected, actual = ([ToolCall(name="go", args=args) for args in side] for side in (wanted, made))
    weights = [[weight(parameter_score(want, given)) for given in made] for want in wanted]
    in_order = len(wanted) == len(made) and all(map(same_value, wanted, made))
    assert pair_calls(expected, actual) == ([*range(len(wanted))] if in_order else best_assignment(weights))


SHARES = [
    ("a b", "a b", 1.0),
    ("a b", "b a", 0.5),
    ("a:1 b", "a:2 c b", 1.0),
    ("a b c", "c b a", 1 / 3),
    ("a", "", 0.0),
]


@pytest.mark.parametrize(("expected", "actual", "share"), SHARES)
def test_the_share_of_tools_called_in_order(expected, actual, share):
    assert ordered_share(calls(expected), calls(actual)) == share


TOOLS = st.lists(
    st.builds(
        ToolCall, name=st.sampled_from(["a", "b", None]), resource=st.sampled_from(["r/a", "s/a", None])
    ),
    max_size=6,
)


@given(TOOLS, TOOLS)
def test_the_share_in_order_is_that_of_the_longest_common_subsequence(expected, actual):
    longest = [[0] * (len(actual) + 1) for _ in range(len(expected) + 1)]
    for i, want in enumerate(expected, 1):
        for j, call in enumerate(actual, 1):
            paired = longest[i - 1][j - 1] + same_tool(want, call)
            longest[i][j] = max(paired, longest[i - 1][j], longest[i][j - 1])
    if expected:
        assert ordered_share(expected, actual) == longest[-1][-1] / len(expected)


@pytest.mark.parametrize(
    ("expected", "actual", "wanted"),
    [
        ({"a": 1, "b": [2, {"c": None}]}, {"b": [2.0, {"c": None}], "a": 1.0}, True),
        ({"a": [True, "x"]}, {"a": [1, "x"]}, False),
        (2**70, 2.0**70, True),
        ({"a": float("nan")}, {"a": None}, False),
    ],
)
def test_values_are_equal_by_number_and_kind(expected, actual, wanted):
    assert same_value(expected, actual) is wanted
    assert same_value(actual, expected) is wanted
