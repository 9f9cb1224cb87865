"""Decodes the bodies of requests: compression, JSON or protobuf, and which spans can be used."""

import zlib
from base64 import b64encode
from collections.abc import Iterable, Iterator
from math import isfinite
from typing import Any, NamedTuple

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTracePartialSuccess,
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from pydantic_core import from_json

from turnwise.pipeline.streaming.inputs.otlp_spool import Export
from turnwise.schemas.jsonio import JsonObject, JsonValue, dump_json
from turnwise.transforms.formats.traces.span import as_id, as_nanos

JSON, PROTOBUF = "application/json", "application/x-protobuf"
_WINDOWS = {"gzip": 31, "deflate": 15}
_TIMES = (
    *("endTimeUnixNano", "end_time_unix_nano", "startTimeUnixNano", "start_time_unix_nano"),
    *("timeUnixNano", "time_unix_nano", "observedTimeUnixNano", "observed_time_unix_nano"),
)
_TRACE, _SPAN = ("traceId", "trace_id"), ("spanId", "span_id")


class OversizedBodyError(ValueError):
    """A body exceeds the limit."""


class UnsupportedError(ValueError):
    """A body is compressed in another way."""


class Signal(NamedTuple):
    """What is sent to a path: spans or log records.

    Attributes:
        noun: What they are called.
        resources: Spellings of the key of the resources: first OTLP/JSON's, last the field's of protobuf.
        scopes: The same of the scopes in a resource.
        items: The same of the spans or log records in a scope.
        ids: Spellings of the ids without which one of them cannot be used.
        rejected: Key of the number of refused ones in an answer.
        request: Protobuf message of a request.
    """

    noun: str
    resources: tuple[str, ...]
    scopes: tuple[str, ...]
    items: tuple[str, ...]
    ids: tuple[tuple[str, ...], ...]
    rejected: str
    request: Any


# fmt: off
SIGNALS = {
    "/v1/traces": Signal(
        "spans", ("resourceSpans", "resource_spans"), ("scopeSpans", "scope_spans"), ("spans",),
        (_TRACE, _SPAN), "rejectedSpans", ExportTraceServiceRequest,
    ),
    "/v1/logs": Signal(
        "log records", ("resourceLogs", "resource_logs"), ("scopeLogs", "scope_logs"),
        ("logRecords", "log_records"), (_TRACE,), "rejectedLogRecords", ExportLogsServiceRequest,
    ),
}
# fmt: on


def decompressed(body: bytes, encoding: str, limit: int) -> bytes:
    """Returns the content of a body, of which no more than the limit is decompressed.

    Raises:
        OversizedBodyError: It is longer.
        UnsupportedError: The encoding is not supported.
        ValueError: It is broken.
    """
    if encoding in ("", "identity"):
        return body
    if encoding not in _WINDOWS:
        raise UnsupportedError(f"Content-Encoding {encoding[:40]!r} is not supported; use gzip")
    parts: list[bytes] = []
    room = limit + 1
    while body and room > 0:
        stream = zlib.decompressobj(_WINDOWS[encoding])
        try:
            parts.append(stream.decompress(body, room))
        except zlib.error as error:
            raise ValueError(f"the body is not {encoding}: {error}") from None
        room -= len(parts[-1])
        if room > 0 and not stream.eof:
            raise ValueError(f"the body breaks off: the {encoding} stream has no end")
        body = stream.unused_data
    if room <= 0:
        raise OversizedBodyError(f"the body has more than {limit} bytes when it is decompressed")
    return b"".join(parts)


def decode(signal: Signal, content_type: str, body: bytes) -> tuple[Export | None, int]:
    """Decodes an uncompressed body; raises ValueError, in one line, if it is no such request.

    Returns what can be used, and the number of spans or log records that lack ids.
    """
    value = _value(signal, content_type, body)
    refused, count, latest = 0, 0, 0
    for scoped, key in _scopes(value, signal):
        items = _objects(scoped, key)
        used = [item for item in items if _has_ids(item, signal)]
        if len(used) < len(items):
            scoped[key] = list[JsonValue](used)
            refused += len(items) - len(used)
        count += len(used)
        latest = max([latest, *(as_nanos(item[name]) for item in used for name in _TIMES if name in item)])
    if not count:
        return None, refused
    is_stored_as_sent = content_type == JSON and not refused
    return Export(body if is_stored_as_sent else dump_json(value), latest / 1e9 or None), refused


def _value(signal: Signal, content_type: str, body: bytes) -> JsonObject:
    """Returns a request as OTLP/JSON."""
    if content_type == PROTOBUF:
        try:
            request = signal.request.FromString(body)
        except DecodeError as error:
            raise ValueError(f"no {signal.request.DESCRIPTOR.name}: {error}") from None
        return {signal.resources[0]: [_resource(signal, r) for r in getattr(request, signal.resources[-1])]}
    value = from_json(body)
    if not isinstance(value, dict):
        raise ValueError(f"a JSON object is needed, not {type(value).__name__}")
    if value and not any(key in value for key in signal.resources):
        raise ValueError(f"the body has no {signal.resources[0]}")
    return value


def _scopes(value: JsonObject, signal: Signal) -> Iterator[tuple[JsonObject, str]]:
    """Yields the scopes, each with the key of what it holds; raises ValueError where a list is none."""
    for key in signal.resources:
        for resource in _objects(value, key):
            for name in signal.scopes:
                for scoped in _objects(resource, name):
                    yield from ((scoped, items) for items in signal.items if items in scoped)


def _objects(holder: JsonObject, key: str) -> list[JsonObject]:
    values = holder.get(key)
    if values is None:
        return []
    if not isinstance(values, list):
        raise ValueError(f"{key} must be a list, not {type(values).__name__}")
    objects = [value for value in values if isinstance(value, dict)]
    if len(objects) < len(values):
        raise ValueError(f"{key} must hold objects alone")
    return objects


def _has_ids(item: JsonObject, signal: Signal) -> bool:
    return all(any(as_id(item.get(key)) for key in spellings) for spellings in signal.ids)


def success_answer(signal: Signal, content_type: str, refused: int) -> bytes:
    """Returns the answer to a request of which some spans or log records were refused, or none."""
    message = f"{refused} {signal.noun} lack the ids that they need, and are not read"
    if content_type != PROTOBUF:
        part = {signal.rejected: str(refused), "errorMessage": message}
        return dump_json({"partialSuccess": part} if refused else {})
    if not refused:
        return b""
    # Answers to spans and to log records are encoded alike.
    part = ExportTracePartialSuccess(rejected_spans=refused, error_message=message)
    return ExportTraceServiceResponse(partial_success=part).SerializeToString()


def failure_answer(content_type: str, code: int, message: str) -> bytes:
    """Returns a `google.rpc.Status`."""
    if content_type != PROTOBUF:
        return dump_json({"code": code, "message": message})
    # Its code and message are encoded as the fields of a partial success.
    return ExportTracePartialSuccess(rejected_spans=code, error_message=message).SerializeToString()


def _resource(signal: Signal, resource: Any) -> JsonObject:
    value = _span if signal.noun == "spans" else _log
    scopes = [
        {
            "scope": {"name": s.scope.name},
            signal.items[0]: [value(item) for item in getattr(s, signal.items[-1])],
        }
        for s in getattr(resource, signal.scopes[-1])
    ]
    return {"resource": {"attributes": _key_values(resource.resource.attributes)}, signal.scopes[0]: scopes}


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
            {"name": e.name, "timeUnixNano": str(e.time_unix_nano), "attributes": _key_values(e.attributes)}
            for e in span.events
        ]
    dropped = {
        "droppedAttributesCount": span.dropped_attributes_count,
        "droppedEventsCount": span.dropped_events_count,
        "flags": span.flags,
    }
    value |= {key: count for key, count in dropped.items() if count}
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
        return {"arrayValue": {"values": [_any_value(item) for item in value.array_value.values]}}
    if kind == "kvlist_value":
        return {"kvlistValue": {"values": _key_values(value.kvlist_value.values)}}
    return {}
