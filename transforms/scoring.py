"""Scores conversations: every criterion on every turn, without Beam."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from schemas.failure import Failure, record_failure
from schemas.score import Score
from transforms.conversation_case import ConversationCase
from transforms.criteria.base import Criterion


@dataclass(slots=True)
class CriterionScores:
    """What one criterion says of one conversation.

    Attributes:
        criterion: The criterion.
        turns: (turn index, score), in order.
        overall: The conversation's own score: of the whole where the case speaks of the whole, else the
            turns summed up; None: nothing was applicable.
        errors: Turns (None: the whole) at which it raised.
    """

    criterion: Criterion
    turns: list[tuple[int, Score]] = field(default_factory=list)
    overall: Score | None = None
    errors: list[int | None] = field(default_factory=list)


@dataclass(slots=True)
class ScoredConversation:
    """A conversation, its case, and all its scores."""

    case: ConversationCase
    scores: list[CriterionScores]
    failures: list[Failure]


def score_conversation(case: ConversationCase, criteria: Sequence[Criterion]) -> ScoredConversation:
    """Scores a conversation by every criterion.

    A criterion that raises becomes a failure; its other turns and the other criteria still count.
    """
    scored = ScoredConversation(case, [], [])
    for criterion in criteria:
        scored.scores.append(_score(criterion, case, scored.failures))
    return scored


def _score(criterion: Criterion, case: ConversationCase, failures: list[Failure]) -> CriterionScores:
    result = CriterionScores(criterion)
    for pair in case.pairs:
        try:
            scores = criterion.score(case, pair)
        except Exception as error:
            _note(result, failures, error, case, pair.index)
            continue
        if isinstance(scores, Score):
            result.turns.append((pair.index, criterion.gated(scores)))
        elif scores is not None:
            result.turns += [(pair.index, criterion.gated(score)) for score in scores]
    try:
        result.overall = _overall(criterion, case, result)
    except Exception as error:
        _note(result, failures, error, case, None)
    return result


def _overall(criterion: Criterion, case: ConversationCase, result: CriterionScores) -> Score | None:
    whole = criterion.score_conversation(case)
    overall = criterion.gated(whole) if whole else criterion.overall([score for _, score in result.turns])
    if overall is not None and result.errors and overall.outcome == "PASS":
        overall.outcome, overall.reason = None, f"{len(result.errors)} turns could not be scored"
    return overall


def _note(
    result: CriterionScores,
    failures: list[Failure],
    error: Exception,
    case: ConversationCase,
    turn: int | None,
) -> None:
    failure = record_failure("score", error, case.record, case.conversation.conversation_id)
    failure.criterion = result.criterion.name
    failure.app_version = case.conversation.app_version
    failure.turn_index = turn
    failures.append(failure)
    result.errors.append(turn)
