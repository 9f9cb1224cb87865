"""Reads the records and conversations that runs lost; says which table takes which rows of a run."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Select, Table, or_, select

from turnwise.pipeline.store.database import (
    CONVERSATION_ROWS,
    CONVERSATIONS,
    EXECUTIONS,
    FAILURE_ROWS,
    FAILURES,
    LOCAL_APP,
    METRIC_ROWS,
    RESULT_ROWS,
    RUNS,
    SCORE_ROWS,
    app_of_row,
    full_result,
    key_text,
)
from turnwise.pipeline.store.rows import (
    ScoredAgainst,
    conversation_columns,
    failure_columns,
    metric_columns,
    result_columns,
    score_columns,
    version_id,
)
from turnwise.pipeline.store.runs import Execution, is_loss, lost_by, replaced_text, run_key, runs_with_rows
from turnwise.schemas.jsonio import JsonObject


class RunLoss(NamedTuple):
    """A lost record, case or conversation, or results that others of the same run replaced.

    Attributes:
        run: Id of its run.
        conversation: Id of the conversation; "": not known.
        version: Id of the app version; "": not known.
        nanos: Time of writing, nanoseconds since 1970.
        number: How many were lost.
    """

    run: str
    conversation: str
    version: str
    nanos: int
    number: int = 1


def lost_records(connection: Connection, app: str, *conditions: ColumnElement[bool]) -> Iterator[RunLoss]:
    """Yields what an app's runs lost; of what names no app, that of runs that are not of others alone."""
    columns = ("app", "evaluation_run", "conversation_id", "app_version", "update_nanos")
    query = select(*(FAILURES.c[name] for name in columns), replaced_text(FAILURES))
    is_near = or_(FAILURES.c.app.in_((app, LOCAL_APP)), FAILURES.c.evaluation_run.in_(_homes(app)))
    found: Sequence[Any] = connection.execute(query.where(is_loss(FAILURES), is_near, *conditions)).all()
    others = _runs_of_other_apps(connection, app) if any(row.app != app for row in found) else set()
    for own, run, conversation, version, nanos, content in found:
        id_of_version = key_text(version_id(version))
        lost = RunLoss(run.rsplit("/", 1)[-1], conversation, id_of_version, nanos, lost_by(content))
        if own == app or lost.run not in others:
            yield lost


def _homes(app: str) -> Select[tuple[str]]:
    """Selects the names that the runs of an app have in their default app, where what names no app is."""
    return select(EXECUTIONS.c.home).where(EXECUTIONS.c.app == app)


def _runs_of_other_apps(connection: Connection, app: str) -> set[str]:
    """Returns the ids of the runs that have results in other apps alone."""
    apps: dict[str, set[str]] = {}
    for own, run in runs_with_rows(connection):
        apps.setdefault(run.rsplit("/", 1)[-1], set()).add(own)
    return {run for run, found in apps.items() if app not in found}


def lost_of_runs(
    connection: Connection, app: str, runs: Collection[str], version: str | None = None
) -> Counter[str]:
    """Returns how many records runs lost; of a version, those that may be of it.

    These are their failures, or what they counted when these were still there.

    Args:
        connection: Connection to the store.
        app: Name of the app.
        runs: Names of the runs.
        version: Id of the app version; None: all.

    Returns:
        Last part of the name of a run -> number.
    """
    names = [run_key(own, run.rsplit("/", 1)[-1]) for run in runs for own in (app, LOCAL_APP)]
    homes = _homes(app).where(EXECUTIONS.c.name.in_(list(runs)))
    is_theirs = or_(FAILURES.c.evaluation_run.in_(names), FAILURES.c.evaluation_run.in_(homes))
    found = Counter[str]()
    for lost in lost_records(connection, app, is_theirs):
        if version is None or lost.version in (version, ""):
            found[lost.run] += lost.number
    if version is None:
        counted = select(RUNS.c.name, RUNS.c.lost).where(RUNS.c.name.in_(list(runs)), RUNS.c.lost > 0)
        for name, number in connection.execute(counted):
            run = name.rsplit("/", 1)[-1]
            found[run] = max(found[run], number)
    return found


def last_run(connection: Connection, app: str) -> str | None:
    """Returns the name of the run that was written last in an app, also of one that lost everything.

    Returns:
        The name; None: there is none.
    """
    newest = CONVERSATIONS.c.update_nanos.desc(), CONVERSATIONS.c.name.desc()
    query = select(CONVERSATIONS.c.evaluation_run, CONVERSATIONS.c.update_nanos)
    found = connection.execute(query.where(CONVERSATIONS.c.app == app).order_by(*newest).limit(1)).first()
    run, nanos = found or (None, -1)
    lost = list(lost_records(connection, app, FAILURES.c.update_nanos > nanos))
    if lost:
        last = max(lost, key=lambda own: own.nanos)
        return f"{app}/evaluationRuns/{last.run}"
    return run


# Which table of the store takes the rows of which table of a run.


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
