"""Values in one line."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.schemas.conversation import ToolCall
from turnwise.transforms.effects.changes import call_text, value_text

BLANK = st.sampled_from([" ", "  ", "\n", "\t", "\u3000", "\xa0", "\x1c"])
LONG = st.lists(st.one_of(BLANK, st.text(max_size=90), st.sampled_from(["word", "x" * 79])), max_size=12)


@given(LONG)
def test_a_text_is_in_one_line_of_at_most_160_characters(parts):
    text = "".join(parts)
    line = " ".join(text.split())
    assert value_text(text) == (line if len(line) <= 160 else f"{line[:159]}…")


@pytest.mark.parametrize(
    "value",
    [
        1,
        10**30,
        1e300,
        False,
        [1, "a"],
    ],
)
def test_other_values_are_json(value):
    assert value_text(value) == json.dumps(value, ensure_ascii=False)


@pytest.mark.parametrize(("value", "text"), [(None, "nothing"), (float("nan"), "NaN"), ({1}, "{1}")])
def test_what_json_has_no_room_for(value, text):
    assert value_text(value) == text


def test_a_call():
    call = ToolCall(name="pay", args={"to": "Ann\n Lee", "sum": 3, "now": True})
    assert call_text(call) == "pay(to: Ann Lee, sum: 3, now: true)"
    assert call_text(ToolCall(name="pay")) == "pay()"
