"""What any span may say of its conversation, whoever wrote it: session, version, tags."""

from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.traces.dialect import text_at
from turnwise.transforms.formats.traces.span import TraceSpan
from turnwise.transforms.formats.traces.step import SpanStep
from turnwise.transforms.formats.traces.values import APP_VERSION, loaded

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
