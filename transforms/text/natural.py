"""Natural order of names."""

import re

_NUMBER = re.compile(r"(\d+)")


def natural_order(name: str) -> tuple[tuple[object, ...], str]:
    """Returns a key that sorts names with their numbers by value: v2 before v10.

    >>> sorted(["v10", "v2", "v2.1"], key=natural_order)
    ['v2', 'v2.1', 'v10']
    """
    parts = _NUMBER.split(name)
    return tuple(_by_value(part) if place % 2 else part for place, part in enumerate(parts)), name


def _by_value(digits: str) -> tuple[int, str]:
    """Returns a key that sorts numbers of any length, which `int` refuses beyond 4,300 digits."""
    shown = digits.lstrip("0")
    return len(shown), shown
