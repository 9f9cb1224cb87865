"""Finds gaps that leave criteria unscored: incomplete logs and unread expectations."""

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from turnwise.schemas.conversation import Turn
from turnwise.schemas.score import Score
from turnwise.transforms.criteria.base import Criterion, JudgedCriterion
from turnwise.transforms.judging.ask import JudgeSample, Question, R
from turnwise.transforms.matching.sample import Sample, TurnPair


class NotAsked:
    """Stands in for a judge that is not asked, because what it would be shown is not complete."""

    def __init__(self, reason: str) -> None:
        self.reason = reason

    async def __call__(self, question: Question[R], samples: range) -> list[JudgeSample[R]]:
        """Returns unusable samples."""
        return [JudgeSample(None, self.reason)] * len(samples)


def turn_gap(criterion: Criterion, sample: Sample, pair: TurnPair) -> str | None:
    """Returns why a criterion cannot score a turn; None: the log shows what it needs.

    A judge is shown the calls of earlier turns too.
    """
    if not sample.has_gaps:
        return None
    if criterion.needs_expected_calls and pair.expected is not None and pair.expected.unread:
        return pair.expected.unread
    if pair.actual is None:
        return None
    words = pair.actual.unknown_words if "words" in criterion.rests_on else None
    if "calls" not in criterion.rests_on or pair.actual.unknown_calls or words:
        return (pair.actual.unknown_calls if "calls" in criterion.rests_on else None) or words
    if isinstance(criterion, JudgedCriterion):
        place = next(i for i, turn in enumerate(sample.conversation.turns) if turn is pair.actual)
        return _first(sample.conversation.turns[:place], ("calls",))
    return None


def conversation_gap(criterion: Criterion, sample: Sample) -> str | None:
    """Returns why a criterion cannot score a conversation as a whole; None: the log shows what it needs."""
    if not sample.has_gaps:
        return None
    unread = next(_unread(sample), None) if criterion.needs_expected_calls else None
    return unread or _first(sample.conversation.turns, criterion.rests_on)


def gap_reasons(sample: Sample) -> list[str]:
    """Returns what the log does not show, one line a turn, and what of the expectations is not read."""
    if not sample.has_gaps:
        return []
    reasons = (_first([turn], ("calls", "words")) for turn in sample.conversation.turns)
    case = sample.eval_case
    not_found = [case.not_found] if case is not None and case.not_found else []
    return [*not_found, *(reason for reason in reasons if reason), *_unread(sample)]


def _unread(sample: Sample) -> Iterator[str]:
    if sample.eval_case is not None and sample.eval_case.unread:
        yield sample.eval_case.unread
    for pair in sample.pairs:
        if pair.expected is not None and pair.expected.unread:
            yield f"turn {pair.index}: {pair.expected.unread}"


def _first(turns: Iterable[Turn], wanted: Sequence[str]) -> str | None:
    for turn in turns:
        calls = turn.unknown_calls if "calls" in wanted else None
        found = calls or (turn.unknown_words if "words" in wanted else None)
        if found:
            return f"turn {turn.turn_index}: {found}"
    return None


def withheld(score: Score, reason: str, keeps_details: bool = False) -> Score:
    """Returns a score without its value; details are kept where they say what was not judged."""
    if keeps_details:
        score = replace(score, value=None, explanation=None, threshold=None, outcome=None, judge=None)
        return replace(score, reason=reason)
    return Score(None, reason=reason, label=score.label)
