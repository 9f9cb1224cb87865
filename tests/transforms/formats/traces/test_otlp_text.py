"""OTLP/JSON read from its text by types: the same spans as from the parsed record, or none of them."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import from_json

import turnwise
from turnwise.transforms.formats.traces.otlp import otlp_spans, otlp_text_spans

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
SCALARS = st.none() | st.booleans() | NUMBERS | TEXTS
KINDS = ("stringValue", "intValue", "doubleValue", "boolValue", "bytesValue", "arrayValue", "kvlistValue")


def values(inner: Any) -> Any:
    pairs = st.lists(st.fixed_dictionaries({"key": TEXTS, "value": inner}), max_size=2)
    array = st.fixed_dictionaries(
        {"arrayValue": st.fixed_dictionaries({"values": st.lists(inner, max_size=2)})}
    )
    return array | st.fixed_dictionaries({"kvlistValue": st.fixed_dictionaries({"values": pairs})})


PLAIN = st.recursive(
    st.fixed_dictionaries({"stringValue": TEXTS})
    | st.fixed_dictionaries({"intValue": st.integers().map(str) | TEXTS})
    | st.fixed_dictionaries({"doubleValue": NUMBERS | st.sampled_from(["NaN", "1.5"])})
    | st.fixed_dictionaries({"boolValue": st.booleans()}),
    values,
    max_leaves=5,
)
ANY = PLAIN | SCALARS | st.dictionaries(st.sampled_from(KINDS) | TEXTS, SCALARS, max_size=2)


def spans(value: Any) -> Any:
    attributes = st.lists(st.fixed_dictionaries({"key": TEXTS}, optional={"value": value}), max_size=3)
    events = st.lists(st.fixed_dictionaries({"name": TEXTS, "attributes": attributes}), max_size=2)
    return st.lists(
        st.fixed_dictionaries(
            {"traceId": TEXTS, "spanId": TEXTS, "startTimeUnixNano": TEXTS | NUMBERS},
            optional={
                "parentSpanId": TEXTS,
                "name": TEXTS,
                "endTimeUnixNano": st.integers(),
                "attributes": attributes,
                "events": events,
                "status": st.dictionaries(st.sampled_from(["code", "message"]), SCALARS),
                "kind": SCALARS,
                "flags": SCALARS,
                "trace_id": TEXTS,
            },
        ),
        max_size=2,
    )


def text(held: Any, **beside: Any) -> bytes:
    resource = {"attributes": [{"key": "service.version", "value": {"stringValue": "v3"}}]}
    scopes = [{"scope": {"name": "s", "version": "1"}, "spans": held}]
    return json.dumps({"resourceSpans": [{"resource": resource, "scopeSpans": scopes}], **beside}).encode()


SPAN = {"traceId": "1" * 32, "spanId": "a" * 16, "startTimeUnixNano": "1760000000000000000", "name": "chat"}
WHOLE = {
    **SPAN,
    "parentSpanId": "b" * 16,
    "endTimeUnixNano": 1760000000000000009,
    "kind": 3,
    "flags": 256,
    "traceState": "",
    "droppedAttributesCount": 0,
    "links": [{"traceId": "2" * 32}],
    "status": {"code": 2, "message": "late"},
    "attributes": [
        {"key": "t", "value": {"stringValue": "x"}},
        {"key": "i", "value": {"intValue": "7"}},
        {"key": "d", "value": {"doubleValue": 1}},
        {"key": "b", "value": {"boolValue": False}},
        {"key": "a", "value": {"arrayValue": {"values": [{"stringValue": "stop"}]}}},
        {"key": "k", "value": {"kvlistValue": {"values": [{"key": "n", "value": {"intValue": "1"}}]}}},
        {"key": "e", "value": {}},
    ],
    "events": [{"name": "e", "timeUnixNano": "1", "attributes": [{"key": "n", "value": {"intValue": 1}}]}],
}


@given(spans(ANY))
def test_the_text_gives_the_spans_of_the_parsed_record_or_none(held: Any) -> None:
    data = text(held)
    found = otlp_text_spans(data)
    assert found is None or repr(found) == repr(list(otlp_spans(from_json(data))))


@given(st.lists(st.fixed_dictionaries({"key": TEXTS, "value": PLAIN}), max_size=4))
def test_plain_values_are_read_from_the_text(attributes: Any) -> None:
    data = text([{**SPAN, "attributes": attributes}])
    assert repr(otlp_text_spans(data)) == repr(list(otlp_spans(from_json(data))))


def test_a_whole_span_is_read_from_the_text() -> None:
    (found,) = otlp_text_spans(text([WHOLE])) or []
    assert found == next(iter(otlp_spans(from_json(text([WHOLE])))))
    assert found.attributes == {"t": "x", "i": 7, "d": 1, "b": False, "a": ["stop"], "k": {"n": 1}, "e": None}
    assert (found.error, found.message, found.scope) == (True, "late", "s")
    assert found.resource == {"service.version": "v3"}


@pytest.mark.parametrize(
    "data",
    [
        b" " + text([SPAN]),
        text([SPAN])[:-1],
        text([SPAN], resourceLogs=[]),
        text([{**SPAN, "trace_id": "3"}]),
        text([{**SPAN, "startTimeUnixNano": None}]),
        text([{**SPAN, "attributes": {"a": 1}}]),
        text([{**SPAN, "attributes": [{"key": "a", "value": {"stringValue": 1}}]}]),
        text([{**SPAN, "attributes": [{"key": "a", "value": {"other": "x"}}]}]),
        text([{**SPAN, "name": None}]),
        text([None]),
        text([SPAN]).replace(b'"chat"', b'"\xff"'),
        text([{**SPAN, "events": "E"}]).replace(b'"E"', b"[" * 10_000 + b"]" * 10_000),
    ],
)
def test_whatever_is_unusual_is_parsed_in_general(data: bytes) -> None:
    assert otlp_text_spans(data) is None


def read_mine(value: Any, record: Any, settings: Any) -> Any:
    return [turnwise.Conversation("of my format", turns=[turnwise.Turn(user="Hi", agent="Hello")])]


def test_an_added_format_goes_before_the_text(unchanged: None) -> None:
    turnwise.register_format(
        turnwise.Format(name="mine", help="mine", recognises=lambda record: True, read_log=read_mine)
    )
    (found,) = turnwise.read_conversations([json.loads(text([SPAN]))])
    assert found.conversation_id == "of my format"


def test_a_mapping_goes_before_the_text() -> None:
    scope = "resourceSpans[0].scopeSpans[0]"
    turns = f"{scope}.spans[*].{{user: name, agent: name}}"
    said = {"when": "resourceSpans", "conversation_id": f"{scope}.scope.name", "turns": turns}
    (found,) = turnwise.read_conversations([json.loads(text([SPAN]))], config={"mapping": said})
    assert (found.conversation_id, found.turns[0].user) == ("s", "chat")


def test_another_format_that_is_named_reads_the_record() -> None:
    with pytest.raises(turnwise.ReadError):
        turnwise.read_conversations([json.loads(text([SPAN]))], input_format="jaeger_export")
