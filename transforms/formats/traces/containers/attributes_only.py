"""The attributes of one span, without the span."""

from collections.abc import Iterator
from hashlib import blake2b

from turnwise.schemas.jsonio import JsonObject, dump_json
from turnwise.transforms.formats.traces.span import TraceSpan

_OWN_KEYS = ("gen_ai.", "llm.", "openinference.", "ai.operationId", "traceloop.")


def is_attributes(record: JsonObject) -> bool:
    """Returns whether a record is nothing but the attributes of one span."""
    return any(key.startswith(_OWN_KEYS) for key in record) and "trace_id" not in record


def attribute_spans(record: JsonObject) -> Iterator[TraceSpan]:
    """Yields the span that a record of attributes stands for; its content is its id."""
    digest = blake2b(dump_json(record), digest_size=16).hexdigest()
    yield TraceSpan(digest, digest[:16], attributes=record)
