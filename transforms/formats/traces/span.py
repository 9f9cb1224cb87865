"""One span of a trace, independent of the container it was read from."""

import msgspec

from turnwise.schemas.jsonio import JsonObject, JsonValue

PENDING = "logfire.span_type"
"""The attribute by which Logfire marks the copy of a span that has not ended."""


class SpanEvent(msgspec.Struct, omit_defaults=True, array_like=True, gc=False):
    """An event of a span, or a log record that names the span.

    Attributes:
        name: Name of the event; "": none is stated.
        time: Nanoseconds since the epoch; 0: not stated.
        attributes: Attributes by key.
        body: Body of a log record.
    """

    name: str = ""
    time: int = 0
    attributes: JsonObject = {}
    body: JsonValue = None


class TraceSpan(msgspec.Struct, omit_defaults=True, array_like=True, gc=False):
    """A span.

    Attributes:
        trace: Id of the trace, in small letters if it is hexadecimal; "": that of the part that holds it.
        id: Id of the span.
        parent: Id of the parent; "": it is a root.
        name: Name of the span.
        start: Nanoseconds since the epoch; 0: not stated.
        end: Nanoseconds since the epoch; 0: not stated, or cut off.
        attributes: Attributes by key.
        events: Events and log records.
        error: Whether its status is an error.
        message: Message of the status.
        scope: Name of the instrumentation scope.
        resource: Attributes of the resource; in a part of a trace only those of `of_service`.
        dropped: Number of attributes and events that limits dropped or cut.
        is_local: Whether its parent is known to be of the same process, so that a missing one is lost.
        listed: Ids of other spans, and pages, that the export says belong to the trace.
        page: Name of the page of a listing that it stands on; "": none.
        is_log: Whether only log records name it, so that the span itself may stand elsewhere.
    """

    trace: str = ""
    id: str = ""
    parent: str = ""
    name: str = ""
    start: int = 0
    end: int = 0
    attributes: JsonObject = {}
    events: list[SpanEvent] = []
    error: bool = False
    message: str = ""
    scope: str = ""
    resource: JsonObject = {}
    is_log: bool = False
    dropped: int = 0
    is_local: bool = False
    listed: list[str] = []
    page: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """Trace id and span id."""
        return self.trace, self.id
