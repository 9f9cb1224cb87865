"""The tables of an export, and those that stay in their store."""

from collections.abc import Callable
from typing import Any

from sqlalchemy import ColumnElement, Select, Table, select

from turnwise.pipeline.store.tables import (
    CONVERSATION_ROWS,
    CURRENT,
    DATASET_MEMBERS,
    ERASURES,
    EVALUATION_DATASETS,
    EVALUATION_EXPECTATIONS,
    EVALUATIONS,
    EXECUTIONS,
    FAILURE_ROWS,
    HISTORY,
    METRIC_ROWS,
    PRUNED,
    RESULT_ROWS,
    RUN_SUMMARIES,
    SCORE_ROWS,
    SETTINGS,
    TAGS,
)

AppCondition = Callable[[str], ColumnElement[bool] | None]


def _of_app(table: Table) -> AppCondition:
    return lambda app: table.c.app == app


def _of_evaluations(column: Any) -> AppCondition:
    return lambda app: column.in_(select(EVALUATIONS.c.name).where(EVALUATIONS.c.app == app))


def _of_history(app: str) -> ColumnElement[bool]:
    # An evaluation that was deleted has its history alone.
    return HISTORY.c.evaluation.startswith(f"{app}/evaluations/", autoescape=True)


def _of_runs(column: Any) -> AppCondition:
    return lambda app: column.in_(select(EXECUTIONS.c.name).where(EXECUTIONS.c.app == app))


EXPORTED: dict[Table, AppCondition] = {
    EVALUATIONS: _of_app(EVALUATIONS),
    TAGS: _of_evaluations(TAGS.c.evaluation),
    HISTORY: _of_history,
    EVALUATION_DATASETS: _of_app(EVALUATION_DATASETS),
    DATASET_MEMBERS: _of_evaluations(DATASET_MEMBERS.c.evaluation),
    EVALUATION_EXPECTATIONS: _of_app(EVALUATION_EXPECTATIONS),
    EXECUTIONS: _of_app(EXECUTIONS),
    RESULT_ROWS: _of_app(RESULT_ROWS),
    CONVERSATION_ROWS: _of_app(CONVERSATION_ROWS),
    SCORE_ROWS: _of_app(SCORE_ROWS),
    FAILURE_ROWS: _of_app(FAILURE_ROWS),
    METRIC_ROWS: _of_app(METRIC_ROWS),
    CURRENT: _of_runs(CURRENT.c.name),
    PRUNED: _of_runs(PRUNED.c.name),
    ERASURES: lambda app: None,
}
"""Table -> the condition of its rows of an app (None: all). What others refer to comes first."""

NOT_EXPORTED: dict[Table, str] = {
    RUN_SUMMARIES: "computed from the other tables again",
    SETTINGS: "what a store does, not what it holds",
}
"""Table -> why it stays."""


def rows_query(table: Table, app: str) -> Select[Any]:
    """Returns the query for the rows of an app ("": of all apps), in the order of their keys."""
    query = select(table).order_by(*table.primary_key)
    condition = EXPORTED[table](app) if app else None
    return query if condition is None else query.where(condition)
