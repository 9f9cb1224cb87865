"""Decodes the bodies of requests: compression, JSON or protobuf, and which spans can be used."""

import zlib
from collections.abc import Iterator
from typing import NamedTuple

from pydantic_core import from_json

from turnwise.pipeline.streaming.inputs.otlp.protobuf import logs_value, traces_value
from turnwise.pipeline.streaming.inputs.otlp_decoding import Export
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
        resources: Spellings of the key of the resources; the first one is OTLP/JSON's.
        scopes: The same of the scopes in a resource.
        items: The same of the spans or log records in a scope.
        ids: Spellings of the ids without which one of them cannot be used.
        rejected: Key of the number of refused ones in an answer.
    """

    noun: str
    resources: tuple[str, ...]
    scopes: tuple[str, ...]
    items: tuple[str, ...]
    ids: tuple[tuple[str, ...], ...]
    rejected: str


SIGNALS = {
    "/v1/traces": Signal(
        "spans",
        ("resourceSpans", "resource_spans"),
        ("scopeSpans", "scope_spans"),
        ("spans",),
        (_TRACE, _SPAN),
        "rejectedSpans",
    ),
    "/v1/logs": Signal(
        "log records",
        ("resourceLogs", "resource_logs"),
        ("scopeLogs", "scope_logs"),
        ("logRecords", "log_records"),
        (_TRACE,),
        "rejectedLogRecords",
    ),
}


class Decoded(NamedTuple):
    """A request.

    Attributes:
        export: What can be used; None: nothing.
        refused: Number of spans without a trace id or span id, or of log records without a trace id.
    """

    export: Export | None
    refused: int


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


def decode(signal: Signal, content_type: str, body: bytes) -> Decoded:
    """Decodes an uncompressed body.

    Raises:
        ValueError: It is no such request; one line.
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
        latest = max([latest, *map(_latest, used)])
    if not count:
        return Decoded(None, refused)
    is_stored_as_sent = content_type == JSON and not refused
    return Decoded(Export(body if is_stored_as_sent else dump_json(value), latest / 1e9 or None), refused)


def _value(signal: Signal, content_type: str, body: bytes) -> JsonObject:
    if content_type == PROTOBUF:
        return traces_value(body) if signal.noun == "spans" else logs_value(body)
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
                    yield from ((scoped, each) for each in signal.items if each in scoped)


def _objects(holder: JsonObject, key: str) -> list[JsonObject]:
    found = holder.get(key)
    if found is None:
        return []
    if not isinstance(found, list):
        raise ValueError(f"{key} must be a list, not {type(found).__name__}")
    objects = [each for each in found if isinstance(each, dict)]
    if len(objects) < len(found):
        raise ValueError(f"{key} must hold objects alone")
    return objects


def _latest(item: JsonObject) -> int:
    return max((as_nanos(item[name]) for name in _TIMES if name in item), default=0)


def _has_ids(item: JsonObject, signal: Signal) -> bool:
    return all(any(as_id(item.get(key)) for key in spellings) for spellings in signal.ids)
