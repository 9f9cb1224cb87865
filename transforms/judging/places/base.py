"""The protocol of a place for replies and accounts."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol

PATIENCE_S = 15.0
"""Seconds for which a broken connection is tried again before calls fail."""

ReplyRow = tuple[bytes, int, str, str, int, int]
"""A kept reply: question, number of the sample, text, model, tokens in, tokens out."""


class PlaceError(Exception):
    """A place does not answer. The message is one line without a password."""


class Account(NamedTuple):
    """What a run has spent of its limits, leases included.

    Attributes:
        calls: Number of calls.
        tokens: Number of tokens.
        cost: Money, in the currency of the prices.
        next_slot: When the next request may be sent, in seconds of the place's clock.
    """

    calls: float = 0.0
    tokens: float = 0.0
    cost: float = 0.0
    next_slot: float = 0.0


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

    def claim(self, questions: Sequence[bytes], holder: str, seconds: float) -> set[bytes]:
        """Claims questions, or renews claims, for some seconds of the place's clock; raises PlaceError.

        Returns:
            Those that no other holder has claimed.
        """

    def release(self, questions: Sequence[bytes], holder: str) -> None:
        """Ends claims of a holder; raises PlaceError."""

    def change(self, run: str, work: Callable[[Account, float], Account]) -> None:
        """Replaces the account of a run by what `work` makes of it and of the place's time, in seconds.

        No other process changes the account meanwhile. An account that is not there is empty.

        Raises:
            PlaceError: The place does not answer. The account may have been changed or not.
        """

    def close(self) -> None:
        """Closes the place."""
