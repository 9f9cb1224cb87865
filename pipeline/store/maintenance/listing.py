"""Lists the runs of a store for a person."""

import json
from itertools import groupby
from typing import NamedTuple

from sqlalchemy import Connection, RowMapping, select

from turnwise.pipeline.store.database import RUNS
from turnwise.pipeline.store.lost import lost_of_runs
from turnwise.pipeline.store.run_counts import count_rows
from turnwise.schemas.proto.scalars import nanos_timestamp

_COUNTS = ("conversations", "results", "passes", "fails", "undecided", "failures")


class ListedRun(NamedTuple):
    """A run of an app, as `evaluation_runs` has it.

    Attributes:
        update_time: When something of it was last written.
        cost: Cost of the judge over all apps; None: not known.
    """

    name: str
    app: str
    run_id: str
    state: str
    day: str | None
    update_time: str
    app_versions: list[str]
    conversations: int
    results: int
    passes: int
    fails: int
    undecided: int
    failures: int
    lost: int
    cost: float | None
    exit_status: int | None
    error: str | None


def listed_runs(connection: Connection, app: str) -> list[ListedRun]:
    """Returns the runs of an app ("": of all apps), by app, the newest first."""
    query = select(RUNS).order_by(RUNS.c.app, RUNS.c.create_nanos.desc(), RUNS.c.name)
    query = query.where(RUNS.c.app == app) if app else query
    rows = connection.execute(query).mappings().all()
    found = []
    for own, of_app in groupby(rows, lambda row: row["app"]):
        of_own = list(of_app)
        lost = lost_of_runs(connection, own, [row["name"] for row in of_own])
        found += [_listed(connection, row, lost[row["name"].rsplit("/", 1)[-1]]) for row in of_own]
    return found


def _listed(connection: Connection, row: RowMapping, lost: int) -> ListedRun:
    # A run that has not ended has the counts of its rows as they are now.
    counts = row if row["results"] is not None else count_rows(connection, row["name"], row["execution"])
    return ListedRun(
        **{name: row[name] for name in ("name", "app", "run_id", "state", "cost", "exit_status", "error")},
        **{name: counts[name] for name in _COUNTS},
        lost=lost,
        day=row["day"],
        update_time=nanos_timestamp(row["update_nanos"]),
        app_versions=json.loads(counts["app_versions"]),
    )
