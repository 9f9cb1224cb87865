"""The dead letter: what could not be read, parsed, matched or scored, and why."""

from dataclasses import dataclass

from turnwise.schemas.record import Receipt, Record

KEPT_RECORD_BYTES = 65_536


@dataclass(slots=True)
class Failure:
    """One thing that went wrong; the rest of the run went on.

    Attributes:
        stage: `read`, `parse`, `parse_case`, `assemble`, `match`, `score` or `alert`; `check`: something
            in the record is wrong, and all else of it is scored.
        error_type: Class of the error.
        message: What was wrong, in one line.
        source: File the record came from.
        position: 1-based line or index in that file.
        record: The record's text, at most 64 KiB of it.
        conversation_id: Where the record could be read that far.
        criterion: Which criterion raised (`score` only).
        app_version: Version of the agent (`score` and `check` only).
        turn_index: 0-based turn (`score` and `check` only); None: the whole conversation.
        receipts: Of a record that gives nothing else: what is done with when this failure is kept.
        joined: In a stream, the joined record that was lost; None: none was.
    """

    stage: str
    error_type: str
    message: str
    source: str | None = None
    position: int | None = None
    record: str | None = None
    conversation_id: str | None = None
    criterion: str | None = None
    app_version: str | None = None
    turn_index: int | None = None
    receipts: tuple[Receipt, ...] = ()
    joined: Record | None = None


def record_failure(
    stage: str, error: BaseException, record: Record, conversation_id: str | None = None
) -> Failure:
    """Returns the failure row of a record that raised `error`."""
    return Failure(
        stage=stage,
        error_type=type(error).__name__,
        message=" ".join(str(error).split())[:2000],
        source=record.source,
        position=record.position,
        record=record.data[:KEPT_RECORD_BYTES].decode("utf-8", "replace"),
        conversation_id=conversation_id,
        receipts=record.settles(),
        joined=record if record.closing else None,
    )
