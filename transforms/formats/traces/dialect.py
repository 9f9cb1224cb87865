"""Dialects of spans, the extension point: what a writer's attributes mean, and what all say of a span."""

from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any, Literal

import msgspec
from msgspec import Struct

from turnwise.schemas.conversation import Usage
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.schemas.registry import Registry
from turnwise.transforms.formats.endings import TOKENS
from turnwise.transforms.formats.messages.kinds import AGENT, HIDDEN, SYSTEM, key_set
from turnwise.transforms.formats.messages.parts import OBJECT, SpanMessage
from turnwise.transforms.formats.messages.spellings import only_messages, read_history, read_messages
from turnwise.transforms.formats.traces.span import NULL, SpanEvent, TraceSpan, as_count, is_cut, loaded

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


class SpanDialect(Struct, frozen=True, kw_only=True):
    """How one writer spells agents, model calls and tool calls.

    Attributes:
        name: Its name, as it is told in the conversation's `source`.
        prefixes: First words of its attribute keys (`gen_ai`, `llm`); a span with none of them is not read.
        read: Adds what the span says to a step; an attribute of any type may come.
        rank: Of two dialects that state the same thing, the one of the lower rank counts.
        names: First words of the names of spans that are read even without such keys.
        is_guess: Whether it is asked only where no other says what the span is.
    """

    name: str
    prefixes: frozenset[str]
    read: Callable[[TraceSpan, SpanStep], None]
    rank: int
    names: tuple[str, ...] = ()
    is_guess: bool = False


DIALECTS: Registry[SpanDialect] = Registry(
    "dialect of spans",
    "turnwise.dialects",
    "turnwise.transforms.formats.traces.dialects",
    lambda item: None if isinstance(item, SpanDialect) else "it is no SpanDialect",
)
"""Name -> dialect."""


def register_dialect(item: SpanDialect) -> SpanDialect:
    """Adds a dialect of spans and returns it; raises TypeError if it is none or its name is taken."""
    return DIALECTS.add(item)


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
    if not isinstance(value, str) or not messages or len(messages) > 1 or messages[0].texts != [value]:
        return messages
    return [] if value.lstrip().startswith(("{", "[", '"')) else messages


def only_messages_at(value: JsonValue, role: str) -> list[SpanMessage] | None:
    """Returns, as `json_messages_at`, those of what holds nothing but messages: what is none is nobody's."""
    messages = json_messages_at(value, role)
    if messages is None and not (isinstance(value, str) and value in HIDDEN):
        return only_messages(value, role) or None
    return messages


@cache
def _token_keys(prefix: str) -> dict[str, tuple[str, ...]]:
    return {field: tuple(prefix + name for name in names) for field, names in TOKENS.items()}


def usage_at(report: JsonValue, prefix: str = "") -> Usage | None:
    """Returns the tokens of a report, whose names a prefix may precede; None: it is none, or states none."""
    counts: dict[str, Any] = {}
    for field, keys in _token_keys(prefix).items() if isinstance(report, dict) else ():
        stated = (as_count(report[key]) for key in keys if key in report)
        counts[field] = next((count for count in stated if count is not None), None)
    return Usage(**counts) if any(count is not None for count in counts.values()) else None


def with_system(system: JsonValue, messages: list[SpanMessage] | None) -> list[SpanMessage] | None:
    """Returns messages after system instructions that stand apart from them."""
    instructions = messages_at(system, SYSTEM)
    if not instructions or messages == []:
        return messages
    return [SpanMessage(SYSTEM, message.texts) for message in instructions] + (messages or [])


def kind_at(value: JsonValue, kinds: dict[str, Kind]) -> Kind | None:
    """Returns the kind that a word names, in any case of letters; None: unknown."""
    return kinds.get(value.lower()) if isinstance(value, str) else None


_LOOKS_LIKE_WORK = key_set(
    "gen_ai llm openinference traceloop langsmith langfuse mlflow ai adk_events claude lk haystack "
    "braintrust weave wandb crewai autogen dspy"
)
_NOISE = key_set(
    "http url user_agent net network server client peer tls dns asgi db redis rpc grpc messaging faas aws "
    "cloudevents graphql mcp"
)
_MERGED = ("(merged tools)", "(merged)")
"""Names of the span in which google-adk joins the results of parallel calls; it is no call itself."""


def read_span(span: TraceSpan) -> SpanStep:
    """Returns what all dialects read in a span; where several state the same, the first by rank counts."""
    words = words_of(span)
    step = _EMPTY
    for dialect in _asked(words, span.name.partition(" ")[0], DIALECTS.changes):
        if dialect.is_guess and step.kind is not None:
            continue
        stated = SpanStep()
        dialect.read(span, stated)
        if stated != _EMPTY:
            stated.dialects = [dialect.name]
            if step is _EMPTY:
                step = stated
            else:
                step.fill(stated)
    if not words.isdisjoint(LABELLED):
        step = SpanStep() if step is _EMPTY else step
        if not step.tags and not words.isdisjoint(_WITH_METADATA):
            step.tags = next((tags for key in _TAGS if (tags := _tags(span.attributes.get(key)))), [])
    if step.kind == "tool" and step.name in _MERGED:
        step.kind = "other"
    if step.kind == "model":
        _read_reply(span, step)
    if step.usage is not None and not (step.usage.input_tokens or step.usage.output_tokens):
        # No request has no tokens: the writer did not know them.
        step.usage = None
    kind = text_at(span.attributes, "error.type")
    if (span.error or kind) and step.error is None and step.kind in ("tool", "agent", "model", "chain"):
        raised = (event.attributes for event in span.events if event.name == "exception")
        texts = [text_at(held, "exception.message", "exception.type") for held in raised]
        message = text_at(span.attributes, "error.message")
        step.error = next(filter(None, (span.message, *texts, message, kind)), "error")
    return step


_EMPTY = SpanStep()  # of all spans that say nothing: nobody may change it


def _read_reply(span: TraceSpan, step: SpanStep) -> None:
    """Leaves the reply alone of an output that repeats the request."""
    # A span that is marked as a model's is a function around it where its output is the request alone, or
    # where it is a private function without an output.
    output = step.output or []
    if any(message.role == SYSTEM or message.is_users for message in output):
        last = max(index for index, message in enumerate(output) if message.role != AGENT)
        step.output = output[last + 1 :] or None
        is_helper = step.output is None
    else:
        is_helper = not output and span.name.rpartition(".")[2].startswith("_")
    if is_helper and not (span.error or step.usage is not None or step.response_id):
        step.kind = None


def words_of(span: TraceSpan) -> frozenset[str]:
    """Returns the first words of a span's keys and of the names of its events."""
    words = _first_words(tuple(span.attributes))
    if span.events:
        words = words.union(event.name.partition(".")[0] for event in span.events if event.name)
    return words


@lru_cache(maxsize=512)
def _first_words(keys: tuple[str, ...]) -> frozenset[str]:
    return frozenset(key.partition(".")[0] for key in keys)


@lru_cache(maxsize=4096)
def _asked(words: frozenset[str], name: str, changes: int) -> tuple[SpanDialect, ...]:
    """Returns the dialects that may say something of a span, by first words of its keys and its name."""
    dialects = sorted(DIALECTS.values(), key=lambda dialect: dialect.rank)
    return tuple(d for d in dialects if not words.isdisjoint(d.prefixes) or name in d.names)


def says_something(span: TraceSpan, words: frozenset[str]) -> bool:
    """Returns whether a dialect or a label may be read in a span with such first words of its keys."""
    asked = _asked(words, span.name.partition(" ")[0], DIALECTS.changes)
    return bool(asked) or not words.isdisjoint(LABELLED)


def kind_of(span: TraceSpan) -> Kind | None:
    """Returns what a span is, without reading its long texts."""
    if not says_something(span, words_of(span)):
        return None
    attributes: JsonObject = {
        key: item if not isinstance(item, str) or len(item) <= 300 else ""
        for key, item in span.attributes.items()
    }
    events = [SpanEvent(event.name) if event.name.startswith("gen_ai.") else event for event in span.events]
    return read_span(TraceSpan(span.trace, span.id, span.parent, span.name, span.start, span.end, attributes,
                               events, scope=span.scope, is_log=span.is_log)).kind  # fmt: skip


def is_noise(span: TraceSpan, words: frozenset[str]) -> bool:
    """Returns whether a span with such first words is of HTTP, a database or the like, or a log record."""
    is_known = span.is_log or not words.isdisjoint(_NOISE)
    return is_known and not looks_like_work(span, words)


def looks_like_work(span: TraceSpan, words: frozenset[str]) -> bool:
    """Returns whether a span has keys or a name of traces of agents, whether or not a dialect reads it."""
    first = span.name.partition(".")[0].partition("_")[0]
    return first in _LOOKS_LIKE_WORK or not words.isdisjoint(_LOOKS_LIKE_WORK)


def is_foreign(span: TraceSpan) -> bool:
    """Returns whether a span looks like one of an agent's, and no dialect reads it."""
    return looks_like_work(span, words_of(span)) and not read_span(span).dialects


_SESSIONS = ("gen_ai.conversation.id", "session.id", "langfuse.session.id", "gcp.vertex.agent.session_id")
_SESSION_NAMES = (
    *("session_id", "thread_id", "conversation_id", "sessionId", "threadId", "conversationId", "chat_id"),
    *("chatId", "langfuse_session_id", "langfuseSessionId", "mlflow.trace.session"),
)
_HOLDERS = (
    *("langsmith.metadata.", "traceloop.association.properties.", "ai.telemetry.metadata.", "metadata."),
    *("ai.settings.context.", "mlflow.trace.", "langfuse.trace.metadata.", "langfuse.observation.metadata."),
)
_USERS = ("user.id", "enduser.id", "langfuse.user.id")
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
    name = text_at(span.attributes, *_USERS)
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


def _tags(value: JsonValue) -> list[str]:
    value = loaded(value)
    if isinstance(value, str):
        value = [item.strip() for item in value.split(",") if item.strip()]
    texts = [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
    return [item for item in texts if not item.startswith(("seq:step:", "graph:step:", "map:key:"))]
