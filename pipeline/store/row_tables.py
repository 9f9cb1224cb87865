"""Which table of the store takes the rows of which table of a run."""

from collections.abc import Callable
from typing import Any

from sqlalchemy import Table

from turnwise.pipeline.store.database import (
    CONVERSATION_ROWS,
    FAILURE_ROWS,
    METRIC_ROWS,
    RESULT_ROWS,
    SCORE_ROWS,
)
from turnwise.pipeline.store.executions import Execution
from turnwise.pipeline.store.failures import failure_columns
from turnwise.pipeline.store.metrics import metric_columns
from turnwise.pipeline.store.naming import app_of_row, full_result
from turnwise.pipeline.store.results import ScoredAgainst, result_columns
from turnwise.pipeline.store.rows import conversation_columns, score_columns
from turnwise.schemas.jsonio import JsonObject


def _result(row: Any, execution: Execution, nanos: int) -> JsonObject:
    against = ScoredAgainst(row["case_etag"], row["case_digest"])
    return result_columns(full_result(row, execution.app), row["conversation_id"], nanos, against)


def _failure(row: Any, execution: Execution, nanos: int) -> JsonObject:
    return failure_columns(row, app_of_row(row, execution.app), nanos)


def _score(row: Any, execution: Execution, nanos: int) -> JsonObject:
    return score_columns(row, execution.app, nanos, execution.day)


def _conversation(row: Any, execution: Execution, nanos: int) -> JsonObject:
    return conversation_columns(row, execution.app, nanos)


ROW_TABLES: dict[str, tuple[Table, Callable[[Any, Execution, int], JsonObject]]] = {
    "results": (RESULT_ROWS, _result),
    "failures": (FAILURE_ROWS, _failure),
    "scores": (SCORE_ROWS, _score),
    "conversations": (CONVERSATION_ROWS, _conversation),
    "metrics_by_app_version": (METRIC_ROWS, metric_columns),
    "metrics_by_turn": (METRIC_ROWS, metric_columns),
}
"""Table of a run -> table of the store, and what makes its columns of a row, the execution and a time."""
