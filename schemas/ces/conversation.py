"""Conversations of an app; the same in v1 and v1beta."""

from pydantic import Field

from turnwise.schemas.jsonio import no_items
from turnwise.schemas.proto.message import (
    Bytes,
    Duration,
    Implicit,
    Int32,
    Message,
    OpenEnum,
    Repeated,
    Struct,
    Text,
    Timestamp,
)


class Span(Message):
    """A node of a trace."""

    name: Text = ""
    """Kind or name of the span."""
    start_time: Timestamp | None = None
    """Start."""
    end_time: Timestamp | None = None
    """End."""
    duration: Duration | None = None
    """Length."""
    attributes: Struct | None = None
    """Free-form attributes."""
    child_spans: Repeated["Span"] = Field(default_factory=no_items)
    """Spans inside it."""


class ToolsetTool(Message):
    """A tool of a toolset."""

    REQUIRED = ("toolset",)

    toolset: Text = ""
    """Name of the toolset."""
    tool_id: Text = ""
    """Id of the tool in it."""


class CesToolCall(Message):
    """A request to run a tool."""

    PROTO = "ToolCall"

    ONEOFS = (("tool", "toolset_tool"),)

    tool: Text | None = None
    """Name of a tool of the app."""
    toolset_tool: ToolsetTool | None = None
    """Tool of a toolset."""
    id: Text = ""
    """Id that the response repeats."""
    display_name: Text = ""
    """Display name of the tool."""
    args: Struct | None = None
    """Arguments."""


class CesToolResponse(Message):
    """A response of a tool."""

    PROTO = "ToolResponse"

    ONEOFS = (("tool", "toolset_tool"),)
    REQUIRED = ("response",)

    tool: Text | None = None
    """Name of a tool of the app."""
    toolset_tool: ToolsetTool | None = None
    """Tool of a toolset."""
    id: Text = ""
    """Id of the call."""
    display_name: Text = ""
    """Display name of the tool."""
    response: Struct | None = None
    """`output` holds the result, `error` the error; without both, the whole object is the result."""


class AgentTransfer(Message):
    """A hand-over to another agent."""

    REQUIRED = ("target_agent",)

    target_agent: Text = ""
    """Name of the agent."""
    display_name: Text = ""
    """Its display name."""


class Blob(Message):
    """Binary data."""

    REQUIRED = ("mime_type", "data")

    mime_type: Text = ""
    """Media type."""
    data: Bytes = ""
    """The bytes."""


class Image(Message):
    """An image."""

    REQUIRED = ("mime_type", "data")

    mime_type: Text = ""
    """image/png, image/jpeg or image/webp."""
    data: Bytes = ""
    """The bytes."""


class Chunk(Message):
    """One piece of content."""

    ONEOFS = (
        (
            "text",
            "transcript",
            "blob",
            "payload",
            "image",
            "tool_call",
            "tool_response",
            "agent_transfer",
            "updated_variables",
            "default_variables",
        ),
    )

    text: Text | None = None
    """Text."""
    transcript: Text | None = None
    """Text of audio."""
    blob: Blob | None = None
    """Binary data."""
    payload: Struct | None = None
    """Custom payload."""
    image: Image | None = None
    """Image."""
    tool_call: CesToolCall | None = None
    """Tool call."""
    tool_response: CesToolResponse | None = None
    """Tool response."""
    agent_transfer: AgentTransfer | None = None
    """Hand-over to an agent."""
    updated_variables: Struct | None = None
    """Variables that changed here."""
    default_variables: Struct | None = None
    """Variables at the start."""


class ConversationMessage(Message):
    """One message of a user or an agent."""

    PROTO = "Message"

    role: Text = ""
    """`user`, `agent` or the display name of the agent."""
    chunks: Repeated[Chunk] = Field(default_factory=no_items)
    """Content, in order."""
    event_time: Timestamp | None = None
    """When it was sent or received."""


class ConversationTurn(Message):
    """A user's input and the messages that follow."""

    PROTO = "Conversation.Turn"

    messages: Repeated[ConversationMessage] = Field(default_factory=no_items)
    root_span: Span | None = None


class ChannelType(OpenEnum):
    """Older form of input types."""

    CHANNEL_TYPE_UNSPECIFIED = 0
    TEXT = 1
    AUDIO = 2
    MULTIMODAL = 3


class ConversationSource(OpenEnum):
    """Where a conversation came from."""

    SOURCE_UNSPECIFIED = 0
    LIVE = 1
    SIMULATOR = 2
    EVAL = 3
    AGENT_TOOL = 4


class InputType(OpenEnum):
    """Kind of an input."""

    INPUT_TYPE_UNSPECIFIED = 0
    INPUT_TYPE_TEXT = 1
    INPUT_TYPE_AUDIO = 2
    INPUT_TYPE_IMAGE = 3
    INPUT_TYPE_BLOB = 4
    INPUT_TYPE_TOOL_RESPONSE = 5
    INPUT_TYPE_VARIABLES = 6
    INPUT_TYPE_EVENT = 7


class CesConversation(Message):
    """One interaction of an end user with the app."""

    PROTO = "Conversation"

    name: Text = ""
    start_time: Timestamp | None = None
    end_time: Timestamp | None = None
    turns: Repeated[ConversationTurn] = Field(default_factory=no_items)
    turn_count: Int32 = 0
    channel_type: Implicit[ChannelType] = ChannelType(0)
    """Superseded by `input_types`."""
    source: Implicit[ConversationSource] = ConversationSource(0)
    input_types: Repeated[InputType] = Field(default_factory=no_items)
    entry_agent: Text = ""
    """Absent: the root agent."""
    deployment: Text = ""
    app_version: Text = ""
    language_code: Text = ""
    messages: Repeated[ConversationMessage] = Field(default_factory=no_items)
    """Older flat list; `turns` has them too."""
