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
from turnwise.schemas.ces.conversation import (
    AgentTransfer,
    CesConversation,
    CesToolCall,
    Chunk,
    ConversationMessage,
    InputType,
    Span,
)
from turnwise.schemas.ces.evaluation import GoldenExpectation
from turnwise.schemas.ces.result import (
    Evaluation,
    EvaluationOutcome,
    EvaluationResult,
    HallucinationMetrics,
    MetricsByTurn,
    OverallToolInvocationResult,
    ScenarioResult,
    SemanticSimilarityResult,
    ToolMetrics,
    TurnReplayResult,
)
from turnwise.schemas.proto.message import Int32, Map, Message, WireError, field
from turnwise.schemas.proto.scalars import (
    duration_nanos,
    float32,
    nanos_duration,
    nanos_timestamp,
    timestamp_nanos,
)

TWO_INPUTS = ["INPUT_TYPE_UNSPECIFIED", "INPUT_TYPE_EVENT"]
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

    evaluation_run_summaries: Map[RunSummary] = field()


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


@pytest.mark.parametrize(
    ("message", "value", "text"),
    [
        (
            Evaluation,
            {"golden": {"turns": [{"steps": "x"}]}},
            "Evaluation.golden.turns[0].steps: a repeated field must",
        ),
        (
            Evaluation,
            {"golden": {"turns": [{}, {"bo_gus": None}]}},
            "Evaluation.golden.turns[1].bo_gus: no such",
        ),
        (Evaluation, {"displayName": "a", "display_name": "a"}, "Evaluation: a field is given under both"),
        (CesToolCall, {"args": {"a": [math.inf]}}, "ToolCall.args: inf is too large, or no JSON number"),
        (CesToolCall, {"args": {"a": "\ud83d"}}, "ToolCall.args: '\\ud83d' holds an unpaired surrogate"),
        (
            EvaluationRun,
            {"evaluationRunSummaries": {"e": None}},
            "EvaluationRun.evaluationRunSummaries.e: a message",
        ),
        (MetricsByTurn, {"turnIndex": 2**31}, "MetricsByTurn.turnIndex: 2147483648 is out of the range"),
        (HallucinationMetrics, {"score": True}, "HallucinationMetrics.score: True is not a number"),
        (HallucinationMetrics, {"score": 10**400}, "HallucinationMetrics.score: 1000"),
    ],
)
def test_an_error_is_one_line_that_begins_with_the_path(message, value, text):
    with pytest.raises(WireError) as caught:
        message.from_value(value)
    assert str(caught.value).startswith(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text", ["", "{", "null", '"x"', '{"a": 1, "a": 1}', b"\xff", "[" * 100_000, "1" * 5000]
)
def test_what_is_no_json_object_is_a_wire_error(text):
    with pytest.raises(WireError, match=r"^Evaluation: [^\n]+$"):
        Evaluation.from_json(text)


@pytest.mark.parametrize(
    ("message", "value", "wire"),
    [
        (AgentTransfer, {"target_agent": "a"}, {"targetAgent": "a"}),
        (Evaluation, {"bogus": 1, "golden": {"bogus": {}}}, {"golden": {}}),
        (Evaluation, {"displayName": "a", "display_name": "b"}, {"displayName": "b"}),
        (SemanticSimilarityResult, {"score": "+3"}, {"score": 3}),
        (HallucinationMetrics, {"score": True}, {"score": 1.0}),
        (EvaluationResult, {"evaluationStatus": 2.9}, {"evaluationStatus": "FAIL"}),
        (TurnReplayResult, {"turnLatency": " +5.s"}, {"turnLatency": "5s"}),
        (TurnReplayResult, {"turnLatency": "3.1234567891s"}, {"turnLatency": "3.123456789s"}),
        (Evaluation, {"createTime": "2026-1-2T3:4:5.Z"}, {"createTime": "2026-01-02T03:04:05Z"}),
    ],
)
def test_lenient_reading(message, value, wire):
    before = json.dumps(value)
    assert message.from_value(value, lenient=True).to_value() == wire
    assert json.dumps(value) == before


@pytest.mark.parametrize(
    ("message", "wire"),
    [
        (SemanticSimilarityResult(score=0), {"score": 0}),
        (OverallToolInvocationResult(tool_invocation_score=0.0), {"toolInvocationScore": 0.0}),
        (ScenarioResult(task_completed=False), {"taskCompleted": False}),
        (GoldenExpectation(no_tool_calls=False), {"noToolCalls": False}),
        (Chunk(text=""), {"text": ""}),
        (CesToolCall(args={}), {"args": {}}),
        (CesToolCall(args={"a": None, "b": [None, 1]}), {"args": {"a": None, "b": [None, 1.0]}}),
        (ToolMetrics(tool="t", pass_count=0), {"tool": "t"}),
        (HallucinationMetrics(score=0.0), {}),
        (HallucinationMetrics(score=-0.0), {"score": -0.0}),
        (EvaluationResult(evaluation_status=EvaluationOutcome.PASS), {"evaluationStatus": "PASS"}),
        (EvaluationResult(evaluation_status=EvaluationOutcome(99)), {"evaluationStatus": 99}),
        (CesConversation(input_types=[InputType(0), 7]), {"inputTypes": TWO_INPUTS}),
    ],
)
def test_presence_decides_whether_a_default_is_printed(message, wire):
    assert message.to_value() == wire
    assert pickle.loads(pickle.dumps(message)) == message


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


ANY_CONTENTS = [
    {"@type": "type.googleapis.com/google.protobuf.Duration", "value": "1.500s"},
    {"@type": "type.googleapis.com/google.cloud.ces.v1beta.Chunk", "text": ""},
    {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"futureQuotaValue": "0"}]},
    {},
]


@pytest.mark.parametrize("content", ANY_CONTENTS)
def test_any_keeps_its_type_and_content(content):
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
