"""Counts the tools whose effect was guessed, so that a run can say how much rests on guesses."""

from collections import Counter
from collections.abc import Iterable

from turnwise.transforms.criteria.calls.base import UsesToolEffects
from turnwise.transforms.scoring.evaluate import ScoredConversation

GUESS = "guess "
"""Start of the names of the counters, `guess EFFECT|TOOL`."""
_MOST_TOOLS = 1_000
_LONGEST_NAME = 200


class GuessCounts:
    """Tools of a bundle by guessed effect and name, with the number of conversations each; 1,000 at most."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def add(self, scored: ScoredConversation) -> None:
        """Counts the guesses that the scores of a conversation rest on (`details.guessed`), each once."""
        for name, effect in guessed_tools(scored).items():
            key = f"{GUESS}{effect}|{name[:_LONGEST_NAME]}"
            if key in self._counts or len(self._counts) < _MOST_TOOLS:
                self._counts[key] += 1

    def items(self) -> Iterable[tuple[str, int]]:
        """Returns `EFFECT|TOOL` and the number of conversations, for each tool."""
        return self._counts.items()


def guessed_tools(scored: ScoredConversation) -> dict[str, str]:
    """Returns the tools whose effect was guessed or unknown for a conversation's scores, with the effect."""
    found: dict[str, str] = {}
    for entry in scored.scores:
        if isinstance(entry.criterion, UsesToolEffects):
            scores = [score for _, score in entry.turns]
            for score in [*scores, entry.overall] if entry.overall else scores:
                found |= (score.details or {}).get("guessed", {})
    return found
