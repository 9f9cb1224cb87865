"""Scores: one measured or judged value for one turn or one conversation."""

from asyncio import CancelledError
from typing import Final, Literal, TypeAlias, get_args

from msgspec import Struct

from turnwise.schemas.conversation import Receipt, Record
from turnwise.schemas.jsonio import JsonObject

Outcome = Literal["PASS", "FAIL", "SKIPPED"]
LARGEST_VALUE = 1e15
"""A larger value, which sums of metrics have no room for, is no score."""


class JudgeUse(Struct):
    """Usage of the judge for one score.

    Attributes:
        model: Model name; of a panel or cascade, the names of all models as the config has them.
        prompt_version: Name and version of the prompt; of a cascade, that of the first judge.
        tokens_in: Billed prompt tokens; None: the judge's API does not state them.
        voted: Number of verdicts (of one rubric, sentence, aspect or answer) with two votes or more.
        flipped: Number of those whose votes are not all the same; None: no verdict has two votes.
    """

    model: str
    prompt_version: str
    samples: int
    tokens_in: int | None
    tokens_out: int | None
    cached: int
    voted: int = 0
    flipped: int | None = None


class Score(Struct):
    """Score of a turn or a whole conversation.

    Attributes:
        value: Value on the criterion's scale, finite; None: no score.
        reason: Why there is no value or no outcome, or an outcome that the value alone does not give.
        label: Label of the value, or the measured item (a tool, a model).
        explanation: One sentence for a reviewer.
        threshold: Applied threshold; None: there is none.
        outcome: PASS or FAIL by the threshold; None: no score, or no threshold.
        judge: Usage of the judge; None: the score was measured.

    >>> turnwise.Score(None, reason="the log has no times").outcome is None
    True
    """

    value: float | None
    reason: str | None = None
    label: str | None = None
    explanation: str | None = None
    details: JsonObject | None = None
    threshold: float | None = None
    outcome: Outcome | None = None
    judge: JudgeUse | None = None


CriterionSeverityReason: TypeAlias = Literal[
    "safety", "false_claims", "missing_writes", "unsupported", "expectations", "text", "other"
]
"""Severity reasons that a criterion can state."""

SeverityReason: TypeAlias = Literal["destructive", CriterionSeverityReason, "no_verdict"]
"""All kinds, the most severe first.

`destructive`: a successful call that cannot be undone and was not expected. `missing_writes`: changes that
are missing, wrong or not expected. `no_verdict`: a conversation without a verdict.
"""

CRITERION_SEVERITY_REASONS: Final[tuple[str, ...]] = get_args(CriterionSeverityReason)
SEVERITY_REASONS: Final[tuple[SeverityReason, ...]] = get_args(SeverityReason)
SEVERITIES: Final[dict[SeverityReason, str]] = {
    "destructive": "critical", "safety": "critical", "false_claims": "high", "missing_writes": "high",
    "unsupported": "medium", "expectations": "medium", "text": "low", "other": "low", "no_verdict": "low",
}  # fmt: skip
"""How bad what went wrong is, by its reason."""
SEVERITY_WEIGHTS: Final[dict[SeverityReason, int]] = {
    term: 3**i for i, term in enumerate(reversed(SEVERITY_REASONS))
}
"""Weight of each kind. The half of each weight is more than all lower weights together can reach."""


KEPT_RECORD_BYTES = 65_536
Stage = Literal["read", "parse", "parse_case", "assemble", "match", "score", "check", "alert", "write"]
"""The step that failed; `check`: a problem of a record that is scored nevertheless."""
RAISED = (Exception, SystemExit, GeneratorExit, CancelledError)
"""What code of a plugin, or an object that was handed in, may raise: all but signals.

Where such code is awaited, a cancellation may also be one of the task.
"""


_UNKNOWN = "; an unknown number of records is missing"


class OversizedRecordError(ValueError):
    """A record is larger than the limit."""


def oversized_error(limit: int) -> OversizedRecordError:
    """Returns the error for a record larger than `limit` bytes."""
    return OversizedRecordError(f"the record is larger than {limit / 1024 / 1024:g} MB")


class IncompleteReadError(ValueError):
    """A file, member of an archive or other source broke off, or was not read at all."""

    # Nobody knows how many records are missing, so it never counts as one: a run with such a failure fails.

    def __init__(self, why: BaseException | str) -> None:
        is_plain = isinstance(why, str | ValueError | OSError)
        text = str(why) if is_plain else f"{type(why).__name__}: {why}"
        super().__init__(text.removesuffix(_UNKNOWN) + _UNKNOWN)


class Failure(Struct):
    """One failure; the run continues.

    Attributes:
        message: Description in one line.
        position: 1-based line or index in that file.
        record: The record's text, at most 64 KiB of it.
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


def record_failure(
    stage: Stage, error: BaseException, record: Record, conversation_id: str | None = None
) -> Failure:
    """Returns the failure row of a record that raised `error`."""
    text = " ".join(str(error).split())[:2000]
    is_cut = isinstance(error, ValueError) and any(half in text for half in _HALVES)
    return Failure(
        stage=stage,
        error_type=type(error).__name__,
        message=f"{_HALF}: {text}" if is_cut else text,
        source=record.source,
        position=record.position,
        record=record.data[:KEPT_RECORD_BYTES].decode("utf-8", "replace"),
        conversation_id=conversation_id,
        receipts=record.settles(),
        joined=record if record.closing else None,
    )
