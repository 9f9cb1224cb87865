"""Outcomes of records of a stream: rows, contributions to metrics, receipts."""

from collections.abc import Sequence
from hashlib import blake2b
from typing import NamedTuple

from turnwise.schemas.conversation import Receipt, Record
from turnwise.schemas.rows import ConversationRow, FailureRow, MadeScoreRow, ResultRow
from turnwise.schemas.score import Failure, Stage
from turnwise.transforms.metrics.rows import failure_rows
from turnwise.transforms.metrics.state import MetricsState
from turnwise.transforms.scoring.config import judged_counts
from turnwise.transforms.scoring.conversation import EvaluatedConversation
from turnwise.transforms.scoring.evaluate import guessed_tools
from turnwise.transforms.scoring.panels import STAGE

REPLACED = "ReplacedRecord"
"""Type of the finding of a conversation that replaced the result of another record."""

_DIGEST_BYTES = 8


class Contribution(NamedTuple):
    """Contribution of one conversation to the metrics.

    Attributes:
        name: Key of the conversation: the name of its result, or the conversation id if it was joined from
            events, because a later event may change the case and thereby the result's name.
        revision: The highest revision counts; of equal ones, the later one.
        digest: Digest of the record; equal digests are repetitions.
        event_time: Seconds since the epoch; determines the window. Revisions remain in the first window.
        app_version: "": unknown.
        statistics: Sums.
    """

    name: str
    revision: int
    digest: bytes
    event_time: float
    app_version: str
    statistics: MetricsState


class RecordOutcome(NamedTuple):
    """Rows that are stored atomically.

    Attributes:
        conversation_id: None: the record yielded no conversation.
        contribution: Contribution to the metrics, empty for a lost joined conversation; None: the record
            yielded no conversation.
        scores: Score rows.
        results: The one result row, or none.
        failures: Failure rows.
        receipts: Receipts that are settled when the outcome is stored.
        joined: Record of a conversation joined from events; None: not joined.
        guesses: Tools with inferred effects, `EFFECT|TOOL`.
        conversations: The one row of the conversation, or none.
        judged: Counts of the judge's verdicts, by name.
    """

    conversation_id: str | None
    contribution: Contribution | None
    scores: list[MadeScoreRow]
    results: list[ResultRow]
    failures: list[FailureRow]
    receipts: tuple[Receipt, ...]
    joined: Record | None = None
    guesses: tuple[str, ...] = ()
    conversations: Sequence[ConversationRow] = ()
    judged: tuple[tuple[str, int], ...] = ()


def scored_outcome(evaluated: EvaluatedConversation, event_time: float, run_id: str) -> RecordOutcome:
    """Returns the outcome of a scored conversation, with the failures of its criteria."""
    scored, conversation = evaluated.scored, evaluated.scored.sample.conversation
    record, (result,) = scored.sample.record, evaluated.results
    statistics = MetricsState()
    statistics.add(scored, evaluated.verdict, evaluated.parts)
    contribution = Contribution(
        name=f"conversation {conversation.conversation_id}" if record.closing else result["name"],
        revision=conversation.revision,
        digest=_digest(record),
        event_time=event_time,
        app_version=conversation.app_version or "",
        statistics=statistics,
    )
    return RecordOutcome(
        conversation_id=conversation.conversation_id,
        contribution=contribution,
        scores=evaluated.scores,
        results=evaluated.results,
        failures=[row for failure in scored.failures for row in failure_rows(failure, run_id)],
        receipts=record.settles(),
        joined=record if record.closing else None,
        guesses=tuple(f"{effect}|{name}" for name, effect in guessed_tools(scored).items()),
        conversations=evaluated.conversations,
        judged=tuple(judged_counts(scored, evaluated.verdict.status).items()),
    )


def failed_outcome(failure: Failure, run_id: str) -> RecordOutcome:
    """Returns the outcome of a lost record or conversation."""
    if failure.joined is not None:
        return lost_outcome(failure.joined, [failure], run_id)
    return RecordOutcome(
        failure.conversation_id, None, [], [], failure_rows(failure, run_id), failure.receipts
    )


def lost_outcome(record: Record, failures: Sequence[Failure], run_id: str) -> RecordOutcome:
    """Returns the outcome of a closing without a result, which replaces earlier outcomes."""
    assert record.closing is not None
    name, closing = record.closing.session_id, record.closing
    contribution = Contribution(
        f"conversation {name}",
        closing.revision,
        _digest(record),
        closing.time,
        app_version="",
        statistics=MetricsState(),
    )
    rows = [row for failure in failures for row in failure_rows(failure, run_id)]
    return RecordOutcome(name, contribution, [], [], rows, record.settles(), record)


def too_late(outcome: RecordOutcome, run_id: str) -> RecordOutcome:
    """Returns the outcome of a changed conversation that arrived after its removal from state."""
    message = "the conversation came again, changed, after it was forgotten (see --allowed_lateness)"
    return failed_outcome(_failure(outcome, "assemble", "LateEventError", message), run_id)


def in_place_of_another(outcome: RecordOutcome, run_id: str) -> RecordOutcome:
    """Returns an outcome that replaces the result of another record, with a finding that says so."""
    message = "replaced the result of an earlier record with the same conversation id and eval case"
    finding = _failure(outcome, STAGE, REPLACED, message)
    return outcome._replace(failures=[*outcome.failures, *failure_rows(finding, run_id)])


def _failure(outcome: RecordOutcome, stage: Stage, error_type: str, message: str) -> Failure:
    place = outcome.receipts[0] if outcome.receipts else None
    return Failure(
        stage=stage,
        error_type=error_type,
        message=message,
        source=place.source if place else None,
        position=place.position if place else None,
        conversation_id=outcome.conversation_id,
        app_version=outcome.contribution.app_version or None if outcome.contribution else None,
        receipts=outcome.receipts,
    )


def _digest(record: Record) -> bytes:
    return blake2b(record.data, digest_size=_DIGEST_BYTES).digest()


def ignored_outcome(receipts: tuple[Receipt, ...]) -> RecordOutcome:
    """Returns the outcome of records that add nothing, such as an event that came twice."""
    return RecordOutcome(None, None, [], [], [], receipts)
