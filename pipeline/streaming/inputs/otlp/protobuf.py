"""Converts OTLP requests from protobuf to OTLP/JSON, and answers to protobuf."""

from base64 import b64encode
from collections.abc import Iterable
from math import isfinite
from typing import Any

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import (
    ExportLogsPartialSuccess,
    ExportLogsServiceRequest,
    ExportLogsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTracePartialSuccess,
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from turnwise.schemas.jsonio import JsonObject, JsonValue


def traces_value(body: bytes) -> JsonObject:
    """Returns a request of spans as OTLP/JSON; raises ValueError if it is none."""
    request = _parsed(ExportTraceServiceRequest, body)
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": _key_values(each.resource.attributes)},
                "scopeSpans": [
                    {"scope": {"name": scoped.scope.name}, "spans": [_span(span) for span in scoped.spans]}
                    for scoped in each.scope_spans
                ],
            }
            for each in request.resource_spans
        ]
    }


def logs_value(body: bytes) -> JsonObject:
    """Returns a request of log records as OTLP/JSON; raises ValueError if it is none."""
    request = _parsed(ExportLogsServiceRequest, body)
    return {
        "resourceLogs": [
            {
                "resource": {"attributes": _key_values(each.resource.attributes)},
                "scopeLogs": [
                    {
                        "scope": {"name": scoped.scope.name},
                        "logRecords": [_log(r) for r in scoped.log_records],
                    }
                    for scoped in each.scope_logs
                ],
            }
            for each in request.resource_logs
        ]
    }


def traces_answer(refused: int, message: str) -> bytes:
    """Returns the answer to a request of spans."""
    if not refused:
        return b""
    partial = ExportTracePartialSuccess(rejected_spans=refused, error_message=message)
    return ExportTraceServiceResponse(partial_success=partial).SerializeToString()


def logs_answer(refused: int, message: str) -> bytes:
    """Returns the answer to a request of log records."""
    if not refused:
        return b""
    partial = ExportLogsPartialSuccess(rejected_log_records=refused, error_message=message)
    return ExportLogsServiceResponse(partial_success=partial).SerializeToString()


def status_answer(code: int, message: str) -> bytes:
    """Returns a `google.rpc.Status`: its code and message are encoded as the fields of a partial success."""
    return ExportTracePartialSuccess(rejected_spans=code, error_message=message).SerializeToString()


def _parsed(kind: Any, body: bytes) -> Any:
    try:
        return kind.FromString(body)
    except DecodeError as error:
        raise ValueError(f"no {kind.DESCRIPTOR.name}: {error}") from None


def _span(span: Any) -> JsonObject:
    value: JsonObject = {
        "traceId": span.trace_id.hex(),
        "spanId": span.span_id.hex(),
        "parentSpanId": span.parent_span_id.hex(),
        "name": span.name,
        "startTimeUnixNano": str(span.start_time_unix_nano),
        "endTimeUnixNano": str(span.end_time_unix_nano),
        "attributes": _key_values(span.attributes),
    }
    if span.events:
        value["events"] = [
            {
                "name": event.name,
                "timeUnixNano": str(event.time_unix_nano),
                "attributes": _key_values(event.attributes),
            }
            for event in span.events
        ]
    for key, count in (
        ("droppedAttributesCount", span.dropped_attributes_count),
        ("droppedEventsCount", span.dropped_events_count),
        ("flags", span.flags),
    ):
        if count:
            value[key] = count
    if span.HasField("status"):
        value["status"] = {"code": span.status.code, "message": span.status.message}
    return value


def _log(record: Any) -> JsonObject:
    return {
        "traceId": record.trace_id.hex(),
        "spanId": record.span_id.hex(),
        "eventName": record.event_name,
        "timeUnixNano": str(record.time_unix_nano or record.observed_time_unix_nano),
        "body": _any_value(record.body),
        "attributes": _key_values(record.attributes),
    }


def _key_values(pairs: Iterable[Any]) -> list[JsonValue]:
    return [{"key": pair.key, "value": _any_value(pair.value)} for pair in pairs]


def _any_value(value: Any) -> JsonObject:
    kind = value.WhichOneof("value")
    if kind == "string_value":
        return {"stringValue": value.string_value}
    if kind == "int_value":
        return {"intValue": str(value.int_value)}
    if kind == "bool_value":
        return {"boolValue": value.bool_value}
    if kind == "double_value":
        number = value.double_value
        return {"doubleValue": number if isfinite(number) else str(number)}
    if kind == "bytes_value":
        return {"bytesValue": b64encode(value.bytes_value).decode()}
    if kind == "array_value":
        return {"arrayValue": {"values": [_any_value(each) for each in value.array_value.values]}}
    if kind == "kvlist_value":
        return {"kvlistValue": {"values": _key_values(value.kvlist_value.values)}}
    return {}
