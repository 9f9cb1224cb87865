"""Answers OTLP/HTTP requests: stores what is sent before it says so."""

import logging
import traceback
from functools import partial
from typing import NamedTuple

from anyio import CapacityLimiter, to_thread
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from turnwise.pipeline.streaming.inputs.otlp_decoding import (
    JSON,
    PROTOBUF,
    SIGNALS,
    OversizedBodyError,
    Signal,
    UnsupportedError,
    decode,
    decompressed,
    failure_answer,
    success_answer,
)
from turnwise.pipeline.streaming.inputs.otlp_spool import Spool, SpoolFullError

LOG = logging.getLogger("turnwise.otlp")
_HELD_BYTES = 1 << 28
_WORKERS = 2
_RETRY_SECONDS = "5"


class _Status(NamedTuple):
    """An HTTP status, with the code of `google.rpc.Code` and headers."""

    http: int
    code: int
    headers: dict[str, str] = {}  # noqa: RUF012


_INVALID, _LARGE, _MEDIA = _Status(400, 3), _Status(413, 8), _Status(415, 3)
_NOT_FOUND, _METHOD = _Status(404, 5), _Status(405, 12, {"Allow": "POST"})
_INTERNAL, _FULL = _Status(500, 13), _Status(503, 14, {"Retry-After": _RETRY_SECONDS})


class _Refused(Exception):
    def __init__(self, status: _Status, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message


class OtlpApp:
    """The ASGI application of a receiver, which stores requests in a spool."""

    def __init__(self, spool: Spool, limit: int) -> None:
        """Creates the application; `limit` is the largest body in bytes, as sent and when decompressed."""
        self._spool, self._limit, self._held = spool, limit, 0
        self._workers = CapacityLimiter(_WORKERS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request."""
        request = Request(scope, receive)
        media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        try:
            body, status = await self._answer(request, media), _Status(200, 0)
        except ClientDisconnect:
            return
        except _Refused as refused:
            status = refused.status
            body = failure_answer(media, status.code, refused.message)
        if media not in (JSON, PROTOBUF):
            media = JSON
        response = Response(body, status.http, {**status.headers, "Content-Type": media})
        await response(scope, receive, send)

    async def _answer(self, request: Request, media: str) -> bytes:
        parts: list[bytes] = []
        try:
            await self._receive(request, parts)
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
        return success_answer(signal, media, refused)

    async def _receive(self, request: Request, parts: list[bytes]) -> None:
        """Adds the parts of a body; reads a refused one to its end, so that the client reads the answer."""
        size, refused = 0, None
        async for part in request.stream():
            size += len(part)
            if size > self._limit:
                refused = _Refused(_LARGE, f"the body has more than {self._limit} bytes")
            elif self._held + len(part) > max(_HELD_BYTES, self._limit):
                refused = refused or _Refused(_FULL, "too many requests at once")
            if refused is None:
                self._held += len(part)
                parts.append(part)
            else:
                self._held -= sum(map(len, parts))
                parts.clear()
        if refused is not None:
            raise refused

    def _store(self, signal: Signal, media: str, encoding: str, body: bytes) -> int:
        """Stores a request and returns the number of refused items; called in a thread."""
        try:
            export, refused = decode(signal, media, decompressed(body, encoding, self._limit))
            refused_spans = refused if signal.noun == "spans" else 0
            if export is not None or refused_spans:
                self._spool.add(export, refused_spans)
        except OversizedBodyError as error:
            raise _Refused(_LARGE, str(error)) from None
        except UnsupportedError as error:
            raise _Refused(_MEDIA, str(error)) from None
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
