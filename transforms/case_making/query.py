"""Filters (https://google.aip.dev/160) over the facts of one conversation."""

from collections.abc import Callable, Mapping
from operator import ge, gt, le, lt

from turnwise.schemas.jsonio import JsonValue
from turnwise.schemas.proto.masks import Condition, FieldComparison, FilterError, Junction
from turnwise.schemas.proto.scalars import shown
from turnwise.transforms.text.cleaning import glob_matches

Facts = Mapping[str, JsonValue]
_ORDERED: dict[str, Callable[[float, float], bool]] = {"<": lt, "<=": le, ">": gt, ">=": ge}


def meets(condition: Condition, facts: Facts) -> bool:
    """Returns whether the facts of a conversation meet a condition.

    `=` compares a text, in which `*` stands for any characters, or a number; of a list, one entry. `:` looks
    for a part of a text in any case. What is not stated (null) meets only `!=`.

    Raises:
        FilterError: A field is unknown, or is no number where an order is asked for.
    """
    if isinstance(condition, Junction):
        found = (meets(part, facts) for part in condition.parts)
        return all(found) if condition.kind == "AND" else any(found)
    if isinstance(condition, FieldComparison):
        return _compare(condition, facts)
    return not meets(condition.part, facts)


def check_fields(condition: Condition, known: Facts) -> None:
    """Raises FilterError if a condition names a field that there is not."""
    if isinstance(condition, FieldComparison):
        if condition.field not in known:
            raise FilterError(f"no field {shown(condition.field)}; fields are {', '.join(known)}")
    else:
        parts = condition.parts if isinstance(condition, Junction) else (condition.part,)
        for part in parts:
            check_fields(part, known)


def _compare(wanted: FieldComparison, facts: Facts) -> bool:
    check_fields(wanted, facts)
    value = facts[wanted.field]
    values = [item for item in (value if isinstance(value, list) else [value]) if item is not None]
    if wanted.operator in _ORDERED:
        return any(_ordered(wanted, item) for item in values)
    if wanted.operator == ":":
        return any(wanted.value.casefold() in str(item).casefold() for item in values)
    try:
        is_equal = any(glob_matches(wanted.value, _text(item)) for item in values)
    except ValueError as error:
        raise FilterError(f"{wanted.field} {wanted.operator}: {error}") from None
    return is_equal == (wanted.operator == "=")


def _ordered(wanted: FieldComparison, value: JsonValue) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise FilterError(f"{wanted.field} {wanted.operator}: it is no number")
    try:
        return _ORDERED[wanted.operator](value, float(wanted.value))
    except ValueError:
        raise FilterError(f"{wanted.field} {wanted.operator}: {shown(wanted.value)} is no number") from None


def _text(value: JsonValue) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
