"""Recognises unsupported formats of other systems, for precise errors."""

from collections.abc import Callable

from turnwise.schemas.jsonio import JsonObject, JsonValue

NEXT_STEP = "convert it to chat messages (openai_chat) or canonical JSON first"
_SPAN_KEYS = (
    {"trace_id", "span_id"},
    {"traceId", "spanId"},
    {"context", "span_kind"},
    {"spanContext", "attributes"},
)


def foreign_format(record: JsonValue) -> str | None:
    """Returns the name of the format of another system that a record is in; None: it is in none of them."""
    if not isinstance(record, dict):
        return None
    if record.keys() >= {"request", "response"}:
        inner = foreign_format(record["response"]) or foreign_format(record["request"])
        return f"a request with its reply{f', {inner}' if inner else ''}"
    return next((name for name, fits in _RECORDS if fits(record)), None)


def _has(*names: str) -> Callable[[JsonObject], bool]:
    return lambda record: record.keys() >= set(names)


def _is_span(record: JsonObject) -> bool:
    return any(keys <= record.keys() for keys in _SPAN_KEYS)


_RECORDS: tuple[tuple[str, Callable[[JsonObject], bool]], ...] = (
    ("an OpenTelemetry export of metrics", _has("resourceMetrics")),
    ("an incomplete export of spans", _has("spans")),
    ("an incomplete OpenTelemetry span", _is_span),
)
