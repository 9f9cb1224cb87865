"""Limits HTTP connections: their number, and the time for headers, body and reading the answer."""

import logging
import resource
from typing import Any

import h11
from msgspec import Struct
from uvicorn.protocols.http.h11_impl import H11Protocol

from turnwise.pipeline.io.terminal import complain
from turnwise.pipeline.service.errors import HTTP_CODES, ServiceError
from turnwise.schemas.jsonio import dump_json

_LOOK_SECONDS = 1.0
_MOST_CONNECTIONS = 256
_TELL_SECONDS = 60.0
_NO_HTTP = (
    "a client sent what is no HTTP/1.1 request, and was refused; if it exports spans over gRPC, set "
    "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf there"
)
_ERRORS = logging.getLogger("uvicorn.error.connection")
_ERRORS.setLevel(logging.ERROR)


class HttpLimits(Struct, frozen=True):
    """Limits of connections.

    Attributes:
        headers: Seconds for a request's headers, from the start of the connection.
        body: Seconds for a request's body.
        answer: Seconds without progress while a client reads an answer.
        connections: Concurrent connections.
    """

    headers: float = 10.0
    body: float = 30.0
    answer: float = 30.0
    connections: int = _MOST_CONNECTIONS


def server_limits() -> HttpLimits:
    """Returns the limits of a server; connections use at most half of the process's file descriptors."""
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    most = _MOST_CONNECTIONS if files == resource.RLIM_INFINITY else files // 2
    return HttpLimits(connections=max(8, min(_MOST_CONNECTIONS, most)))


class LimitedProtocol(H11Protocol):
    """Closes connections of slow clients; at the limit, the one that has waited longest for its client.

    Idle connections of one client therefore do not block others. A connection whose request is being
    processed is not closed.
    """

    _told_at = -_TELL_SECONDS

    def __init__(self, *arguments: Any, limits: HttpLimits, **named: Any) -> None:
        super().__init__(*arguments, **named)
        # Its warnings are about clients, who are answered.
        self.logger = _ERRORS
        self._limits = limits
        self._answers = 0
        self._due: tuple[str, int, int] | None = None
        self._since = self.loop.time()

    def connection_made(self, transport: Any) -> None:
        """Accepts a connection; at the limit, closes another one."""
        super().connection_made(transport)
        self._look()
        if len(self.connections) > self._limits.connections:
            self._make_room()

    def send_400_response(self, msg: str) -> None:
        """Answers a request that is not HTTP, unless an answer has begun; says so once a minute."""
        if self.loop.time() - LimitedProtocol._told_at >= _TELL_SECONDS:
            LimitedProtocol._told_at = self.loop.time()
            complain(_NO_HTTP)
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.abort()
            return
        if self.cycle is not None:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self._answer_and_close(ServiceError("INVALID_ARGUMENT", "the request is not HTTP"))

    def on_response_complete(self) -> None:
        """Counts the answer and prepares for the next request."""
        self._answers += 1
        super().on_response_complete()

    def _answer_and_close(self, error: ServiceError) -> None:
        body, code = dump_json(error.to_value()), HTTP_CODES[error.status]
        head = f"HTTP/1.1 {code} {error.status}\r\nContent-Type: application/json\r\n"
        length = f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        self.transport.write((head + length).encode() + body)
        self.transport.close()

    def _what_is_due(self) -> tuple[str, int, int] | None:
        """Returns what the client has to send or read, and its progress; None while the server works."""
        unread = self.transport.get_write_buffer_size()
        if unread:
            return "answer", self._answers, unread
        if self.conn.their_state is h11.SEND_BODY:
            return "body", self._answers, 0
        return ("headers", self._answers, 0) if self.conn.their_state is h11.IDLE else None

    def _refresh(self) -> None:
        due = self._what_is_due()
        if due != self._due:
            self._due, self._since = due, self.loop.time()

    def _look(self) -> None:
        if self not in self.connections:
            return
        self._refresh()
        if self._due and self.loop.time() - self._since > getattr(self._limits, self._due[0]):
            self.transport.abort()
        else:
            self.loop.call_later(min(_LOOK_SECONDS, self._limits.headers), self._look)

    def _make_room(self) -> None:
        """Closes the connection that has waited longest for its client, or refuses this one."""
        others = [other for other in self.connections if isinstance(other, LimitedProtocol)]
        for other in others:
            other._refresh()
        due = [other for other in others if other._due and other is not self]
        longest = min(due, key=lambda other: other._since, default=self)
        # asyncio reports the lost connection later.
        self.connections.discard(longest)
        if longest is self:
            self._answer_and_close(ServiceError("UNAVAILABLE", "there are too many connections"))
        else:
            longest.transport.abort()
