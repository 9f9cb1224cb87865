"""Stable keys of scores, by which labels and other runs refer to them."""

from functools import lru_cache
from hashlib import blake2b

from turnwise.transforms.criteria.base import Criterion, JudgedCriterion
from turnwise.transforms.matching.sample import Sample

_CONVERSATION_BYTES = 8
_CRITERION_BYTES = 4
_WHOLE = "all"


class ScoreIds:
    """Makes the keys of a criterion's scores of a conversation: `CONVERSATION-CRITERION-TURN[.NUMBER]`."""

    def __init__(self, conversation: str, criterion: str) -> None:
        self._start = f"{conversation}-{criterion}-"
        self._last: int | None = None
        self._repeats = 0

    def of_turn(self, turn: int) -> str:
        """Returns the key of the next score of a turn; scores of one turn are numbered from the second on."""
        self._repeats = self._repeats + 1 if turn == self._last else 0
        self._last = turn
        return f"{self._start}{turn}.{self._repeats}" if self._repeats else f"{self._start}{turn}"

    @property
    def of_whole(self) -> str:
        """The key of the score of the whole conversation."""
        return f"{self._start}{_WHOLE}"


def conversation_key(sample: Sample) -> str:
    """Returns the first part of the keys, the same for the same conversation, app version and case."""
    conversation, case = sample.conversation, sample.eval_case
    ids = (case.eval_set_id, case.eval_id) if case else ()
    return _digest((conversation.conversation_id, conversation.app_version, *ids), _CONVERSATION_BYTES)


def criterion_key(criterion: Criterion, judge: str) -> str:
    """Returns the second part of the keys, the same for equal parameters and, if judged, an equal judge."""
    if isinstance(criterion, JudgedCriterion):
        return _judged_key(criterion.digest, judge)
    return criterion.digest


@lru_cache(maxsize=1024)
def _judged_key(criterion: str, judge: str) -> str:
    return _digest((criterion, judge), _CRITERION_BYTES)


def _digest(texts: tuple[str | None, ...], size: int) -> str:
    text = "\0".join("" if text is None else f"={text}" for text in texts)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=size).hexdigest()
