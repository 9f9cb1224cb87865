import json
import math
import pickle
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from google.protobuf import json_format
from google.protobuf.wrappers_pb2 import FloatValue
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.ces_messages import MESSAGES
from tests.tables import rows_test
from turnwise.schemas.ces.conversation import CesToolCall, Chunk, ConversationMessage, Span
from turnwise.schemas.ces.result import Evaluation, EvaluationResult
from turnwise.schemas.proto.message import Int32, Message, Text, WireError, field
from turnwise.schemas.proto.scalars import (
    duration_nanos,
    float32,
    nanos_duration,
    nanos_timestamp,
    timestamp_nanos,
)

CASES = Path(__file__).parents[3] / "../shared/fixtures/ces/jsoncases.jsonl"

# A lenient reader of logs is to ignore unknown fields (the recorded parser ran with
# ignore_unknown_fields=False), and must not take an empty list for an empty message.
LENIENT_DIFFERS = {"unknown field null": True, "not an object": False}


def recorded_cases():
    lines = CASES.read_text().splitlines() if CASES.exists() else []
    return [pytest.param(case, id=case["label"]) for case in map(json.loads, lines)]


class RunSummary(Message):
    passed_count: Int32 = field()


class EvaluationRun(Message):
    """The fields of an EvaluationRun that the recorded cases have."""

    evaluation_run_summaries: dict[Text, RunSummary] = field()


def message_class(name):
    if name == "EvaluationRun":
        return EvaluationRun
    return MESSAGES.get(name) or MESSAGES[f"EvaluationResult.{name}"]


@pytest.mark.parametrize("case", recorded_cases())
def test_strict_verdict_and_canonical_form_are_as_recorded(case):
    read = message_class(case["type"]).from_json
    if not case["ok"]:
        with pytest.raises(WireError):
            read(case["text"])
        return
    message = read(case["text"])
    assert message.to_value() == case["canonical"]
    assert type(message).from_value(message.to_value()) == message


@pytest.mark.parametrize("case", recorded_cases())
def test_lenient_verdict_is_as_recorded(case):
    read = message_class(case["type"]).from_json
    if LENIENT_DIFFERS.get(case["label"], case["lenient_ok"]):
        read(case["text"], lenient=True)
    else:
        with pytest.raises(WireError):
            read(case["text"], lenient=True)


test_rows = rows_test(globals(), "json")


def strict_error(message, value, text):
    """It is one line that begins with the path."""
    with pytest.raises(WireError) as caught:
        message_class(message).from_value(value)
    assert str(caught.value).startswith(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text", ["", "{", "null", '"x"', '{"a": 1, "a": 1}', b"\xff", "[" * 100_000, "1" * 5000]
)
def test_what_is_no_json_object_is_a_wire_error(text):
    with pytest.raises(WireError, match=r"^Evaluation: [^\n]+$"):
        Evaluation.from_json(text)


def lenient(message, value, wire):
    before = json.dumps(value)
    assert message_class(message).from_value(value, lenient=True).to_value() == wire
    assert json.dumps(value) == before


def presence(message, fields, wire):
    """It decides whether a default is printed."""
    made = message_class(message)(**fields)
    assert made.to_value() == wire
    assert pickle.loads(pickle.dumps(made)) == made


def test_a_message_made_in_python_is_checked_like_one_that_was_read():
    with pytest.raises(ValidationError, match="at most one may be set of tool, toolsetTool"):
        CesToolCall(tool="t", toolset_tool={"toolset": "x"})
    with pytest.raises(ValidationError, match="is not a timestamp"):
        Span(start_time="yesterday")


def test_depth_counts_the_messages_around_a_struct():
    nested = {"a": 1}
    for _ in range(48):
        nested = {"a": nested}
    chunk = {"toolCall": {"args": nested}}
    assert Chunk.from_value(chunk).to_value() == chunk
    with pytest.raises(WireError, match="deeper than 100"):
        ConversationMessage.from_value({"chunks": [chunk]})


@pytest.mark.parametrize("levels", [200, 100_000])
def test_json_that_nests_too_deeply_is_refused_with_the_limit(levels):
    args = '{"a":' * levels + "1" + "}" * levels
    body = '{"golden":{"turns":[{"steps":[{"expectation":{"toolCall":{"args":' + args + "}}}]}]}}"
    with pytest.raises(WireError, match="messages nest deeper than 100"):
        Evaluation.from_json(body)


def any_content(content):
    """Its type and content are kept."""
    value = {"error": {"details": [content]}}
    assert EvaluationResult.from_value(value).to_value() == value


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
@example(99999997952.0)
@example(1e-45)
def test_float32_is_what_protobuf_prints(x):
    assert float32(x) == json_format.MessageToDict(FloatValue(value=x))


def test_float32_keeps_the_sign_of_zero_and_refuses_what_does_not_fit():
    assert [math.copysign(1, float32(x)) for x in (0.0, -0.0)] == [1, -1]
    with pytest.raises(ValueError, match="out of the range"):
        float32(3.5e38)


@given(st.integers(-62_135_596_800 * 10**9, 253_402_300_800 * 10**9 - 1))
def test_nanos_and_timestamps_are_inverse(n):
    text = nanos_timestamp(n)
    assert timestamp_nanos(text) == n
    assert Span.from_value({"startTime": text}).start_time == text


@given(
    st.datetimes(timezones=st.builds(timezone, st.integers(-1439, 1439).map(lambda m: timedelta(minutes=m))))
)
def test_timestamps_are_those_of_datetime(moment):
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    assert timestamp_nanos(moment.isoformat()) == since // timedelta(microseconds=1) * 1000


@given(st.integers(-315_576_000_000 * 10**9, 315_576_000_000 * 10**9))
def test_nanos_and_durations_are_inverse(n):
    text = nanos_duration(n)
    assert duration_nanos(text) == n
    assert Span.from_value({"duration": text}).duration == text


@pytest.mark.parametrize("convert", [timestamp_nanos, duration_nanos])
@pytest.mark.parametrize("text", ["", "1", "2026-01-02", "-s", "315576000001s", "2026-01-02T03:04:05+24:00"])
def test_times_that_are_none_are_value_errors(convert, text):
    with pytest.raises(ValueError):
        convert(text)
