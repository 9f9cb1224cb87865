"""Names the fields in which two canonical objects differ."""

from collections import Counter
from typing import Any

import msgspec

from turnwise.transforms.conversion.plain import field_defaults

BLANK = (None, "")
_OF_READING = frozenset(("adk_reads",))
"""Fields that say how an object was read, and hold nothing of it."""


class Differences:
    """Fields that differ, each with its number.

    Attributes:
        not_held: Fields that the second object lacks, or has otherwise.
        added: Fields that only the second object has.
    """

    def __init__(self) -> None:
        self.not_held: Counter[str] = Counter()
        self.added: Counter[str] = Counter()

    def compare(self, before: msgspec.Struct, after: msgspec.Struct, path: str = "") -> "Differences":
        """Adds the fields in which two objects of one class differ, and returns itself."""
        for name, required, default in field_defaults(type(before)):
            if name in _OF_READING:
                continue
            left, right = getattr(before, name), getattr(after, name)
            if left is right or (type(left) is type(right) and _is_plainly_equal(left, right)):
                continue
            self._value(left, right, f"{path}{name}", BLANK if required else (*BLANK, default))
        return self

    def _value(self, left: Any, right: Any, path: str, blanks: tuple[Any, ...]) -> None:
        if _same(left, right):
            return
        left_blank, right_blank = (any(_same(value, blank) for blank in blanks) for value in (left, right))
        if left_blank and right_blank:
            return
        if left_blank:
            self.added[path] += _number(right)
        elif isinstance(left, msgspec.Struct) and type(left) is type(right):
            self.compare(left, right, f"{path}.")
        elif _is_objects(left) and isinstance(right, list):
            self._objects(left, right, path)
        else:
            self.not_held[path] += _number(left)

    def _objects(self, left: list[Any], right: list[Any], path: str) -> None:
        for before, after in zip(left, right, strict=False):
            self.compare(before, after, f"{path}.")
        if len(left) > len(right):
            self.not_held[path] += len(left) - len(right)
        elif len(right) > len(left):
            self.added[path] += len(right) - len(left)


def _is_plainly_equal(left: Any, right: Any) -> bool:
    """Returns whether two values of one type are equal as far as that is seen at once."""
    return left == right if isinstance(left, str | float) else not left and not right


def _is_objects(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(v, msgspec.Struct) for v in value)


def _number(value: object) -> int:
    return len(value) if _is_objects(value) and isinstance(value, list) else 1


def _same(left: Any, right: Any) -> bool:
    """Returns whether two values are equal; true is not 1, and 1 is 1.0."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_same(item, right[key]) for key, item in left.items())
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_same, left, right))
    return bool(left == right)
