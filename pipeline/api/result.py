"""Result of an evaluation."""

from typing import Literal

from msgspec import Struct, field

from turnwise.pipeline.api.table import Table
from turnwise.pipeline.io.terminal import counted
from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.rows import (
    ConversationRow,
    FailureRow,
    MetricsByAppVersionRow,
    MetricsBySliceRow,
    MetricsByTurnRow,
    ResultRow,
    ScoreRow,
)


class RunResult(Struct, frozen=True):
    """Everything that an evaluation gives; `str(result)` is the report of the run.

    Attributes:
        run_id: Id of the run, as in the rows.
        status: PASS: every conversation passed, and nothing was lost or left undecided. FAIL: a conversation
            failed. None: undecided; also where nothing was scored.
        problems: Why the status is not PASS, one line each.
        scores: One row a score.
        results: One row a conversation; `result` is a CES EvaluationResult in proto3 JSON.
        conversations: One row a conversation: why it should be read and how early, figures, what was said.
        metrics_by_app_version: Figures by app version and criterion.
        metrics_by_turn: Figures by app version, criterion and turn index.
        metrics_by_slice: Figures by app version, criterion and slice.
        failures: What could not be read, parsed, matched or scored, and what is wrong in a record.
        counts: How many records, conversations and results there were, as `counts` in `run.json`.
        judge: Who judged, and at what cost, as `judge` in `run.json`.
        summary: The table of app versions and what became of every record.

    >>> import turnwise
    >>> turn = {"user": "Hi", "agent": "Hello", "expected": {"response": "Hello"}}
    >>> log = {"conversation_id": "c1", "turns": [turn]}
    >>> result = turnwise.evaluate(log, criteria={"response_match_score": 0.8})
    >>> result
    <RunResult PASS: 1 conversation, 0 failures>
    >>> result.passed
    True
    """

    run_id: str
    status: Literal["PASS", "FAIL"] | None
    problems: tuple[str, ...]
    scores: Table[ScoreRow]
    results: Table[ResultRow]
    conversations: Table[ConversationRow]
    metrics_by_app_version: Table[MetricsByAppVersionRow]
    metrics_by_turn: Table[MetricsByTurnRow]
    metrics_by_slice: Table[MetricsBySliceRow]
    failures: Table[FailureRow]
    counts: JsonObject = field(default_factory=dict)
    judge: JsonObject = field(default_factory=dict)
    summary: str = ""

    @property
    def passed(self) -> bool:
        """Whether the status is PASS."""
        return self.status == "PASS"

    def __bool__(self) -> bool:
        """Whether the status is PASS, so that `assert turnwise.evaluate(...)` fails otherwise."""
        return self.passed

    def __repr__(self) -> str:
        conversations = counted(len(self.results), "conversation")
        lost = counted(len(self.failures), "failure")
        return f"<RunResult {self.status or 'not decided'}: {conversations}, {lost}>"

    def __str__(self) -> str:
        return "\n".join((self.summary, *self.problems))
