"""Reads which conversations and results of a store belong to a side of a comparison."""

from collections.abc import Collection, Sequence
from typing import NamedTuple, Protocol

from sqlalchemy import Connection, select

from turnwise.pipeline.store.database import CONVERSATIONS, RESULTS, key_text
from turnwise.pipeline.store.executions import run_key
from turnwise.pipeline.store.lost import lost_records
from turnwise.pipeline.store.results import version_id
from turnwise.pipeline.store.runs import unread_runs
from turnwise.pipeline.store_comparison.records import RecordColumns, with_cases
from turnwise.pipeline.store_comparison.rows import SideKind
from turnwise.schemas.config import ConfigError
from turnwise.transforms.decisions.comparison.sides import ConversationColumns

_SHOWN = 10


class SideName(NamedTuple):
    """What is compared: an app version or a run, by name or id."""

    name: str
    kind: SideKind = "either"


class SideReader(Protocol):
    """Reads what sides of comparisons consist of, of one app."""

    def records(self, kind: SideKind, name: str) -> RecordColumns:
        """Returns the conversations of an app version (its id) or run (its name), and results without one.

        They are ordered by the id of the run, and in a run by name.
        """

    def conversations(self, stored: RecordColumns, rulers: dict[str, set[str]]) -> ConversationColumns:
        """Returns what criteria gave conversations, and adds to `rulers` which judges did."""


def read_records(
    connection: Connection,
    app: str,
    names: Sequence[SideName],
    evaluations: Collection[str] | None,
    reader: SideReader,
) -> list[RecordColumns]:
    """Returns the conversations of each side, and the results that have none; each in its last run only.

    Args:
        connection: Connection to the store.
        app: Name of the app.
        names: App version or run of each side.
        evaluations: Names of the evaluations that count; None: all.
        reader: Reads the records.

    Raises:
        ConfigError: A side has neither conversations nor results.
    """
    return with_cases([_side(connection, app, name, evaluations, reader) for name in names])


def _side(
    connection: Connection, app: str, side: SideName, evaluations: Collection[str] | None, reader: SideReader
) -> RecordColumns:
    """Returns what is of an app version or else of a run; raises ConfigError if there is nothing."""
    name, kind = side
    choices: dict[SideKind, str] = {"version": key_text(version_id(name)), "run": run_key(app, name)}
    for chosen in choices if kind == "either" else (kind,):
        found = reader.records(chosen, choices[chosen])
        if evaluations is not None:
            found = found.of_evaluations(evaluations)
        if len(found):
            return found.last_runs()
    raise ConfigError(
        f"--versions {name}: no result of this version or run"
        f"{_uncounted(connection, app, name)}{_lost(connection, app, name)} "
        f"({_known(connection, app)})"
    )


def _uncounted(connection: Connection, app: str, name: str) -> str:
    """Returns what is said of runs that do not count."""
    named = key_text(version_id(name))
    told = [state.told() for state in unread_runs(connection, app, named, named)]
    return f"; {'; '.join(told[:_SHOWN])}" if told else ""


def _lost(connection: Connection, app: str, name: str) -> str:
    """Returns what is said of the failures of a version or run without a result."""
    version = key_text(version_id(name))
    lost = [own for own in lost_records(connection, app) if version in (own.version, own.run)]
    runs = ", ".join(sorted({own.run for own in lost})[:_SHOWN])
    return f", which lost all of its {len(lost)} records or conversations (run {runs})" if lost else ""


def _known(connection: Connection, app: str) -> str:
    """Lists the app versions and runs of an app."""
    shown = []
    for column, kind in (("version_id", "versions"), ("evaluation_run", "runs")):
        found = {
            name.rsplit("/", 1)[-1]
            for table in (RESULTS, CONVERSATIONS)
            for name in connection.execute(
                select(table.c[column]).where(table.c.app == app).distinct()
            ).scalars()
        }
        shown.append(f"{kind}: {', '.join(sorted(found - {''})[:_SHOWN]) or 'none'}")
    return "; ".join(shown)
