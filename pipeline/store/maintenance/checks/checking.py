"""Checks a store."""

from collections.abc import Callable, Iterator
from functools import cache, partial

import msgspec
from sqlalchemy import Connection

from turnwise.pipeline.store.engine import Store
from turnwise.pipeline.store.maintenance.checks.check import Check
from turnwise.pipeline.store.maintenance.checks.contents import content_problems, value_problems
from turnwise.pipeline.store.maintenance.checks.erasures import erasure_problems
from turnwise.pipeline.store.maintenance.checks.evaluations import history_problems, member_problems
from turnwise.pipeline.store.maintenance.checks.runs import (
    count_problems,
    execution_problems,
    progress_problems,
    retention_problems,
    uncounted,
)
from turnwise.pipeline.store.maintenance.checks.schema import Schema, schema_problems, wanted_schema
from turnwise.pipeline.store.maintenance.checks.scores import score_problems
from turnwise.pipeline.store.maintenance.digests import erasure_rows
from turnwise.pipeline.store.urls import StoreError

_CHECKS = (
    Check("rows and their contents", content_problems),
    Check("evaluations and their history", history_problems),
    Check("tags and datasets", member_problems),
    Check("rows and executions", execution_problems),
    Check("scores and their conversations", score_problems),
    Check("counts of runs", count_problems),
    Check("runs in progress", progress_problems),
    Check("retention", retention_problems),
    Check("erasures", erasure_problems),
)

_DAMAGED = (ValueError, TypeError, LookupError, AttributeError, RecursionError, msgspec.MsgspecError)


def _pages(connection: Connection, _: int) -> Iterator[str]:
    for line in connection.exec_driver_sql("PRAGMA integrity_check").scalars():
        if line != "ok":
            yield str(line)
    for table, _row, parent, _key in connection.exec_driver_sql("PRAGMA foreign_key_check"):
        yield f"a row of {table} refers to a row of {parent} that is not there"


def problems_of(store: Store, check: Check, now: int) -> list[str]:
    """Returns what is wrong with a store at a time (nanoseconds since 1970), one line each."""
    found: list[str] = []

    def work(connection: Connection) -> None:
        found.clear()
        found.extend(check.problems(connection, now))

    try:
        store.read(work)
    except StoreError as error:
        found.append(f"could not be checked: {error}")
    except _DAMAGED as error:
        found.append(f"could not be checked any further: a row cannot be read ({type(error).__name__})")
    return found


def checks_of(store: Store) -> tuple[Check, ...]:
    """Returns the checks of a store."""
    schema = Check(
        "tables, columns, indexes, views and triggers", partial(_schema, cache(partial(wanted_schema, store)))
    )
    pages = (Check("pages of the file", _pages), schema, Check("types of values", value_problems))
    return (*(pages if store.is_sqlite else (schema,)), *_CHECKS)


def _schema(wanted: Callable[[], Schema], connection: Connection, _: int) -> Iterator[str]:
    yield from schema_problems(wanted(), connection)


def not_checked(store: Store) -> list[str]:
    """Returns what the checks cannot know, one line each."""
    lines = [
        "whether scores, metrics and figures follow from what was said",
        "numbers and figures of metric_rows, numbers of recording_rows, days of runs, and scores of runs "
        "without a summary: nothing else states them",
        "labels, thresholds, times, reasons and explanations of scores: nothing else states them",
    ]
    if not store.is_sqlite:
        lines.append("pages of the database (PostgreSQL has pg_amcheck and data checksums)")
    count = store.read(uncounted)
    if count:
        lines.append(f"rows of {count} executions that have no counts: pruned, not complete, or of 0.1")
    if store.read(erasure_rows):
        lines.append("whether failures that name no conversation of the store hold words of an erased one")
    return lines
