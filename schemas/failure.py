"""Failures (dead letters): records that could not be read, parsed, matched or scored."""

from typing import Literal

from msgspec import Struct

from turnwise.schemas.record import Receipt, Record

KEPT_RECORD_BYTES = 65_536
Stage = Literal["read", "parse", "parse_case", "assemble", "match", "score", "check", "alert", "write"]
"""The step that failed; `check`: a problem of a record that is scored nevertheless."""
RAISED = (Exception, SystemExit, GeneratorExit)
"""What code of a plugin, or an object that was handed in, may raise: all but signals and cancellations."""


_UNKNOWN = "; an unknown number of records is missing"


class IncompleteReadError(ValueError):
    """A file, member of an archive or other source broke off, or was not read at all.

    Nobody knows how many of its records are missing, so it never counts as one lost record: a run with such a
    failure fails.
    """

    def __init__(self, why: BaseException | str) -> None:
        """Creates an error of what happened; one line."""
        own = why if isinstance(why, str | ValueError | OSError) else f"{type(why).__name__}: {why}"
        said = str(own)
        super().__init__(said if said.endswith(_UNKNOWN) else said + _UNKNOWN)


class Failure(Struct):
    """One failure; the run continues.

    Attributes:
        stage: The step that failed.
        error_type: Class of the error.
        message: Description in one line.
        source: File of the record.
        position: 1-based line or index in that file.
        record: The record's text, at most 64 KiB of it.
        conversation_id: Id of the conversation, if known.
        criterion: Criterion that raised the error (`score` only).
        app_version: Version of the agent (`score` and `check` only).
        turn_index: 0-based turn (`score` and `check` only); None: the whole conversation.
        receipts: Receipts that are settled when this failure is stored; for records without other output.
        joined: In a stream, the joined record that was lost; None: there is none.
    """

    stage: Stage
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


_HALVES = ("hex escape", "surrogates not allowed")
_HALF = r"half a character, such as \ud83d of an emoji that JavaScript cut; write \ufffd in its place"


def _message(error: BaseException) -> str:
    said = " ".join(str(error).split())[:2000]
    return f"{_HALF}: {said}" if isinstance(error, ValueError) and any(h in said for h in _HALVES) else said


def record_failure(
    stage: Stage, error: BaseException, record: Record, conversation_id: str | None = None
) -> Failure:
    """Returns the failure row of a record that raised `error`."""
    return Failure(
        stage=stage,
        error_type=type(error).__name__,
        message=_message(error),
        source=record.source,
        position=record.position,
        record=record.data[:KEPT_RECORD_BYTES].decode("utf-8", "replace"),
        conversation_id=conversation_id,
        receipts=record.settles(),
        joined=record if record.closing else None,
    )
