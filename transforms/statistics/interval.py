"""An interval of confidence."""

from typing import NamedTuple


class Interval(NamedTuple):
    """A lower and an upper bound."""

    low: float
    high: float
