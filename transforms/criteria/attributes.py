"""Checks the class attributes of a criterion when it is added."""

from math import isnan
from numbers import Real
from typing import Any

from turnwise.schemas.jsonio import short_repr
from turnwise.schemas.score import CRITERION_HARMS

UNITS = ("score", "seconds", "count")
GATES = ("at_least", "at_most")
PARTS = ("calls", "words")
_FLAGS = ("needs_expected_calls", "turns_count", "needs_answers", "applies_always")
ATTRIBUTES = ("name", "scale", "special_values", "unit", "gate", "harm", "rests_on", "needs", *_FLAGS)
"""Names of the class attributes."""


def attribute_fault(kind: Any) -> str | None:
    """Returns what is wrong with the class attributes of a criterion; None: nothing."""
    if not _is_scale(kind.scale):
        return f"{_said('scale', kind.scale)} two numbers, the lowest and the highest value, or None"
    if not isinstance(kind.special_values, tuple) or not all(map(_is_number, kind.special_values)):
        return f"{_said('special_values', kind.special_values)} a tuple of numbers"
    choices = (("unit", kind.unit, UNITS), ("gate", kind.gate, GATES), ("harm", kind.harm, CRITERION_HARMS))
    for name, value, allowed in choices:
        if not isinstance(value, str) or value not in allowed:
            return f"{_said(name, value)} one of {', '.join(allowed)}"
    parts = kind.rests_on
    if not isinstance(parts, tuple | list) or not all(part in PARTS for part in parts):
        return f"{_said('rests_on', parts)} a tuple of {', '.join(PARTS)}"
    if not isinstance(kind.needs, str):
        return f"{_said('needs', kind.needs)} a text"
    wrong = next((name for name in _FLAGS if not isinstance(getattr(kind, name), bool)), None)
    return f"{_said(wrong, getattr(kind, wrong))} True or False" if wrong else None


def _is_scale(scale: object) -> bool:
    if scale is None:
        return True
    if not isinstance(scale, tuple | list) or len(scale) != 2 or not all(map(_is_number, scale)):
        return False
    return bool(scale[0] < scale[1])


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and not isnan(value)


def _said(name: str, value: object) -> str:
    return f"its {name} is {short_repr(value)}; it must be"
