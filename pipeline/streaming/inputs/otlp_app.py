"""Answers OTLP/HTTP requests: decodes what is sent, and stores it before it says so."""

import logging
import traceback
import zlib
from base64 import b64decode
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

from anyio import CapacityLimiter, to_thread
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as traces
from pydantic_core import from_json
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from turnwise.pipeline.streaming.inputs.otlp_spool import Export, Spool, SpoolFullError
from turnwise.schemas.jsonio import JsonObject, JsonValue, dump_json, shown
from turnwise.transforms.formats.traces.span import as_id, as_nanos

LOG = logging.getLogger("turnwise.otlp")
_HELD_BYTES = 1 << 28
_WORKERS = 2


class _Status(NamedTuple):
    """An HTTP status, with the code of `google.rpc.Code` and headers."""

    http: int
    code: int
    headers: dict[str, str] = {}  # noqa: RUF012


_INVALID, _LARGE, _MEDIA = _Status(400, 3), _Status(413, 8), _Status(415, 3)
_NOT_FOUND, _METHOD = _Status(404, 5), _Status(405, 12, {"Allow": "POST"})
_INTERNAL, _FULL = _Status(500, 13), _Status(503, 14, {"Retry-After": "5"})


class _Refused(Exception):
    """An answer to a request that is not stored: its status and a message."""


class OtlpApp:
    """The ASGI application of a receiver, which stores requests in a spool."""

    def __init__(self, spool: Spool, limit: int) -> None:
        """Creates the application; `limit` is the largest body in bytes, as sent and when decompressed."""
        self._spool, self._limit, self._held = spool, limit, 0
        self._workers = CapacityLimiter(_WORKERS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        try:
            body, status = await self._answer(request, media), _Status(200, 0)
        except ClientDisconnect:
            return
        except _Refused as refused:
            # As `google.rpc.Status`, whose code and message are encoded as the fields of a partial success.
            status, message = refused.args
            body = dump_json({"code": status.code, "message": message})
            if media == PROTOBUF:
                failure = traces.ExportTracePartialSuccess(rejected_spans=status.code, error_message=message)
                body = failure.SerializeToString()
        if media not in (JSON, PROTOBUF):
            media = JSON
        response = Response(body, status.http, {**status.headers, "Content-Type": media})
        await response(scope, receive, send)

    async def _answer(self, request: Request, media: str) -> bytes:
        parts: list[bytes] = []
        size, refusal = 0, None
        try:
            # A body that is refused is read to its end, so that the client reads the answer.
            async for part in request.stream():
                size += len(part)
                if size > self._limit:
                    refusal = _Refused(_LARGE, f"the body has more than {self._limit} bytes")
                elif self._held + len(part) > max(_HELD_BYTES, self._limit):
                    refusal = refusal or _Refused(_FULL, "too many requests at once")
                if refusal is None:
                    self._held += len(part)
                    parts.append(part)
                else:
                    self._held -= sum(map(len, parts))
                    parts.clear()
            if refusal is not None:
                raise refusal
            signal = SIGNALS.get(request.url.path)
            if signal is None:
                raise _Refused(_NOT_FOUND, f"there is nothing here; POST to {' or '.join(SIGNALS)}")
            if request.method != "POST":
                raise _Refused(_METHOD, "use POST")
            if media not in (JSON, PROTOBUF):
                raise _Refused(_MEDIA, f"Content-Type must be {PROTOBUF} or {JSON}")
            encoding = request.headers.get("content-encoding", "").strip().lower()
            work = partial(self._store, signal, media, encoding, b"".join(parts))
            refused = await to_thread.run_sync(work, limiter=self._workers)
        finally:
            self._held -= sum(map(len, parts))
        message = f"{refused} {signal.noun} lack the ids that they need, and are not read"
        if media == JSON:
            partial_success = {signal.rejected: str(refused), "errorMessage": message}
            return dump_json({"partialSuccess": partial_success} if refused else {})
        if not refused:
            return b""
        # Answers to spans and to log records are encoded alike.
        success = traces.ExportTracePartialSuccess(rejected_spans=refused, error_message=message)
        return traces.ExportTraceServiceResponse(partial_success=success).SerializeToString()

    def _store(self, signal: "Signal", media: str, encoding: str, body: bytes) -> int:
        """Stores a request and returns the number of refused items; called in a thread."""
        try:
            export, refused = _decode(signal, media, _decompressed(body, encoding, self._limit))
            refused_spans = refused if signal.noun == "spans" else 0
            if export is not None or refused_spans:
                self._spool.add(export, refused_spans)
        except _Refused:
            raise
        except (ValueError, RecursionError) as error:
            raise _Refused(_INVALID, " ".join(str(error).split())[:300]) from None
        except SpoolFullError:
            raise _Refused(_FULL, "too much waits to be scored") from None
        except OSError as error:
            LOG.error("%s", error)
            raise _Refused(_FULL, "the disk cannot be written") from None
        except Exception as error:
            # The message of an unexpected error may hold parts of the request; its location does not.
            frame = traceback.extract_tb(error.__traceback__)[-1]
            LOG.error("%s at %s:%s", type(error).__name__, frame.filename, frame.lineno)
            raise _Refused(_INTERNAL, "internal error") from None
        return refused


# Bodies of requests: compression, JSON or protobuf, and which spans can be used.

JSON, PROTOBUF = "application/json", "application/x-protobuf"
_WINDOWS = {"gzip": 31, "deflate": 15}
_TIMES = (
    *("endTimeUnixNano", "end_time_unix_nano", "startTimeUnixNano", "start_time_unix_nano"),
    *("timeUnixNano", "time_unix_nano", "observedTimeUnixNano", "observed_time_unix_nano"),
)
_IDS = ("traceId", "spanId", "parentSpanId")
_TRACE, _SPAN = ("traceId", "trace_id"), ("spanId", "span_id")


class Signal(NamedTuple):
    """What is sent to a path: spans or log records.

    Attributes:
        resources: Spellings of the key, OTLP/JSON's and protobuf's; likewise of `scopes` and `items`.
        ids: Spellings of the ids without which an item cannot be used.
        rejected: Key of the number of refused ones in an answer.
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
        (_TRACE, _SPAN), "rejectedSpans", traces.ExportTraceServiceRequest,
    ),
    "/v1/logs": Signal(
        "log records", ("resourceLogs", "resource_logs"), ("scopeLogs", "scope_logs"),
        ("logRecords", "log_records"), (_TRACE,), "rejectedLogRecords", ExportLogsServiceRequest,
    ),
}
# fmt: on


def _decompressed(body: bytes, encoding: str, limit: int) -> bytes:
    """Returns the content of a body, of which `limit` bytes are decompressed; ValueError: it is broken."""
    if encoding in ("", "identity"):
        return body
    if encoding not in _WINDOWS:
        raise _Refused(_MEDIA, f"Content-Encoding {encoding[:40]!r} is not supported; use gzip")
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
        raise _Refused(_LARGE, f"the body has more than {limit} bytes when it is decompressed")
    return b"".join(parts)


def _decode(signal: Signal, content_type: str, body: bytes) -> tuple[Export | None, int]:
    """Returns what of a body can be used, and how many items lack ids; raises ValueError, in one line."""
    value: JsonObject
    if content_type == PROTOBUF:
        try:
            request = signal.request.FromString(body)
        except DecodeError as error:
            raise ValueError(f"no {signal.request.DESCRIPTOR.name}: {error}") from None
        value = MessageToDict(request, use_integers_for_enums=True)
        # OTLP/JSON writes ids in hexadecimal digits, where protobuf's JSON has base64; what has a start, also
        # at 0, is a span.
        for item in (item for scoped, key in _scopes(value, signal) for item in scoped[key]):
            if signal.noun == "spans":
                item.setdefault("startTimeUnixNano", "0")
            for holder in (item, *item.get("links", ())):
                holder |= {name: b64decode(holder[name]).hex() for name in _IDS if name in holder}
    else:
        value = from_json(body)
        if not isinstance(value, dict):
            raise ValueError(f"a JSON object is needed, not {shown(value)}")
        if value and not any(key in value for key in signal.resources):
            raise ValueError(f"the body has no {signal.resources[0]}")
    refused, count, latest = 0, 0, 0
    for scoped, key in _scopes(value, signal):
        items = _objects(scoped, key)
        used = [item for item in items if all(any(as_id(item.get(k)) for k in keys) for keys in signal.ids)]
        if len(used) < len(items):
            scoped[key] = list[JsonValue](used)
            refused += len(items) - len(used)
        count += len(used)
        latest = max([latest, *(as_nanos(item[name]) for item in used for name in _TIMES if name in item)])
    if not count:
        return None, refused
    is_stored_as_sent = content_type == JSON and not refused
    return Export(body if is_stored_as_sent else dump_json(value), latest / 1e9 or None), refused


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
        raise ValueError(f"{key} must be a list, not {shown(values)}")
    objects = [value for value in values if isinstance(value, dict)]
    if len(objects) < len(values):
        raise ValueError(f"{key} must hold objects alone")
    return objects
