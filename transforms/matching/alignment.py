"""Aligns the turns of a golden case with the turns of a recording that has more or fewer of them."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from turnwise.schemas.conversation import ExpectedTurn, ToolCall, Turn
from turnwise.transforms.matching.band import AlignedPlaces, align_in_order
from turnwise.transforms.text.rouge import rouge_score, rouge_tokens

_USER_WEIGHT = 2.0


class _Features(NamedTuple):
    """What turns are compared by: the user's text, its tokens, and the names of the called tools."""

    text: str
    counts: Counter[str]
    size: int
    tools: frozenset[str | None]


def _features(user: str | None, calls: Iterable[ToolCall] | None) -> _Features:
    text = (user or "").strip()
    tokens = rouge_tokens(text)
    return _Features(text, Counter(tokens), len(tokens), frozenset(call.name for call in calls or ()))


class _Recorded:
    """The recorded turns, with an index of the tokens of the user's words."""

    def __init__(self, turns: Sequence[Turn]) -> None:
        self._turns = [_features(turn.user, turn.tool_calls) for turn in turns]
        self._places: dict[str, tuple[list[int], list[int]]] = {}
        self._equal = {(turn.text, turn.tools) for turn in self._turns}
        for place, turn in enumerate(self._turns):
            for token, count in turn.counts.items():
                places, counts = self._places.setdefault(token, ([], []))
                places.append(place)
                counts.append(count)

    def similarities(self, wanted: _Features, first: int, stop: int) -> list[float]:
        """Returns the similarities of a golden turn with recorded turns; see `turn_similarity`."""
        near = self._turns[first:stop]
        scores: dict[tuple[int, int], float] = {}
        users: list[float] = []
        for common, turn in zip(self._common(wanted, first, stop), near, strict=True):
            key = common, turn.size
            if turn.text == wanted.text:
                users.append(1.0)
            elif (score := scores.get(key)) is not None:
                users.append(score)
            else:
                users.append(scores.setdefault(key, rouge_score(common, wanted.size, turn.size).fmeasure))
        return _with_tools(wanted.tools, users, near) if wanted.tools else users

    def _common(self, wanted: _Features, first: int, stop: int) -> list[int]:
        """Returns how many tokens a golden turn has in common with recorded turns."""
        common = [0] * (stop - first)
        for token, most in wanted.counts.items():
            places, counts = self._places.get(token, ((), ()))
            start, end = bisect_left(places, first), bisect_left(places, stop)
            for place, count in zip(places[start:end], counts[start:end], strict=True):
                common[place - first] += min(count, most)
        return common

    def largest(self, wanted: _Features) -> float:
        """Returns the largest similarity of a golden turn with any recorded turn."""
        if (wanted.text, wanted.tools) in self._equal:
            return 1.0
        return max(self.similarities(wanted, 0, len(self._turns)), default=0.0)


def _with_tools(
    tools: frozenset[str | None], users: Sequence[float], turns: Sequence[_Features]
) -> list[float]:
    shares: dict[frozenset[str | None], float] = {}
    for turn in turns:
        if turn.tools not in shares:
            shares[turn.tools] = len(tools & turn.tools) / len(tools | turn.tools)
    return [
        (_USER_WEIGHT * user + shares[turn.tools]) / (_USER_WEIGHT + 1.0)
        for user, turn in zip(users, turns, strict=True)
    ]


def turn_similarity(expected: ExpectedTurn, actual: Turn) -> float:
    """Returns the similarity of a golden and a recorded turn, 0..1.

    The ROUGE-1 F of the user's words counts twice, the overlap of the called tools' names (Jaccard) once;
    a side on which nothing is stated does not count. A turn that the agent opens is like another such turn.
    """
    return _Recorded([actual]).similarities(_features(expected.user, expected.tool_calls), 0, 1)[0]


def align(expected: Sequence[ExpectedTurn], actual: Sequence[Turn]) -> AlignedPlaces:
    """Aligns two lists of turns in order, so that the summed similarity is as large as possible.

    Turns with nothing in common are never paired.

    Returns:
        Pairs (golden index, recorded index) in order; None marks a missing or an extra turn.
    """
    wanted, recorded = [_features(turn.user, turn.tool_calls) for turn in expected], _Recorded(actual)
    largest = list(map(recorded.largest, wanted))
    return align_in_order(
        len(actual), largest, lambda row, first, stop: recorded.similarities(wanted[row], first, stop)
    )
