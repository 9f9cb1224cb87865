"""Reads a span by all dialects."""

from functools import lru_cache

from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.messages.kinds import AGENT, SYSTEM
from turnwise.transforms.formats.traces.dialect import (
    DIALECTS,
    Kind,
    SpanDialect,
    SpanStep,
    dialects_in_order,
    text_at,
)
from turnwise.transforms.formats.traces.span import APP_VERSION, SpanEvent, TraceSpan, loaded

_EXCEPTIONS = ("exception.message", "exception.type")
_LOOKS_LIKE_WORK = frozenset(
    (
        *(
            "gen_ai",
            "llm",
            "openinference",
            "traceloop",
            "langsmith",
            "langfuse",
            "mlflow",
            "ai",
            "adk_events",
        ),
        *("claude", "lk", "haystack", "braintrust", "weave", "wandb", "crewai", "autogen", "dspy"),
    )
)
_NOISE = frozenset(
    (
        *("http", "url", "user_agent", "net", "network", "server", "client", "peer", "tls", "dns", "asgi"),
        *("db", "redis", "rpc", "grpc", "messaging", "faas", "aws", "cloudevents", "graphql", "mcp"),
    )
)
_LONGEST_WORD = 300
_MERGED = ("(merged tools)", "(merged)")
"""Names of the span in which google-adk joins the results of parallel calls; it is no call itself."""


def read_span(span: TraceSpan) -> SpanStep:
    """Returns what all dialects read in a span; where several state the same, the first by rank counts.

    Nobody may change the step of a span that says nothing.
    """
    words = words_of(span)
    step = _EMPTY
    for dialect in _asked(words, span.name.partition(" ")[0], DIALECTS.changes):
        if dialect.is_guess and step.kind is not None:
            continue
        found = SpanStep()
        dialect.read(span, found)
        if found != _EMPTY:
            found.dialects = [dialect.name]
            if step is _EMPTY:
                step = found
            else:
                step.fill(found)
    if not words.isdisjoint(LABELLED):
        step = SpanStep() if step is _EMPTY else step
        add_labels(span, words, step)
    if step.kind == "tool" and step.name in _MERGED:
        step.kind = "other"
    if step.kind == "model":
        _read_reply(span, step)
    if step.usage is not None and not (step.usage.input_tokens or step.usage.output_tokens):
        # No request has no tokens: the writer did not know them.
        step.usage = None
    if step.error is None and step.kind in ("tool", "agent", "model", "chain"):
        step.error = error_of(span)
    return step


_EMPTY = SpanStep()


def _read_reply(span: TraceSpan, step: SpanStep) -> None:
    """Leaves the reply alone of an output that repeats the request.

    A span that is marked as a model's is a function around it where its output is the request alone, or where
    it is a private function without an output.
    """
    output = step.output or []
    if any(each.role == SYSTEM or each.is_users for each in output):
        last = max(place for place, each in enumerate(output) if each.role != AGENT)
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
    return tuple(
        each for each in dialects_in_order() if not words.isdisjoint(each.prefixes) or name in each.names
    )


def says_something(span: TraceSpan, words: frozenset[str]) -> bool:
    """Returns whether a dialect or a label may be read in a span with such first words of its keys."""
    asked = _asked(words, span.name.partition(" ")[0], DIALECTS.changes)
    return bool(asked) or not words.isdisjoint(LABELLED)


def kind_of(span: TraceSpan) -> Kind | None:
    """Returns what a span is, without reading its long texts."""
    if not says_something(span, words_of(span)):
        return None
    attributes: JsonObject = {
        key: item if not isinstance(item, str) or len(item) <= _LONGEST_WORD else ""
        for key, item in span.attributes.items()
    }
    events = [SpanEvent(event.name) if event.name.startswith("gen_ai.") else event for event in span.events]
    return read_span(TraceSpan(span.trace, span.id, span.parent, span.name, span.start, span.end, attributes,
                               events, scope=span.scope, is_log=span.is_log)).kind  # fmt: skip


def error_of(span: TraceSpan) -> str | None:
    """Returns what a span says of its error; None: its status is none."""
    kind = text_at(span.attributes, "error.type")
    if not span.error and not kind:
        return None
    raised = (text_at(event.attributes, *_EXCEPTIONS) for event in span.events if event.name == "exception")
    message = text_at(span.attributes, "error.message")
    return next(filter(None, (span.message, *raised, message, kind)), "error")


def is_noise(span: TraceSpan, words: frozenset[str]) -> bool:
    """Returns whether a span with such first words is of HTTP, a database or the like, or a log record."""
    is_known = span.is_log or not words.isdisjoint(_NOISE)
    return is_known and not looks_like_work(span, words)


def looks_like_work(span: TraceSpan, words: frozenset[str]) -> bool:
    """Returns whether a span has keys or a name of traces of agents, whether or not a dialect reads it."""
    return (
        not words.isdisjoint(_LOOKS_LIKE_WORK)
        or span.name.partition(".")[0].partition("_")[0] in _LOOKS_LIKE_WORK
    )


def is_foreign(span: TraceSpan) -> bool:
    """Returns whether a span looks like one of an agent's, and no dialect reads it."""
    return looks_like_work(span, words_of(span)) and not read_span(span).dialects


# What any span may say of its conversation, whoever wrote it: session, version, tags.

_SESSIONS = ("gen_ai.conversation.id", "session.id", "langfuse.session.id", "gcp.vertex.agent.session_id")
_SESSION_NAMES = (
    *("session_id", "thread_id", "conversation_id", "sessionId", "threadId", "conversationId", "chat_id"),
    *("chatId", "langfuse_session_id", "langfuseSessionId", "mlflow.trace.session"),
)
_HOLDERS = (
    *("langsmith.metadata.", "traceloop.association.properties.", "ai.telemetry.metadata."),
    *("ai.settings.context.", "mlflow.trace.", "langfuse.trace.metadata.", "langfuse.observation.metadata."),
)
_METADATA = ("metadata", "langfuse.trace.metadata", "langfuse.observation.metadata")
_USERS = ("user.id", "enduser.id", "langfuse.user.id")
_USER_NAMES = ("user_id", "userId", "langfuse_user_id", "langfuseUserId", "mlflow.trace.user")
_VERSIONS = ("gen_ai.agent.version", "langfuse.version", "langfuse.release")
_VERSION_NAMES = ("app_version", "appVersion", "agent_version", "agentVersion", "revision_id", "release")
_ENTITY_VERSION = "traceloop.entity.version"
_TAGS = ("tag.tags", "langfuse.trace.tags", "langsmith.span.tags", "ai.telemetry.metadata.tags")
_ENVIRONMENTS = ("deployment.environment.name", "deployment.environment")
_OF_STEPS = ("seq:step:", "graph:step:", "map:key:")
_WITH_METADATA = frozenset(
    ("metadata", "langfuse", "langsmith", "traceloop", "ai", "mlflow", "tag", "session", "gcp")
)
LABELLED = _WITH_METADATA | {"gen_ai"}
"""First words of the keys that name conversations, versions or tags."""


def add_labels(span: TraceSpan, words: frozenset[str], step: SpanStep) -> None:
    """Adds the version and the tags that a span states, where there are none yet."""
    attributes = span.attributes
    step.version = step.version or text_at(attributes, *_VERSIONS)
    if not words.isdisjoint(_WITH_METADATA):
        held = _metadata(attributes)
        step.version = step.version or text_at(held, *_VERSION_NAMES) or text_at(attributes, _ENTITY_VERSION)
        step.tags = step.tags or next((tags for key in _TAGS if (tags := _tags(attributes.get(key)))), [])


def conversation_of(span: TraceSpan, words: frozenset[str]) -> str | None:
    """Returns the id of the conversation that a span names; None: it names none."""
    found = None if words.isdisjoint(LABELLED) else text_at(span.attributes, *_SESSIONS)
    if found is None and not words.isdisjoint(_WITH_METADATA):
        found = text_at(_metadata(span.attributes), *_SESSION_NAMES)
    return found


def user_of(span: TraceSpan) -> str | None:
    """Returns the id of the user that a span names; None: it names none."""
    return text_at(span.attributes, *_USERS) or text_at(_metadata(span.attributes), *_USER_NAMES)


def environment_of(span: TraceSpan) -> str | None:
    """Returns the deployment environment that a span's resource names."""
    return text_at(span.resource, *_ENVIRONMENTS)


def configured_version(span: TraceSpan) -> str | None:
    """Returns the app version in the attribute of the resource that the config names."""
    return text_at(span.resource, APP_VERSION)


def service_version(span: TraceSpan) -> str | None:
    """Returns the version of the service that wrote a span."""
    return text_at(span.resource, "service.version")


def _metadata(attributes: JsonObject) -> JsonObject:
    found: JsonObject = {}
    for key, value in attributes.items():
        holder = next((each for each in _HOLDERS if key.startswith(each)), None)
        if holder:
            found.setdefault(key[len(holder) :], value)
        elif key in _METADATA:
            inner = loaded(value)
            if isinstance(inner, dict):
                found = {**inner, **found}
    return found


def _tags(value: JsonValue) -> list[str]:
    value = loaded(value)
    if isinstance(value, str):
        value = [each.strip() for each in value.split(",") if each.strip()]
    texts = [each for each in value if isinstance(each, str)] if isinstance(value, list) else []
    return [each for each in texts if not each.startswith(_OF_STEPS)]
