"""Reading a message as far as it can be read."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic.alias_generators import to_camel

from tests.tables import rows_test
from turnwise.schemas.discovery_engine import Answer, AnswerSession, AnswerState
from turnwise.schemas.proto.message import WireError, read_lenient

OFFSETS = {"startIndex": -1, "endIndex": -1}
GOOD = {"answerText": "a", "citations": [{"endIndex": "1", "sources": [{"referenceId": "0"}]}]}


def problems_found(value):
    message, found = read_lenient(Answer, value, "Answer", OFFSETS)
    return message.to_value(), found


test_rows = rows_test(globals(), "lenient")


def left_out(value, read, said):
    """What cannot be read is left out and said."""
    printed, found = problems_found({**GOOD, **value})
    assert printed == {**{k: v for k, v in GOOD.items() if k not in value}, **read}
    assert said in found.unreadable[0]


def test_a_number_without_end_is_left_out():
    citation = {"citations": [{"endIndex": "9" * 5000}]}
    left_out(citation, {"citations": [{"endIndex": "-1"}]}, "is not an integer")


def test_nested_too_deeply():
    deep = {}
    for _ in range(120):
        deep = {"a": deep}
    reference = {"structuredDocumentInfo": {"title": "t", "structData": deep}}
    printed, found = problems_found({"references": [reference]})
    assert printed == {"references": [{"structuredDocumentInfo": {"title": "t"}}]}
    assert "messages nest deeper than 100" in found.unreadable[0]


def test_unknown_enum_values_are_kept_and_said():
    printed, found = problems_found(
        {"state": "PAUSED", "answerSkippedReasons": ["NEW", 99, "NO_RELEVANT_CONTENT"]}
    )
    assert printed == {"state": "PAUSED", "answerSkippedReasons": ["NEW", 99, "NO_RELEVANT_CONTENT"]}
    assert found.unreadable == []
    assert found.unknown == [
        "Answer.state: 'PAUSED' is no value of AnswerState",
        "Answer.answerSkippedReasons[0]: 'NEW' is no value of AnswerSkippedReason",
        "Answer.answerSkippedReasons[1]: '99' is no value of AnswerSkippedReason",
    ]


def test_a_long_name_is_cut():
    printed, found = problems_found({"state": "X" * 10_000})
    assert printed == {"state": "X" * 100} and len(found.unknown[0]) < 200


def test_an_unknown_name_is_an_error_elsewhere():
    with pytest.raises(WireError, match="no value of AnswerState"):
        Answer.from_value({"state": "PAUSED"}, lenient=True)
    assert AnswerState(3).name == "SUCCEEDED" and AnswerState(99).name == "99"


@pytest.mark.parametrize("value", [[], None, "a", 1])
def test_what_is_no_object_is_refused(value):
    with pytest.raises(WireError, match="a message must be a JSON object"):
        read_lenient(Answer, value, "Answer", OFFSETS)


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)


@st.composite
def spoilt(draw, message):
    """Objects with a message's own keys and anything under them."""
    fields = draw(st.lists(st.sampled_from(sorted(message.model_fields)), max_size=4, unique=True))
    keys = [to_camel(name) if draw(st.booleans()) else name for name in fields]
    inner = JUNK | st.lists(st.dictionaries(st.sampled_from(INNER), JUNK, max_size=3), max_size=3)
    return {key: draw(inner) for key in keys}


INNER = ["startIndex", "end_index", "sources", "chunkInfo", "type", "actions", "category", "detailedAnswer"]


@settings(deadline=None)
@given(st.data())
def test_nothing_crashes_and_what_is_read_is_a_message(data):
    message = data.draw(st.sampled_from([Answer, AnswerSession]))
    value = data.draw(spoilt(message))
    before = repr(value)
    read, found = read_lenient(message, value, message.PROTO, OFFSETS)
    assert repr(value) == before
    again, rest = read_lenient(message, read.to_value(), message.PROTO, OFFSETS)
    assert again == read or "NaN" in json.dumps(read.to_value())
    assert rest.unreadable == [] and rest.unknown == found.unknown
