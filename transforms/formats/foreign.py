"""Recognises unsupported formats of other systems, for precise errors."""

from collections.abc import Callable

from turnwise.schemas.values import JsonObject, JsonValue

NEXT_STEP = "convert it to chat messages (openai_chat) or canonical JSON first"
_TRIED = 1000
_SPAN_KEYS = (
    {"trace_id", "span_id"},
    {"traceId", "spanId"},
    {"context", "span_kind"},
    {"spanContext", "attributes"},
)


def foreign_format(value: JsonValue) -> str | None:
    """Returns the name of the format of another system that a record is in; None: it is in none of them.

    Args:
        value: A record, or a list of messages.
    """
    record = {"messages": value} if isinstance(value, list) else value
    if not isinstance(record, dict):
        return None
    if record.keys() >= {"request", "response"}:
        inner = foreign_format(record["response"]) or foreign_format(record["request"])
        return f"a request with its reply{f', {inner}' if inner else ''}"
    return next((name for name, fits in _RECORDS if fits(record)), None) or _of_messages(record)


def _of_messages(record: JsonObject) -> str | None:
    """Returns the format by all messages, because the first ones may be plain text."""
    messages = next((record[key] for key in ("messages", "traj", "input") if key in record), None)
    if not isinstance(messages, list):
        return None
    found = (
        _message_format(message)
        for message in messages[:_TRIED]
        if isinstance(message, dict) and "parts" in message
    )
    return next((name for name in found if name), None)


def _message_format(message: JsonObject) -> str | None:
    parts = message.get("parts")
    typed = (part for part in parts if isinstance(part, dict)) if isinstance(parts, list) else ()
    is_otel = any(isinstance(part.get("type"), str) and "content" in part for part in typed)
    return "OpenTelemetry GenAI messages" if is_otel else None


def _has(*names: str) -> Callable[[JsonObject], bool]:
    return lambda record: record.keys() >= set(names)


def _is_span(record: JsonObject) -> bool:
    return any(keys <= record.keys() for keys in _SPAN_KEYS)


_RECORDS: tuple[tuple[str, Callable[[JsonObject], bool]], ...] = (
    ("an OpenTelemetry export of metrics", _has("resourceMetrics")),
    ("an incomplete export of spans", _has("spans")),
    ("an incomplete OpenTelemetry span", _is_span),
)
