import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.schemas.conversation import ToolCall
from turnwise.transforms.effects.equivalence import ArgumentComparison, equivalent, key_of, pair_equivalent
from turnwise.transforms.matching.calls import ArgumentMatcher

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.floats(-9, 9) | st.text("aB 0-5", max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=3),
    max_leaves=12,
)


@given(JSON)
def test_everything_is_like_itself_and_its_json_text(value):
    assert equivalent(value, value)
    if isinstance(value, dict | list):
        assert equivalent(value, json.dumps(value))


@given(st.lists(JSON, max_size=6), st.randoms(use_true_random=False))
def test_order_does_not_matter(values, draw):
    shuffled = list(values)
    draw.shuffle(shuffled)
    assert equivalent(values, shuffled, name="ids")


@given(JSON, JSON)
def test_equal_keys_mean_alike(left, right):
    if key_of(left) == key_of(right):
        assert equivalent(left, right)


@pytest.mark.parametrize("size", [3, 2_000])
def test_lists_of_any_length(size):
    values = list(range(size))
    texts = [f" {value}.0" for value in values]
    random.Random(0).shuffle(texts)
    assert equivalent(values, texts, name="seats")
    assert not equivalent([*values, 0], [*texts, "1"], name="seats")


def test_pairs_are_one_to_one():
    assert pair_equivalent([1, "1", 2], ["2", 1.0, 3], "unmet") == [1, None, 0]


def nested(depth, leaf):
    for _ in range(depth):
        leaf = [leaf]
    return leaf


@pytest.mark.parametrize("depth", [1, 10, 100])
def test_lists_in_lists(depth):
    assert equivalent(nested(depth, "a"), nested(depth, " A "))
    assert not equivalent(nested(depth, "a"), nested(depth, "b"))
    assert not equivalent(nested(depth, "a"), nested(depth - 1, "a"))


@pytest.mark.parametrize(("text", "value"), [('["a"]', ["A"]), ('{"a": "5"}', {"a": 5.0, "b": None})])
def test_a_json_text_has_the_key_of_what_it_spells(text, value):
    assert key_of(text) == key_of(value)


def differing(expected, actual, compare=None, **fields):
    found = (compare or ArgumentComparison()).differences(
        ToolCall("t", expected, **fields), ToolCall("t", actual)
    )
    return [difference.parameter for difference in found]


def test_lists_that_are_declared_ordered():
    ordered = ArgumentComparison(ordered={"*": ["a"], "t": ["b"]})
    assert differing({"a": [1, 2], "ids": [1, 2]}, {"a": ["1", 2.0], "ids": [2, 1]}, ordered) == []
    assert differing({"a": [1, 2], "b": [1, 2]}, {"a": [2, 1], "b": [2, 1]}, ordered) == ["a", "b"]
    assert differing({"a": [1, 2]}, {"a": [1]}, ordered) == ["a"]
    ignored = {"t": {"b": ArgumentMatcher(match="ignore")}}
    both = ArgumentComparison(ordered={"t": ["b"]}, matchers=ignored)
    assert differing({"b": [1, 2]}, {"b": [2, 1]}, both) == []


def test_what_only_a_judge_can_compare_counts_as_it_is_told():
    vague = {"a": {"$matchType": "semantic", "$matchValue": "b"}}
    assert differing(vague, {"a": "c"}, ArgumentComparison(unclear=True)) == []
