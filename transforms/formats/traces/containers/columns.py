"""Attributes that exports of tables nest or spread over columns, as dotted keys again."""

from collections.abc import Iterator

from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.messages.values import stated
from turnwise.transforms.formats.traces.values import key_values

_COLUMNS = ("attributes.", "context.")
_NESTED = ("gen_ai", "llm", "openinference", "session", "gcp", "input", "output", "tool", "ai", "traceloop")
_INDEXED = ("message", "message_content", "tool_call", "document")
_INDEXED_DOTTED = tuple(f"{name}." for name in (*_INDEXED, "tool"))
_KIND = "openinference.span.kind"
_KINDS = ("LLM", "TOOL", "AGENT", "CHAIN", "RETRIEVER", "EMBEDDING", "GUARDRAIL")


def unfolded(held: JsonObject) -> JsonObject:
    """Returns a span whose attributes and ids stand in columns (a row of Phoenix's table) as one object."""
    if not any(key.startswith(_COLUMNS) for key in held):
        return held
    found: JsonObject = {}
    attributes: JsonObject = {}
    for key, value in held.items():
        holder, _, name = key.partition(".")
        if holder == "attributes" and name:
            attributes[name] = value
        elif holder == "context" and name:
            found[name] = value
        else:
            found[key] = value
    return {**found, "attributes": attributes}


def kind_beside(held: JsonObject) -> JsonObject:
    """Returns the attribute for a kind that stands beside the attributes, as in Phoenix."""
    kind = held.get("span_kind")
    return {_KIND: kind} if kind in _KINDS else {}


def dotted(attributes: JsonValue) -> JsonObject:
    """Returns attributes with dotted keys, of which exports of tables nest some.

    Raises:
        ValueError: They are a list of something else.
    """
    held = stated(key_values(attributes))
    if isinstance(attributes, list) and attributes and not held:
        raise ValueError("attributes: none of its elements is a key with a value")
    if not any(isinstance(value, dict | list) for value in held.values()):
        return held
    found: JsonObject = {}
    for key, value in held.items():
        is_nested = any(map(_is_indexed, value)) if isinstance(value, list) else key in _NESTED
        found |= dict(_leaves(key, value, 0)) if is_nested else {key: value}
    return found


def _is_indexed(item: JsonValue) -> bool:
    """Returns whether an element of a list stands for numbered keys of OpenInference."""
    return isinstance(item, dict) and any(key in _INDEXED or key.startswith(_INDEXED_DOTTED) for key in item)


def _leaves(path: str, value: JsonValue, depth: int) -> Iterator[tuple[str, JsonValue]]:
    if isinstance(value, dict) and value and depth < 12:
        for key, item in value.items():
            yield from _leaves(f"{path}.{key}", item, depth + 1)
    elif isinstance(value, list) and depth < 12 and any(map(_is_indexed, value)):
        for place, item in enumerate(value):
            yield from _leaves(f"{path}.{place}", item, depth + 1)
    else:
        yield path, value
