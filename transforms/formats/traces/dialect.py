"""What a dialect of spans is, and what is read of a span whatever its dialect."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Literal

import msgspec
from msgspec import Struct

from turnwise.schemas.conversation import Usage
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.endings import TOKENS, failure_mark
from turnwise.transforms.formats.messages.kinds import AGENT, HIDDEN, SYSTEM, key_set, objects_in
from turnwise.transforms.formats.messages.parts import OBJECT, SpanMessage
from turnwise.transforms.formats.messages.spellings import (
    is_mere_text,
    only_messages,
    read_history,
    read_messages,
)
from turnwise.transforms.formats.traces.span import NULL, TraceSpan, as_count, is_cut, loaded

Kind = Literal["model", "tool", "agent", "chain", "handoff", "other"]
"""`agent`: an agent or a workflow; `chain`: a step that holds others; `other`: known, and none of these."""


class SpanStep(msgspec.Struct, kw_only=True, gc=False):
    """What dialects read in a span; None: not stated. Empty messages: stated, and cut off or no JSON.

    Attributes:
        name: Name of the tool, of the agent, or of the model.
        user: The user's message, where it is stated apart from the input.
        asks_calls: Whether the model asked for calls of which other spans hold the arguments.
        error: Error of the tool or the agent.
        target: Agent that a hand-off leads to.
        event: Which event of a call it is, where each has its own span; `told`: what the agent was told.
        unread: What is not read, such as events of an unknown type: words for several of them.
    """

    kind: Kind | None = None
    name: str | None = None
    input: list[SpanMessage] | None = None
    output: list[SpanMessage] | None = None
    user: str | None = None
    args: JsonValue = None
    result: JsonValue = None
    has_result: bool = False
    asks_calls: bool = False
    error: bool | str | None = None
    call_id: str | None = None
    target: str | None = None
    usage: Usage | None = None
    finish: str | None = None
    response_id: str | None = None
    event: Literal["start", "end", "told"] | None = None
    tags: list[str] = []
    unread: str | None = None
    dialects: list[str] = []

    def fill(self, other: "SpanStep") -> None:
        """Takes over what this one does not state; an error only if it has neither output nor result."""
        for field in self.__struct_fields__:
            if field not in ("dialects", "error", "has_result", "result") and not getattr(self, field):
                held = getattr(other, field)
                if held is not None:
                    setattr(self, field, held)
        self.error = self.error or (None if self.output or self.has_result else other.error)
        if not self.has_result and other.has_result:
            self.result, self.has_result = other.result, True
        self.dialects = list(dict.fromkeys((*self.dialects, *other.dialects)))


class SpanDialect(Struct, frozen=True):
    """How one writer spells agents, model calls and tool calls.

    Attributes:
        name: Its name, as it is told in the conversation's `source`.
        prefixes: First words of its attribute keys (`gen_ai`, `llm`); a span with none of them is not read.
        read: Adds what the span says to a step; an attribute of any type may come.
        names: First words of the names of spans that are read even without such keys.
        is_guess: Whether it is asked only where no other says what the span is.
    """

    name: str
    prefixes: frozenset[str]
    read: Callable[[TraceSpan, SpanStep], None]
    names: tuple[str, ...] = ()
    is_guess: bool = False


def text_at(attributes: JsonObject, *keys: str) -> str | None:
    """Returns the first of some attributes that is a text or number and not empty or hidden."""
    for key in keys:
        value = attributes.get(key)
        if value.__class__ is str:
            if value and value not in HIDDEN:
                return str(value)
        elif value.__class__ is int:
            return str(value)
    return None


def value_at(attributes: JsonObject, *keys: str) -> JsonValue:
    """Returns what the first stated of some attributes spells; None: none is stated, or it is hidden."""
    for key in keys:
        value = attributes.get(key)
        if value is not None and not (isinstance(value, str) and value in HIDDEN):
            return loaded(value)
    return None


def messages_at(value: JsonValue, role: str) -> list[SpanMessage] | None:
    """Returns the messages of an attribute; None: none, not stated or hidden; empty: JSON that is cut off."""
    if value is None or (isinstance(value, str) and (value in ("", NULL) or value in HIDDEN)):
        return None
    messages = read_history(value, role) if isinstance(value, str) else read_messages(value, role)
    if len(messages) == 1 and messages[0].texts == [value] and is_cut(value):
        return []
    # All may be objects of a program in place of their content.
    return messages if any(message.parts != [OBJECT] or message.texts for message in messages) else None


def json_messages_at(value: JsonValue, role: str) -> list[SpanMessage] | None:
    """Returns the messages of an attribute that is always JSON; empty: it is cut off, or no JSON."""
    messages = messages_at(value, role)
    if not isinstance(value, str) or not messages or not is_mere_text(messages, value):
        return messages
    return [] if value.lstrip().startswith(("{", "[", '"')) else messages


def only_messages_at(value: JsonValue, role: str) -> list[SpanMessage] | None:
    """Returns, as `json_messages_at`, those of what holds nothing but messages: what is none is nobody's."""
    messages = json_messages_at(value, role)
    if messages is None and not (isinstance(value, str) and value in HIDDEN):
        return only_messages(value, role) or None
    return messages


def usage_at(report: JsonValue, prefix: str = "") -> Usage | None:
    """Returns the tokens of a report, whose names a prefix may precede; None: it is none, or states none."""
    counts: dict[str, Any] = {}
    for field, names in TOKENS.items() if isinstance(report, dict) else ():
        stated = (as_count(report[prefix + name]) for name in names if prefix + name in report)
        counts[field] = next((count for count in stated if count is not None), None)
    return Usage(**counts) if any(count is not None for count in counts.values()) else None


def with_system(system: JsonValue, messages: list[SpanMessage] | None) -> list[SpanMessage] | None:
    """Returns messages after system instructions that stand apart from them."""
    instructions = messages_at(system, SYSTEM)
    if not instructions or messages == []:
        return messages
    return [SpanMessage(SYSTEM, message.texts) for message in instructions] + (messages or [])


_WORDS: dict[Kind, str] = {
    "model": "chat generate_content text_completion completion llm generation chat_model model response",
    "agent": "invoke_agent invoke_workflow invoke_graph invoke_swarm agent workflow",
    "chain": "agent_step chain conversation initiate_chats task trace turn custom",
    "tool": "execute_tool tool function",
    "handoff": "handoff agent_handoff",
    "other": "embeddings embedding retrieval retriever rerank reranker guardrail evaluator prompt parser "
    "event create_agent speaker_selection await_human_input mcp_tools transcription speech speech_group",
}
_KINDS = {word: kind for kind, words in _WORDS.items() for word in words.split()}


def kind_at(value: JsonValue) -> Kind | None:
    """Returns the kind that a word of any writer names, in any case of letters; None: unknown."""
    return _KINDS.get(value.lower()) if isinstance(value, str) else None


WORK = key_set(
    "gen_ai llm openinference traceloop langsmith langfuse mlflow ai adk_events claude lk haystack "
    "braintrust weave wandb crewai autogen dspy"
)
"""First words of the keys of traces of agents, whether or not a dialect reads them."""
NOISE = key_set(
    "http url user_agent net network server client peer tls dns asgi db redis rpc grpc messaging faas aws "
    "cloudevents graphql mcp"
)
"""First words of the keys of spans of HTTP, a database or the like."""


def words_of(span: TraceSpan) -> frozenset[str]:
    """Returns the first words of a span's keys and of the names of its events."""
    words = _first_words(tuple(span.attributes))
    if span.events:
        words = words.union(event.name.partition(".")[0] for event in span.events if event.name)
    return words


@lru_cache(maxsize=512)
def _first_words(keys: tuple[str, ...]) -> frozenset[str]:
    return frozenset(key.partition(".")[0] for key in keys)


def looks_like_work(span: TraceSpan, words: frozenset[str]) -> bool:
    """Returns whether a span has keys or a name of traces of agents, whether or not a dialect reads it."""
    first = span.name.partition(".")[0].partition("_")[0]
    return first in WORK or not words.isdisjoint(WORK)


_SESSIONS = ("gen_ai.conversation.id", "session.id", "langfuse.session.id", "gcp.vertex.agent.session_id")
_SESSION_NAMES = (
    *("session_id", "thread_id", "conversation_id", "sessionId", "threadId", "conversationId", "chat_id"),
    *("chatId", "langfuse_session_id", "langfuseSessionId", "mlflow.trace.session"),
)
_HOLDERS = (
    *("langsmith.metadata.", "traceloop.association.properties.", "ai.telemetry.metadata.", "metadata."),
    *("ai.settings.context.", "mlflow.trace.", "langfuse.trace.metadata.", "langfuse.observation.metadata."),
)
_USER_NAMES = ("user_id", "userId", "langfuse_user_id", "langfuseUserId", "mlflow.trace.user")
_TAGS = ("tag.tags", "langfuse.trace.tags", "langsmith.span.tags", "ai.telemetry.metadata.tags")
ENVIRONMENTS = ("deployment.environment.name", "deployment.environment")
_WITH_METADATA = key_set("metadata langfuse langsmith traceloop ai mlflow tag session gcp")
LABELLED = _WITH_METADATA | {"gen_ai"}
"""First words of the keys that name conversations, versions or tags."""


def conversation_of(span: TraceSpan, words: frozenset[str]) -> str | None:
    """Returns the id of the conversation that a span names; None: it names none."""
    name = None if words.isdisjoint(LABELLED) else text_at(span.attributes, *_SESSIONS)
    if name is None and not words.isdisjoint(_WITH_METADATA):
        name = text_at(metadata_of(span.attributes), *_SESSION_NAMES)
    return name


def user_of(span: TraceSpan) -> str | None:
    """Returns the id of the user that a span names; None: it names none."""
    name = text_at(span.attributes, "user.id", "enduser.id", "langfuse.user.id")
    if name is None and not words_of(span).isdisjoint(_WITH_METADATA):
        name = text_at(metadata_of(span.attributes), *_USER_NAMES)
    return name


def metadata_of(attributes: JsonObject) -> JsonObject:
    """Returns what writers call the metadata of a span."""
    metadata: JsonObject = {}
    for key, value in attributes.items():
        if key.startswith(_HOLDERS):
            holder = next(prefix for prefix in _HOLDERS if key.startswith(prefix))
            metadata.setdefault(key[len(holder) :], value)
        elif key in ("metadata", "langfuse.trace.metadata", "langfuse.observation.metadata"):
            inner = loaded(value)
            if isinstance(inner, dict):
                metadata = {**inner, **metadata}
    return metadata


def tags_of(span: TraceSpan, words: frozenset[str]) -> list[str]:
    """Returns the tags that a span with such first words of its keys names."""
    for key in () if words.isdisjoint(_WITH_METADATA) else _TAGS:
        value = loaded(span.attributes.get(key))
        if isinstance(value, str):
            value = [item.strip() for item in value.split(",") if item.strip()]
        texts = [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
        tags = [item for item in texts if not item.startswith(("seq:step:", "graph:step:", "map:key:"))]
        if tags:
            return tags
    return []


_RESPONSE = {"id", "name", "response", "will_continue", "scheduling", "parts"}
_OF_OUTPUT = {"output", "kwargs", "tags", "metadata"}
_WRAPPERS = {
    "data": {"data", "type"},
    "kwargs": {"kwargs", "lc", "type", "id", "name"},
    "update": {"update", "graph", "resume", "goto", "type", "lg_name"},
}
"""Key of what a dump of LangChain holds -> all its keys."""


def tool_result(value: JsonValue) -> tuple[JsonValue, bool | str | None]:
    """Returns the result in a dumped message of a tool, or the value that is spelt; and its error."""
    inner = value
    if isinstance(inner, dict) and inner.keys() <= _RESPONSE and isinstance(inner.get("response"), dict):
        return (inner["response"], None) if "name" in inner else (value, None)
    output = inner.get("output") if isinstance(inner, dict) and inner.keys() <= _OF_OUTPUT else None
    if isinstance(output, dict) and output.keys() & {"content", "kwargs", "data"}:
        inner = output
    if isinstance(inner, dict) and inner.keys() >= {"tool_name", "raw_input", "raw_output"}:
        # LlamaIndex tells the model the texts of a tool's output, or else the raw value.
        texts = [block.get("text") for block in objects_in(inner.get("blocks"))]
        words = [text for text in texts if isinstance(text, str)]
        shown = "\n".join(words) if words and len(words) == len(texts) else inner.get("raw_output")
        return shown, failure_mark(inner) or None
    for key, beside in _WRAPPERS.items():
        if isinstance(inner, dict) and inner.keys() <= beside and isinstance(inner.get(key), dict):
            inner = inner[key]
    is_message = isinstance(inner, dict) and ("tool_call_id" in inner or inner.get("type") == "tool")
    if isinstance(inner, dict) and is_message and "content" in inner:
        for message in read_messages({**inner, "role": "tool"}, AGENT):
            for result in message.results:
                return result.response, result.error
    return None if value == NULL else value, None


def add_result(step: SpanStep, value: JsonValue) -> None:
    """Adds the result of a tool, if it is stated, as `tool_result` reads it."""
    if value is not None:
        step.result, step.error = tool_result(value)
        step.has_result = True
