"""Type aliases of JSON values, and values as text."""

from typing import Any, TypeAlias

JsonValue: TypeAlias = Any
"""Any JSON value."""

JsonObject: TypeAlias = dict[str, JsonValue]
"""A JSON object."""


def no_items() -> list[Any]:
    """Returns an empty list, as the default of a pydantic field.

    Pydantic inspects the factory of a default for every field, which takes 20 times as long for `list`.
    """
    return []


def short_repr(value: object, most: int = 60) -> str:
    """Returns the representation of a value, cut after `most` characters."""
    text = repr(value)
    return text if len(text) <= most else f"{text[:most]}..."
