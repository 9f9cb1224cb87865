"""Reads the records and conversations that runs lost."""

from collections.abc import Iterator
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, select

from turnwise.pipeline.store.executions import run_key
from turnwise.pipeline.store.naming import LOCAL_APP
from turnwise.pipeline.store.results import version_id
from turnwise.pipeline.store.run_counts import LOSING
from turnwise.pipeline.store.runs import runs_with_rows
from turnwise.pipeline.store.tables import CONVERSATIONS, FAILURES, key_text


class RunLoss(NamedTuple):
    """A lost record, case or conversation.

    Attributes:
        run: Id of its run.
        conversation: Id of the conversation; "": not known.
        version: Id of the app version; "": not known.
        nanos: Time of writing, nanoseconds since 1970.
    """

    run: str
    conversation: str
    version: str
    nanos: int


def lost_records(connection: Connection, app: str, *conditions: ColumnElement[bool]) -> Iterator[RunLoss]:
    """Yields what the runs of an app lost; of those that name no app, what is of no other app.

    Args:
        connection: Connection to the store.
        app: Name of the app.
        *conditions: Which failures to consider.
    """
    columns = ("app", "evaluation_run", "conversation_id", "app_version", "update_nanos")
    is_lost = FAILURES.c.stage.in_(LOSING), FAILURES.c.criterion == "", FAILURES.c.app.in_((app, LOCAL_APP))
    query = select(*(FAILURES.c[name] for name in columns)).where(*is_lost, *conditions)
    rows = connection.execute(query).all()
    others = _runs_of_other_apps(connection, app) if any(row.app != app for row in rows) else set()
    for own, run, conversation, version, nanos in rows:
        lost = RunLoss(run.rsplit("/", 1)[-1], conversation, key_text(version_id(version)), nanos)
        if own == app or lost.run not in others:
            yield lost


def _runs_of_other_apps(connection: Connection, app: str) -> set[str]:
    """Returns the ids of the runs that have results in other apps alone."""
    apps: dict[str, set[str]] = {}
    for own, run in runs_with_rows(connection):
        apps.setdefault(run.rsplit("/", 1)[-1], set()).add(own)
    return {run for run, found in apps.items() if app not in found}


def lost_of_run(connection: Connection, app: str, run: str, version: str | None) -> int:
    """Returns how many records a run lost; of a version (its id), those that may be of it."""
    names = [run_key(own, run.rsplit("/", 1)[-1]) for own in (app, LOCAL_APP)]
    lost = lost_records(connection, app, FAILURES.c.evaluation_run.in_(names))
    return sum(version is None or own.version in (version, "") for own in lost)


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
