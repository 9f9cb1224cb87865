"""Applies a mapping's expressions to records."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from turnwise.schemas.mapping import MappingConfig
from turnwise.schemas.values import JsonObject, JsonValue
from turnwise.transforms.formats.unread import may_hold_work

_WORD = re.compile(r"\w+")
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


def unnamed_keys(mapping: MappingConfig, record: JsonObject) -> list[str]:
    """Returns the keys that may hold calls and that a mapping without `tool_calls` does not name.

    They are those of the record, of objects in it, and of objects in lists of which the mapping takes keys.
    """
    expressions = [each for each in mapping.model_dump(exclude_none=True).values() if isinstance(each, str)]
    named = frozenset(_WORD.findall(" ".join(expressions)))
    if "tool_calls" in named:
        return []
    is_taken_apart = any("{" in each for each in expressions)
    return list(dict.fromkeys(_unnamed(record, named, is_taken_apart)))


def _unnamed(holder: JsonObject, named: frozenset[str], is_taken_apart: bool) -> Iterator[str]:
    for key, item in holder.items():
        if key not in named:
            if isinstance(item, dict | list) and may_hold_work(key, item):
                yield key
        elif isinstance(item, dict):
            yield from _unnamed(item, named, is_taken_apart)
        elif isinstance(item, list) and is_taken_apart:
            for each in item:
                yield from _unnamed(each, named, True) if isinstance(each, dict) else ()


def mapped_fields(mapping: MappingConfig, record: JsonObject) -> JsonObject:
    """Returns the fields of the conversation that a record states."""
    found = {name: value_at(getattr(mapping, name), record) for name in FIELDS}
    return {name: value for name, value in found.items() if value is not None}
