"""Stable keys of scores, by which labels and other runs refer to them."""

from collections.abc import Iterator
from functools import lru_cache
from hashlib import blake2b

from turnwise.schemas.score import Score
from turnwise.transforms.criteria.base import Criterion, JudgedCriterion
from turnwise.transforms.matching.sample import Sample
from turnwise.transforms.scoring.evaluate import CriterionScores

_CONVERSATION_BYTES = 8
_CRITERION_BYTES = 4
_WHOLE = "all"


def named_scores(
    entry: CriterionScores, conversation: str, criterion: str
) -> Iterator[tuple[int | None, Score, str]]:
    """Yields the scores of the turns and that of the whole (None), each with its turn and its key.

    A key is `CONVERSATION-CRITERION-TURN[.NUMBER]`; scores of one turn are numbered from the second on.

    Args:
        entry: The scores of a criterion.
        conversation: First part of the keys.
        criterion: Second part.
    """
    start, last, number = f"{conversation}-{criterion}-", None, 0
    for turn, score in entry.turns:
        number = number + 1 if turn == last else 0
        last = turn
        yield turn, score, f"{start}{turn}.{number}" if number else f"{start}{turn}"
    if entry.overall is not None:
        yield None, entry.overall, f"{start}{_WHOLE}"


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
