"""What is kept of one conversation of a stream, or of a record that gave none."""

from hashlib import blake2b
from typing import NamedTuple

from schemas.failure import Failure
from schemas.record import Receipt
from schemas.rows import FailureRow, ResultRow, ScoreRow
from transforms.guesses import guessed_tools
from transforms.metrics import MetricsState
from transforms.rows import failure_rows
from transforms.score_turns import EvaluatedConversation

_DIGEST_BYTES = 8


class Contribution(NamedTuple):
    """What one conversation adds to the metrics.

    Attributes:
        name: What it is known by: the name of its result, or, if it was joined from events, its id: a later
            event may change the case, and with it the result's name.
        revision: The highest counts; of two equal ones, the one that came later.
        digest: Of the record it was read from: equal ones are the same thing twice.
        event_time: Seconds since the epoch; it names the window. A revision stays in the first one's window.
        app_version: "": unknown.
        statistics: Its sums.
        is_restored: Whether it was counted before the process was started anew.
    """

    name: str
    revision: int
    digest: bytes
    event_time: float
    app_version: str
    statistics: MetricsState
    is_restored: bool = False


class Outcome(NamedTuple):
    """Rows that are kept all at once or not at all.

    Attributes:
        conversation_id: None: the record gave no conversation.
        contribution: None: nothing was scored.
        scores: Score rows.
        results: The one result row, or none.
        failures: Failure rows.
        receipts: The records (or parts) that are done with when this is kept.
        events: Of a conversation joined from events, the JSON array of them; else empty.
        guesses: Tools whose effect was guessed, `EFFECT|TOOL`.
    """

    conversation_id: str | None
    contribution: Contribution | None
    scores: list[ScoreRow]
    results: list[ResultRow]
    failures: list[FailureRow]
    receipts: tuple[Receipt, ...]
    events: bytes = b""
    guesses: tuple[str, ...] = ()


def scored_outcome(evaluated: EvaluatedConversation, event_time: float, run_id: str) -> Outcome:
    """Returns what is kept of a scored conversation; its criteria's failures go with it."""
    scored, conversation = evaluated.scored, evaluated.scored.case.conversation
    record = scored.case.record
    statistics = MetricsState()
    result = evaluated.results[0]["result"]
    statistics.add(scored, evaluated.verdict, result)
    contribution = Contribution(
        name=f"conversation {conversation.conversation_id}" if record.is_joined else result["name"],
        revision=conversation.revision,
        digest=blake2b(record.data, digest_size=_DIGEST_BYTES).digest(),
        event_time=event_time,
        app_version=conversation.app_version or "",
        statistics=statistics,
    )
    return Outcome(
        conversation_id=conversation.conversation_id,
        contribution=contribution,
        scores=evaluated.scores,
        results=evaluated.results,
        failures=[row for failure in scored.failures for row in failure_rows(failure, run_id)],
        receipts=record.settles(),
        events=record.data if record.is_joined else b"",
        guesses=tuple(f"{effect}|{name}" for name, effect in guessed_tools(scored).items()),
    )


def failed_outcome(failure: Failure, run_id: str) -> Outcome:
    """Returns what is kept of a record or conversation that was lost."""
    return Outcome(failure.conversation_id, None, [], [], failure_rows(failure, run_id), failure.receipts)


def ignored_outcome(receipts: tuple[Receipt, ...]) -> Outcome:
    """Returns the outcome of records that add nothing, such as an event that came twice."""
    return Outcome(None, None, [], [], [], receipts)
