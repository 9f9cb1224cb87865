"""Inputs and outputs of sessions."""

from pydantic import Field

from turnwise.schemas.ces.conversation import (
    Blob,
    CesToolCall,
    CesToolResponse,
    ConversationMessage,
    Image,
    Span,
)
from turnwise.schemas.proto.any import AnyMessage
from turnwise.schemas.proto.fields import Bool, Bytes, Int32, Repeated, Struct, Text
from turnwise.schemas.proto.message import Message
from turnwise.schemas.values import no_items


class ToolResponses(Message):
    """Answers of client-side tools."""

    tool_responses: Repeated[CesToolResponse] = Field(default_factory=no_items)
    """The answers."""


class SessionEvent(Message):
    """An event."""

    PROTO = "Event"
    REQUIRED = ("event",)

    event: Text = ""
    """Name of the event."""


class SessionInput(Message):
    """An input of a user or a client."""

    ONEOFS = (("text", "dtmf", "audio", "tool_responses", "image", "blob", "variables", "event"),)

    text: Text | None = None
    """Text."""
    dtmf: Text | None = None
    """Telephone digits."""
    audio: Bytes | None = None
    """Audio bytes."""
    tool_responses: ToolResponses | None = None
    """Answers of the client's tools."""
    image: Image | None = None
    """Image."""
    blob: Blob | None = None
    """Binary data."""
    variables: Struct | None = None
    """Session variables."""
    event: SessionEvent | None = None
    """Named event."""
    will_continue: Bool = False
    """Whether it is a fragment of a longer input."""


class ToolCalls(Message):
    """Calls for tools of the client."""

    tool_calls: Repeated[CesToolCall] = Field(default_factory=no_items)


class CitedChunk(Message):
    """A source of an agent's text."""

    PROTO = "Citations.CitedChunk"

    uri: Text = ""
    title: Text = ""
    text: Text = ""
    requires_attribution: Bool = False


class Citations(Message):
    """Sources of an agent's text."""

    cited_chunks: Repeated[CitedChunk] = Field(default_factory=no_items)


class WebSearchQuery(Message):
    """A suggested search."""

    query: Text = ""
    uri: Text = ""


class GoogleSearchSuggestions(Message):
    """Search suggestions to be shown with an answer."""

    htmls: Repeated[Text] = Field(default_factory=no_items)
    web_search_queries: Repeated[WebSearchQuery] = Field(default_factory=no_items)


class EndSession(Message):
    """End of the session; the metadata holds the reason."""

    metadata: Struct | None = None


class DiagnosticInfo(Message):
    """Messages and trace of a turn."""

    PROTO = "SessionOutput.DiagnosticInfo"

    messages: Repeated[ConversationMessage] = Field(default_factory=no_items)
    root_span: Span | None = None


class SessionOutput(Message):
    """One output of a session."""

    ONEOFS = (
        ("text", "audio", "tool_calls", "citations", "google_search_suggestions", "end_session", "payload"),
    )

    text: Text | None = None
    audio: Bytes | None = None
    tool_calls: ToolCalls | None = None
    citations: Citations | None = None
    google_search_suggestions: GoogleSearchSuggestions | None = None
    end_session: EndSession | None = None
    payload: Struct | None = None
    turn_index: Int32 = 0
    """1-based."""
    turn_completed: Bool = False
    diagnostic_info: DiagnosticInfo | None = None
    context: Repeated[AnyMessage] = Field(default_factory=no_items)
