"""Reads values of messages, with an error in one line for those of a wrong type."""

from collections.abc import Iterator, Sequence

from turnwise.schemas.jsonio import JsonObject, JsonValue, json_structure


def listed(value: JsonValue, path: str) -> list[JsonValue]:
    """Returns a list; None counts as an empty one.

    Raises:
        ValueError: It is something else.
    """
    if value is not None and not isinstance(value, list):
        raise ValueError(f"{path}: a JSON array is needed, not {type(value).__name__}")
    return value or []


def stated(value: JsonObject) -> JsonObject:
    """Returns an object without the keys that hold null, which dumps write for what is not there."""
    if None in value.values():
        return {key: item for key, item in value.items() if item is not None}
    return value


def without_nulls(value: JsonValue) -> JsonValue:
    """Returns a record, or a list of records, without the keys that hold null; deeper ones may be values."""
    if isinstance(value, dict):
        return stated(value)
    if isinstance(value, list):
        return [stated(each) if isinstance(each, dict) else each for each in value]
    return value


def objects(value: JsonValue, path: str) -> Iterator[JsonObject]:
    """Yields the objects of a list, without their keys that hold null.

    Raises:
        ValueError: It is no list, or holds something else.
    """
    for place, item in enumerate(listed(value, path)):
        if not isinstance(item, dict):
            raise ValueError(f"{path}.{place}: a JSON object is needed, not {type(item).__name__}")
        yield stated(item)


def text_at(holder: JsonObject, key: str) -> str:
    """Returns a text; a missing one is empty.

    Raises:
        ValueError: It is something else.
    """
    value = holder.get(key)
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{key}: a text is needed, not {type(value).__name__}")
    return value or ""


def decoded(value: JsonValue) -> JsonValue:
    """Returns the object or array that a JSON text spells; any other value unchanged."""
    found = json_structure(value, allow_nan=False) if isinstance(value, str) else None
    return value if found is None else found


def joined_texts(texts: Sequence[str]) -> str:
    """Returns texts that are not empty, one a line."""
    return "\n".join(filter(None, texts))


def key_set(text: str) -> frozenset[str]:
    """Returns the words of a text."""
    return frozenset(text.split())


def as_object(value: JsonValue) -> JsonObject:
    """Returns an object without its keys that hold null; an empty one in place of anything else."""
    return stated(value) if isinstance(value, dict) else {}


def kind_of(part: JsonObject) -> str:
    """Returns the type that a message or part names; "": it names none."""
    kind = part.get("type")
    return kind if isinstance(kind, str) else "" if kind is None else f"of the type {kind!r}"[:60]
