"""Measures how much of a claim the evidence holds, and the probability that this gives.

With prose, the coverage is the mean of two shares: of the words that the evidence holds, and of those that
stand together there. The latter is the mean of the share of the content that one passage holds, and of the
longest common subsequence of the claim and that passage. With a record, such as JSON, which has few function
words and an order of its own, it is the mean of the shares of the content that the evidence and one passage
hold, with a credit of one word. A logistic function turns it into a probability (Platt 1999).
"""

from collections.abc import Sequence
from math import exp
from statistics import fmean

from turnwise.transforms.local_judge.claims import Claim
from turnwise.transforms.local_judge.evidence import WINDOW, Evidence, EvidencePassage
from turnwise.transforms.text.features import WORD_WEIGHT

LOG_ODDS_OF_NOTHING = -10.57
"""Log odds where the coverage is 0. Both constants are those of `python -m benchmarks.local_judge_fit`."""
LOG_ODDS_OF_ALL = 3.29
"""Log odds where the coverage is 1."""


def probability(coverages: Sequence[float]) -> float:
    """Returns the probability that people call a text supported, 0..1.

    Args:
        coverages: The coverage of each of its sentences that claims something; at least one.
    """
    share = fmean(coverages)
    return 1 / (1 + exp(-LOG_ODDS_OF_NOTHING * (1 - share) - LOG_ODDS_OF_ALL * share))


def coverage(claim: Claim, known: Evidence, passages: Sequence[EvidencePassage]) -> float:
    """Returns how much of a claim the evidence holds, 0..1. More evidence never lowers it.

    Args:
        claim: A claim with content.
        known: The evidence.
        passages: Its passages with content of the claim.
    """
    compared = _Compared(claim, known)
    best = compared.held / 2
    for passage in passages:
        in_passage = compared.with_prose if passage.piece.is_prose else compared.with_record
        best = max(best, in_passage(passage, best))
    return best


class _Compared:
    """A claim and evidence.

    Attributes:
        held: Share of the words of the claim that the evidence holds.
    """

    def __init__(self, claim: Claim, known: Evidence) -> None:
        self.held = sum(
            [share for word in claim.words for key, share in word.shares if key in known.keys]
        ) / len(claim.words)
        self._units = [unit for word in claim.words for unit in word.units]
        self._content = sum(claim.content.values())
        self._anywhere = sum([weight for key, weight in claim.content.items() if key in known.keys])
        self._in_passage = min(1.0, WINDOW / len(claim.words))

    def with_prose(self, passage: EvidencePassage, least: float) -> float:
        """Returns the coverage by the evidence and a passage of prose; 0 if it is no more than `least`."""
        close, places = self._close(passage) / self._content, passage.places()
        if self.held / 2 + (close + self._share(places.shared(self._units))) / 4 <= least:
            return 0.0
        return self.held / 2 + (close + self._share(places.in_order(self._units))) / 4

    def with_record(self, passage: EvidencePassage, least: float) -> float:
        """Returns the coverage by the evidence and a passage of a record."""
        content = (self._anywhere + self._close(passage)) / 2
        return (content + WORD_WEIGHT) / (self._content + WORD_WEIGHT)

    def _close(self, passage: EvidencePassage) -> float:
        """Returns the weight that stands together; of a long claim, only what a passage can hold counts."""
        return self._anywhere - (self._anywhere - passage.weight) * self._in_passage

    def _share(self, number: int) -> float:
        return 1 - self._in_passage * (1 - number / len(self._units))
