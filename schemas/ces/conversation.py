"""Conversations of an app, the same in v1 and v1beta; what sessions take and give."""

from turnwise.schemas.proto import message as proto
from turnwise.schemas.proto.message import Int32, Message, OneOf, OpenEnum, Struct, Text, field


class Span(Message):
    """A node of a trace."""

    name: Text = field("Kind or name of the span.")
    start_time: proto.Timestamp | None = field("Start.")
    end_time: proto.Timestamp | None = field("End.")
    duration: proto.Duration | None = field("Length.")
    attributes: Struct | None = field("Free-form attributes.")
    child_spans: list["Span"] = field("Spans inside it.")


class ToolsetTool(Message):
    """A tool of a toolset."""

    toolset: Text = field("Name of the toolset.", required=True)
    tool_id: Text = field("Id of the tool in it.")


class CesToolCall(Message, proto="ToolCall"):
    """A request to run a tool."""

    tool: OneOf[Text] = field("Name of a tool of the app.")
    toolset_tool: OneOf[ToolsetTool] = field("Tool of a toolset.")
    id: Text = field("Id that the response repeats.")
    display_name: Text = field("Display name of the tool.")
    args: Struct | None = field("Arguments.")


class CesToolResponse(Message, proto="ToolResponse"):
    """A response of a tool."""

    tool: OneOf[Text] = field("Name of a tool of the app.")
    toolset_tool: OneOf[ToolsetTool] = field("Tool of a toolset.")
    id: Text = field("Id of the call.")
    display_name: Text = field("Display name of the tool.")
    response: Struct | None = field(
        "`output` holds the result, `error` the error; without both, the whole object is the result.",
        required=True,
    )


class AgentTransfer(Message):
    """A hand-over to another agent."""

    target_agent: Text = field("Name of the agent.", required=True)
    display_name: Text = field("Its display name.")


class Blob(Message):
    """Binary data."""

    mime_type: Text = field("Media type.", required=True)
    data: proto.Bytes = field("The bytes.", required=True)


class Image(Message):
    """An image."""

    mime_type: Text = field("image/png, image/jpeg or image/webp.", required=True)
    data: proto.Bytes = field("The bytes.", required=True)


class Chunk(Message):
    """One piece of content."""

    text: OneOf[Text] = field("Text.")
    transcript: OneOf[Text] = field("Text of audio.")
    blob: OneOf[Blob] = field("Binary data.")
    payload: OneOf[Struct] = field("Custom payload.")
    image: OneOf[Image] = field("Image.")
    tool_call: OneOf[CesToolCall] = field("Tool call.")
    tool_response: OneOf[CesToolResponse] = field("Tool response.")
    agent_transfer: OneOf[AgentTransfer] = field("Hand-over to an agent.")
    updated_variables: OneOf[Struct] = field("Variables that changed here.")
    default_variables: OneOf[Struct] = field("Variables at the start.")


class ConversationMessage(Message, proto="Message"):
    """One message of a user or an agent."""

    role: Text = field("`user`, `agent` or the display name of the agent.")
    chunks: list[Chunk] = field("Content, in order.")
    event_time: proto.Timestamp | None = field("When it was sent or received.")


class ConversationTurn(Message, proto="Conversation.Turn"):
    """A user's input and the messages that follow."""

    messages: list[ConversationMessage] = field()
    root_span: Span | None = field()


class ChannelType(OpenEnum):
    """Older form of input types."""

    CHANNEL_TYPE_UNSPECIFIED, TEXT, AUDIO, MULTIMODAL = range(4)


class ConversationSource(OpenEnum):
    """Where a conversation came from."""

    SOURCE_UNSPECIFIED, LIVE, SIMULATOR, EVAL, AGENT_TOOL = range(5)


class InputType(OpenEnum):
    """Kind of an input."""

    (INPUT_TYPE_UNSPECIFIED, INPUT_TYPE_TEXT, INPUT_TYPE_AUDIO, INPUT_TYPE_IMAGE, INPUT_TYPE_BLOB,
     INPUT_TYPE_TOOL_RESPONSE, INPUT_TYPE_VARIABLES, INPUT_TYPE_EVENT) = range(8)  # fmt: skip


class CesConversation(Message, proto="Conversation"):
    """One interaction of an end user with the app."""

    name: Text = field()
    start_time: proto.Timestamp | None = field()
    end_time: proto.Timestamp | None = field()
    turns: list[ConversationTurn] = field()
    turn_count: Int32 = field()
    channel_type: ChannelType = field("Superseded by `input_types`.")
    source: ConversationSource = field()
    input_types: list[InputType] = field()
    entry_agent: Text = field("Absent: the root agent.")
    deployment: Text = field()
    app_version: Text = field()
    language_code: Text = field()
    messages: list[ConversationMessage] = field("Older flat list; `turns` has them too.")


class ToolResponses(Message):
    """Answers of client-side tools."""

    tool_responses: list[CesToolResponse] = field("The answers.")


class SessionEvent(Message, proto="Event"):
    """An event."""

    event: Text = field("Name of the event.", required=True)


class SessionInput(Message):
    """An input of a user or a client."""

    text: OneOf[Text] = field("Text.")
    dtmf: OneOf[Text] = field("Telephone digits.")
    audio: OneOf[proto.Bytes] = field("Audio bytes.")
    tool_responses: OneOf[ToolResponses] = field("Answers of the client's tools.")
    image: OneOf[Image] = field("Image.")
    blob: OneOf[Blob] = field("Binary data.")
    variables: OneOf[Struct] = field("Session variables.")
    event: OneOf[SessionEvent] = field("Named event.")
    will_continue: proto.Bool = field("Whether it is a fragment of a longer input.")


class ToolCalls(Message):
    """Calls for tools of the client."""

    tool_calls: list[CesToolCall] = field()


class CitedChunk(Message, inside="Citations"):
    """A source of an agent's text."""

    uri: Text = field()
    title: Text = field()
    text: Text = field()
    requires_attribution: proto.Bool = field()


class Citations(Message):
    """Sources of an agent's text."""

    cited_chunks: list[CitedChunk] = field()


class WebSearchQuery(Message):
    """A suggested search."""

    query: Text = field()
    uri: Text = field()


class GoogleSearchSuggestions(Message):
    """Search suggestions to be shown with an answer."""

    htmls: list[Text] = field()
    web_search_queries: list[WebSearchQuery] = field()


class EndSession(Message):
    """End of the session; the metadata holds the reason."""

    metadata: Struct | None = field()


class DiagnosticInfo(Message, inside="SessionOutput"):
    """Messages and trace of a turn."""

    messages: list[ConversationMessage] = field()
    root_span: Span | None = field()


class SessionOutput(Message):
    """One output of a session."""

    text: OneOf[Text] = field()
    audio: OneOf[proto.Bytes] = field()
    tool_calls: OneOf[ToolCalls] = field()
    citations: OneOf[Citations] = field()
    google_search_suggestions: OneOf[GoogleSearchSuggestions] = field()
    end_session: OneOf[EndSession] = field()
    payload: OneOf[Struct] = field()
    turn_index: Int32 = field("1-based.")
    turn_completed: proto.Bool = field()
    diagnostic_info: DiagnosticInfo | None = field()
    context: list[proto.AnyMessage] = field()
