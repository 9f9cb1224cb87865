"""The protocol of a place for replies and budgets."""

from collections.abc import Iterable, Sequence
from math import inf
from typing import NamedTuple, Protocol

PATIENCE_S = 15.0
"""Seconds for which a broken connection is tried again before calls fail."""

ReplyRow = tuple[bytes, int, str, str, int, int]
"""A kept reply: question, number of the sample, text, model, tokens in, tokens out."""


class PlaceError(Exception):
    """A place does not answer. The message is one line without a password."""


class Amounts(NamedTuple):
    """Calls, tokens and money, in the currency of the prices; of limits, `inf`: none."""

    calls: float = 0.0
    tokens: float = 0.0
    cost: float = 0.0

    def plus(self, other: "Amounts") -> "Amounts":
        """Returns the sum."""
        return Amounts(*(one + two for one, two in zip(self, other, strict=True)))

    def minus(self, other: "Amounts") -> "Amounts":
        """Returns the difference."""
        return Amounts(*(one - two for one, two in zip(self, other, strict=True)))

    def covers(self, other: "Amounts") -> bool:
        """Returns whether nothing of `other` is more."""
        return all(one >= two for one, two in zip(self, other, strict=True))


NOTHING = Amounts()
NO_LIMITS = Amounts(inf, inf, inf)


def spending(run: str, amounts: Amounts, limits: Amounts) -> dict[str, str | float]:
    """Returns the parameters of a statement that spends within limits, by name."""
    most = {f"max_{name}": limit for name, limit in limits._asdict().items()}
    return {"run": run, **amounts._asdict(), **most}


class ReplyPlace(Protocol):
    """A place that processes share. Its methods may be called by several threads.

    Attributes:
        shown: Its address without a password.
        is_needed: Whether a question cannot be asked while the place does not answer.
    """

    shown: str
    is_needed: bool

    def read(self, questions: Sequence[bytes]) -> Iterable[ReplyRow]:
        """Returns the replies to some questions; raises PlaceError."""

    def write(self, rows: Sequence[ReplyRow]) -> None:
        """Keeps replies, in place of those with the same question and number; raises PlaceError."""

    def spend(self, run: str, amounts: Amounts, limits: Amounts) -> bool:
        """Adds amounts to what all workers of a run have spent, unless that would exceed the limits.

        Returns:
            Whether they were added.

        Raises:
            PlaceError: The place does not answer. The amounts may have been added or not.
        """

    def close(self) -> None:
        """Closes the place."""
