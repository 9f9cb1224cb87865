"""Values in one line."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.schemas.conversation import ToolCall
from turnwise.transforms.effects import changes as pairing
from turnwise.transforms.effects.changes import call_text, calls_by, value_text
from turnwise.transforms.effects.equivalence import ArgumentComparison
from turnwise.transforms.matching.alignment import count_matches


def call(text):
    """`book:1,2` -> book({"x": 1, "y": 2})."""
    name, _, values = text.partition(":")
    return ToolCall(name, dict(zip("xyz", values.split(","), strict=False)) if values else {})


def match_calls(expected, actual, compare):
    matching = pairing.match_same(calls_by("agent", expected), calls_by("agent", actual), compare)
    pairing.match_rest(matching, compare)
    return matching


def test_a_wrong_call_stands_beside_the_expected_one_that_it_is_most_like():
    wanted = [call("a:1,1,1"), call("a:2,2,2")]
    (first, second) = match_calls(wanted, [call("a:2,2,9"), call("a:1,9,9")], ArgumentComparison()).wrong
    assert [(w.expected.call.args["x"], w.actual.call.args["x"]) for w in (first, second)] == [
        ("1", "1"),
        ("2", "2"),
    ]


def test_as_many_as_possible_are_matched():
    """The first expected call could take either, the second only one."""
    loose = ToolCall("a", {"x": 1, "y": 2}, compare_args=["x"])
    strict = ToolCall("a", {"x": 1, "y": 2})
    made = [ToolCall("a", {"x": 1, "y": 2}), ToolCall("a", {"x": 1, "y": 3})]
    for order in ([loose, strict], [strict, loose]):
        assert len(match_calls(order, made, ArgumentComparison()).matched) == 2


CALLS = st.lists(
    st.builds(lambda n, x: ToolCall(n, {"x": x}), st.sampled_from("ab"), st.integers(0, 3)), max_size=7
)


@given(CALLS, CALLS, CALLS, CALLS)
def test_the_sides_find_each_other_where_they_can(agents, users, by_agent, by_user):
    """As many as possible are paired, and of those first the ones of one side."""
    expected = [*calls_by("agent", agents), *calls_by("user", users)]
    made = [*calls_by("agent", by_agent), *calls_by("user", by_user)]
    found = pairing.match_same(expected, made, ArgumentComparison())
    most = [*map(repr, agents + users)]
    both = sum(min(most.count(each), [*map(repr, by_agent + by_user)].count(each)) for each in set(most))
    own = [pair for pair in found.matched if pair.expected.actor == pair.actual.actor]
    assert len(found.matched) == both
    assert len(own) == sum(
        len(match_calls(wanted, did, ArgumentComparison()).matched)
        for wanted, did in ((agents, by_agent), (users, by_user))
    )
    assert len(made) == len(found.matched) + len(found.extra)


@given(CALLS, CALLS)
def test_every_call_is_accounted_for_once(expected, actual):
    found = match_calls(expected, actual, ArgumentComparison())
    most = count_matches(expected, actual, lambda e, a: e.name == a.name and e.args == a.args)
    assert len(found.matched) == len(most) - most.count(None)
    assert len(expected) == len(found.matched) + len(found.missing) + len(found.wrong)
    assert len(actual) == len(found.matched) + len(found.extra) + len(found.wrong)


@pytest.mark.parametrize("spell", [str, float, lambda i: f" {i}.0 ", lambda i: i])
def test_a_thousand_calls_of_one_tool(spell):
    wanted = [ToolCall("add", {"x": i, "at": "2024-05-20"}) for i in range(1000)]
    made = [ToolCall("add", {"x": spell(i), "at": "May 20, 2024"}) for i in reversed(range(1001))]
    found = match_calls(wanted, made, ArgumentComparison())
    assert (len(found.matched), len(found.missing), len(found.extra), len(found.wrong)) == (1000, 0, 1, 0)


def spelled(i, **spelling):
    return json.dumps({"id": i, "rows": [i, {"at": "2024-05-20", "by": f"clerk {i}"}]}, **spelling)


@pytest.mark.parametrize("size", [2, 14, 300])
def test_calls_with_json_texts(size):
    wanted = [ToolCall("run", {"arguments": spelled(i)}) for i in range(size)]
    made = [ToolCall("run", {"arguments": spelled(i, indent=2)}) for i in reversed(range(size))]
    assert len(match_calls(wanted, made, ArgumentComparison()).matched) == size


@pytest.mark.parametrize("size", [2, 300])
def test_no_call_is_wrong_in_nothing(size):
    """Texts in British and American spelling are alike, and have no common key."""
    wanted = [ToolCall("pay", {"sum": f"colour {i}", "rows": [*range(30)]}) for i in range(size)]
    made = [ToolCall("pay", {"sum": f"color {i}", "rows": [*range(30)]}) for i in range(size)]
    compare = ArgumentComparison()
    found = match_calls(wanted, made, compare)
    assert len(found.matched) == size
    assert all(compare.differences(w.expected.call, w.actual.call) for w in found.wrong)


BLANK = st.sampled_from([" ", "  ", "\n", "\t", "\u3000", "\xa0", "\x1c"])
LONG = st.lists(st.one_of(BLANK, st.text(max_size=90), st.sampled_from(["word", "x" * 79])), max_size=12)


@given(LONG)
def test_a_text_is_in_one_line_of_at_most_160_characters(parts):
    text = "".join(parts)
    line = " ".join(text.split())
    assert value_text(text) == (line if len(line) <= 160 else f"{line[:159]}…")


@pytest.mark.parametrize(("value", "text"), [(None, "nothing"), (float("nan"), "NaN"), ({1}, "{1}")])
def test_what_json_has_no_room_for(value, text):
    assert value_text(value) == text


def test_a_call():
    call = ToolCall(name="pay", args={"to": "Ann\n Lee", "sum": 3, "now": True})
    assert call_text(call) == "pay(to: Ann Lee, sum: 3, now: true)"
    assert call_text(ToolCall(name="pay")) == "pay()"
