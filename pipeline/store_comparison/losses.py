"""Reads from a store what the runs of a side lost, those without any result included."""

import json
from collections import Counter
from collections.abc import Callable, Mapping

from sqlalchemy import Connection, select

from turnwise.pipeline.store.database import CONVERSATIONS, FAILURES, RESULTS, RUNS, key_text
from turnwise.pipeline.store.lost import RunLoss, lost_records
from turnwise.pipeline.store.naming import LOCAL_APP
from turnwise.pipeline.store.removed_rows import REMOVED, read_document
from turnwise.pipeline.store.run_counts import REPLACED
from turnwise.pipeline.store.runs import is_counted, unread_runs
from turnwise.pipeline.store_comparison.records import RecordColumns
from turnwise.transforms.decisions.comparison.sides import ComparedSide


def add_losses(
    connection: Connection,
    app: str,
    side: ComparedSide,
    stored: RecordColumns,
    *,
    version: str | None,
    is_b: bool,
) -> None:
    """Adds to a side what its runs lost.

    The runs of an app version are also those whose results others have superseded, and those that lost
    everything; a loss counts there unless the conversation (where none is known: all that is compared) was
    measured later. A run without any result whose records name no version counts for B.

    Args:
        connection: Connection to the store.
        app: Name of the app.
        side: The side.
        stored: Its conversations.
        version: Id of the app version that the side is; None: it is a run.
        is_b: Whether it is the candidate.
    """
    all_lost = list(lost_records(connection, app, is_counted(FAILURES)))
    versions = _versions_of_runs(connection, app) if all_lost else {}
    counts = Counter[str]()
    if all_lost:
        is_of_version = _of_version(stored, versions, version, is_b)
        for lost in all_lost:
            if lost.run in side.run_ids or is_of_version(lost):
                counts[lost.run] += lost.number
    side.lost = counts.total()
    for run in sorted(counts.keys() - {*side.run_ids}):
        nothing = "no result that is compared" if run in versions else "no result"
        what = f"{counts[run]} records or conversations"
        side.notes.append(f"{side.name}: run {run} has {nothing}, and lost {what}")
    side.run_ids = sorted({*side.run_ids, *counts})
    _note_replaced(connection, app, side)


def _of_version(
    stored: RecordColumns, versions: Mapping[str, set[str]], version: str | None, is_b: bool
) -> Callable[[RunLoss], bool]:
    """Returns whether what other runs lost counts for an app version; see `add_losses`."""
    measured: dict[str, int] = {}
    for name, nanos in zip(stored.conversations, stored.nanos.tolist(), strict=True):
        measured[name] = max(nanos, measured.get(name, 0))
    oldest = min(measured.values(), default=0)

    def is_of_version(lost: RunLoss) -> bool:
        if version is None:
            return False
        if lost.version:
            return lost.version == version and lost.nanos >= measured.get(lost.conversation, 0)
        own = versions.get(lost.run)
        return lost.nanos >= oldest and (is_b if own is None else version in own)

    return is_of_version


def add_unread(
    connection: Connection,
    app: str,
    side: ComparedSide,
    stored: RecordColumns,
    *,
    version: str | None,
    is_b: bool,
) -> None:
    """Adds the runs of a side that have not ended or broke off, and are not compared.

    They are problems of the side unless all that is compared was measured later. A run that has not ended or
    broke off counts for B whatever versions its rows are of: it may have been to measure B, too.

    Args:
        connection: Connection to the store.
        app: Name of the app.
        side: The side.
        stored: Its conversations.
        version: Id of the app version that the side is; None: it is a run.
        is_b: Whether it is the candidate.
    """
    oldest = stored.oldest
    run = key_text(side.name.rsplit("/", 1)[-1]) if version is None else None
    problems = []
    for state in unread_runs(connection, app, version, run, and_unknown=is_b and version is not None):
        told = f"{state.told()}, and is not compared" if not state.is_counted else state.told()
        if state.unread_nanos < oldest:
            side.notes.append(f"{side.name}: {told}")
            continue
        problems.append(told)
        side.run_ids = sorted({*side.run_ids, state.run_id})
    side.problems = [*side.problems, *problems]


def add_deleted(
    connection: Connection,
    app: str,
    side: ComparedSide,
    stored: RecordColumns,
    *,
    version: str | None,
) -> None:
    """Adds as problems of a side how many rows of its runs were deleted since they ended.

    Older results may stand in their place. Of an app version, runs that ended before all that is compared
    was measured do not count.

    Args:
        connection: Connection to the store.
        app: Name of the app.
        side: The side.
        stored: Its conversations.
        version: Id of the app version that the side is; None: it is a run.
    """
    oldest = stored.oldest
    columns = RUNS.c.run_id, RUNS.c.app_versions, RUNS.c.end_nanos, RUNS.c.content
    query = select(*columns).where(
        RUNS.c.app == app, RUNS.c.content.contains(f'"{REMOVED}"', autoescape=True)
    )
    for run, versions, end, content in connection.execute(query.order_by(RUNS.c.run_id)):
        may_be_of_version = versions is None or version in json.loads(versions)
        is_of_version = may_be_of_version and (end or oldest) >= oldest
        if not (run in side.run_ids if version is None else is_of_version):
            continue
        removed = (read_document(content) or {}).get(REMOVED, {})
        what = "results" if removed.get("results") else "conversations"
        side.problems = [
            *side.problems,
            f"{removed.get(what, '?')} {what} of run {run} were deleted since it ended",
        ]
        side.run_ids = sorted({*side.run_ids, run})


def _versions_of_runs(connection: Connection, app: str) -> dict[str, set[str]]:
    """Returns id of a run with results -> ids of its app versions."""
    found: dict[str, set[str]] = {}
    for table in (RESULTS, CONVERSATIONS):
        query = select(table.c.evaluation_run, table.c.version_id).where(table.c.app == app).distinct()
        for run, version in connection.execute(query):
            found.setdefault(run.rsplit("/", 1)[-1], set()).add(version)
    return found


def _note_replaced(connection: Connection, app: str, side: ComparedSide) -> None:
    """Notes what other results of the same run replaced."""
    runs = [f"{own}/evaluationRuns/{run}" for own in (app, LOCAL_APP) for run in side.run_ids]
    query = select(FAILURES.c.content).where(
        FAILURES.c.evaluation_run.in_(runs), FAILURES.c.error_type == REPLACED
    )
    for content in connection.execute(query).scalars():
        row = json.loads(content)
        side.notes.append(f"{side.name}: run {row['run_id']}: {row['message']}")
