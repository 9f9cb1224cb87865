"""Applies a mapping's expressions to records."""

from functools import lru_cache
from typing import Any

from turnwise.schemas.mapping import MappingConfig
from turnwise.schemas.values import JsonObject, JsonValue

FIELDS = (
    *("app_version", "language", "eval_id", "eval_set_id", "start_time", "tags", "ended", "ended_detail"),
    *("labels", "state", "tools"),
)


@lru_cache(maxsize=64)
def _compiled(expression: str) -> Any:
    import jmespath

    return jmespath.compile(expression)


def value_at(expression: str | None, record: JsonValue) -> JsonValue:
    """Returns what an expression finds in a record; None: nothing.

    Raises:
        ValueError: A function of the expression is given a value of the wrong type; one line.
    """
    if expression is None:
        return None
    from jmespath.exceptions import JMESPathError

    try:
        return _compiled(expression).search(record)
    except (JMESPathError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"mapping: {expression}: {' '.join(str(error).split())[:300]}") from None


def mapped_fields(mapping: MappingConfig, record: JsonObject) -> JsonObject:
    """Returns the fields of the conversation that a record states."""
    found = {name: value_at(getattr(mapping, name), record) for name in FIELDS}
    return {name: value for name, value in found.items() if value is not None}
