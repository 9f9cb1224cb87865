"""Finds gaps that leave criteria unscored: incomplete logs and unread expectations."""

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from turnwise.schemas.conversation import ExpectedTurn, Turn
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

    A judge is shown the calls of earlier turns too. A criterion with google-adk's value misses nothing that
    google-adk does not look at.
    """
    if not sample.has_gaps:
        return None
    as_adk = criterion.as_adk
    if criterion.needs_expected_calls and pair.expected is not None and _is_unread(pair.expected, as_adk):
        return pair.expected.unread
    if pair.actual is None:
        return None
    gap = _gap(pair.actual, criterion.rests_on, as_adk)
    if gap or "calls" not in criterion.rests_on or not isinstance(criterion, JudgedCriterion):
        return gap
    place = next(i for i, turn in enumerate(sample.conversation.turns) if turn is pair.actual)
    return _first(sample.conversation.turns[:place], ("calls",), as_adk)


def conversation_gap(criterion: Criterion, sample: Sample) -> str | None:
    """Returns why a criterion cannot score a conversation as a whole; None: the log shows what it needs."""
    if not sample.has_gaps:
        return None
    unread = next(_unread(sample, criterion.as_adk), None) if criterion.needs_expected_calls else None
    return unread or _first(sample.conversation.turns, criterion.rests_on, criterion.as_adk)


def gap_reasons(sample: Sample, as_adk: bool = False) -> list[str]:
    """Returns what the log does not show, one line a turn, and what of the expectations is not read.

    Args:
        sample: The sample.
        as_adk: Whether what google-adk does not look at is left out.
    """
    if not sample.has_gaps:
        return []
    reasons = (_first([turn], ("calls", "words"), as_adk) for turn in sample.conversation.turns)
    case = sample.eval_case
    not_found = [case.not_found] if case is not None and case.not_found else []
    return [*not_found, *(reason for reason in reasons if reason), *_unread(sample, as_adk)]


def _unread(sample: Sample, as_adk: bool) -> Iterator[str]:
    if sample.eval_case is not None and sample.eval_case.unread:
        yield sample.eval_case.unread
    for pair in sample.pairs:
        if pair.expected is not None and _is_unread(pair.expected, as_adk):
            yield f"turn {pair.index}: {pair.expected.unread}"


def _is_unread(expected: ExpectedTurn, as_adk: bool) -> bool:
    return bool(expected.unread) and not (as_adk and expected.adk_reads)


def _first(turns: Iterable[Turn], parts: Sequence[str], as_adk: bool) -> str | None:
    for turn in turns:
        found = _gap(turn, parts, as_adk)
        if found:
            return f"turn {turn.turn_index}: {found}"
    return None


def _gap(turn: Turn, parts: Sequence[str], as_adk: bool) -> str | None:
    if as_adk and turn.adk_reads:
        return None
    calls = turn.unknown_calls if "calls" in parts else None
    return calls or (turn.unknown_words if "words" in parts else None)


def withheld(score: Score, reason: str, keeps_details: bool = False) -> Score:
    """Returns a score without its value; details are kept where they say what was not judged."""
    if keeps_details:
        score = replace(score, value=None, explanation=None, threshold=None, outcome=None, judge=None)
        return replace(score, reason=reason)
    return Score(None, reason=reason, label=score.label)
