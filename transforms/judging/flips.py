"""Counts verdicts that flip between the votes of a judge."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import NamedTuple, TypeVar

R = TypeVar("R")

VerdictsOf = Callable[[R], Sequence[Hashable | None]]
"""What an answer decides, item by item (a rubric, a sentence, the answer as a whole); None: it abstains."""


class Flips(NamedTuple):
    """Verdicts of one question, or of several.

    Attributes:
        voted: Verdicts with two votes or more.
        flipped: Those of them whose votes are not all the same; None: there is no verdict with two votes.
    """

    voted: int = 0
    flipped: int | None = None

    @property
    def rate(self) -> float | None:
        """Share of verdicts that flip, 0..1; None: no verdict has two votes."""
        return None if self.flipped is None else self.flipped / self.voted

    def plus(self, other: "Flips") -> "Flips":
        """Returns the verdicts of both."""
        known = [each.flipped for each in (self, other) if each.flipped is not None]
        return Flips(self.voted + other.voted, sum(known) if known else None)


def votes_by_item(replies: Iterable[R], verdicts: VerdictsOf[R]) -> list[list[Hashable]]:
    """Returns the votes on every item, in the order of the answers, without abstentions.

    >>> votes_by_item(["yn", "yy", "-y"], lambda reply: [{"-": None}.get(vote, vote) for vote in reply])
    [['y', 'y'], ['n', 'y', 'y']]
    """
    found: list[list[Hashable]] = []
    for reply in replies:
        for place, verdict in enumerate(verdicts(reply)):
            if place == len(found):
                found.append([])
            if verdict is not None:
                found[place].append(verdict)
    return found


def flips_of(replies: Sequence[R], verdicts: VerdictsOf[R] | None) -> Flips:
    """Counts the verdicts of a question that flip between its usable answers.

    An answer from the cache is a vote like any other; an unusable answer is none, and an abstention neither.

    Args:
        replies: The usable answers.
        verdicts: What an answer decides; None: it is not known.
    """
    if verdicts is None or len(replies) < 2:
        return Flips()
    voted = [votes for votes in votes_by_item(replies, verdicts) if len(votes) > 1]
    return Flips(len(voted), sum(len(set(votes)) > 1 for votes in voted) if voted else None)
