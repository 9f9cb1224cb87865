"""Reads which conversations and results of a store belong to a side of a comparison."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain
from operator import attrgetter
from typing import Any, Literal, NamedTuple, Protocol

import msgspec
from msgspec.structs import replace
from sqlalchemy import ColumnElement, Connection, Table, case, select

from turnwise.pipeline.store.executions import run_key
from turnwise.pipeline.store.lost import lost_records
from turnwise.pipeline.store.naming import UNASSIGNED
from turnwise.pipeline.store.results import COMPLETED, version_id
from turnwise.pipeline.store.runs import is_counted, unread_runs
from turnwise.pipeline.store.tables import CONVERSATIONS, RESULTS, key_text
from turnwise.schemas.config import ConfigError
from turnwise.transforms.comparison.columns import ConversationColumns

_SHOWN = 10
_COLUMNS = ("name", "conversation_id", "version_id", "evaluation_run", "update_nanos")
_RecordKey = tuple[str, str, str]


SideKind = Literal["version", "run", "either"]
"""What the name of a side names; `either`: an app version, or else a run."""


class SideName(NamedTuple):
    """What is compared: an app version or a run, by name or id."""

    name: str
    kind: SideKind = "either"


class ComparedRecord(msgspec.Struct, frozen=True, gc=False):
    """A stored conversation, or a result without one.

    Attributes:
        name: Its name in the store.
        conversation: Id of the conversation.
        version: Id of the app version; "": the draft.
        run: Id of the run.
        nanos: Time of writing, nanoseconds since 1970.
        case: What identifies its case; "": nothing.
        verdict: PASS, FAIL or another text.
        why: Why it should be read; "": no reason.
        digest: Digest of what is expected; "": nothing; None: not known.
        row: The row of a conversation without a verdict, as JSON; "": it has one, or is a result.
        evaluation: Name of its evaluation; "": not known.
        is_result: Whether it is a result without a conversation.
        place: Place among what its reader has read; -1: it is read by its name.
    """

    name: str
    conversation: str
    version: str
    run: str
    nanos: int
    case: str
    verdict: str
    why: str = ""
    digest: str | None = None
    row: str = ""
    evaluation: str = ""
    is_result: bool = False
    place: int = -1

    @property
    def key(self) -> _RecordKey:
        """What a conversation and its result have in common."""
        return self.run, self.conversation, self.version


class SideReader(Protocol):
    """Reads what sides of comparisons consist of, of one app."""

    def records(self, kind: SideKind, name: str) -> list[ComparedRecord]:
        """Returns the conversations of an app version (its id) or run (its name), and results without one."""

    def conversations(
        self, stored: Sequence[ComparedRecord], rulers: dict[str, set[str]]
    ) -> ConversationColumns:
        """Returns what criteria gave conversations, and adds to `rulers` which judges did."""


def stored_records(connection: Connection, app: str, kind: SideKind, name: str) -> list[ComparedRecord]:
    """Returns the conversations of an app version (its id) or run (its name), and results without one."""
    column = "version_id" if kind == "version" else "evaluation_run"
    return _stored(connection, app, RESULTS.c[column] == name, CONVERSATIONS.c[column] == name)


def read_conversations(
    connection: Connection,
    app: str,
    names: Sequence[SideName],
    evaluations: Collection[str] | None,
    reader: SideReader,
) -> list[list[ComparedRecord]]:
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
    sides = [_side(connection, app, name, evaluations, reader) for name in names]
    cases = {own.evaluation: own.case for side in sides for own in side if not own.is_result}
    return [
        [replace(own, case=cases.get(own.case, own.case)) if own.is_result else own for own in side]
        for side in sides
    ]


def _side(
    connection: Connection, app: str, side: SideName, evaluations: Collection[str] | None, reader: SideReader
) -> list[ComparedRecord]:
    """Returns what is of an app version or else of a run; raises ConfigError if there is nothing."""
    name, kind = side
    choices: dict[SideKind, str] = {"version": key_text(version_id(name)), "run": run_key(app, name)}
    for chosen in choices if kind == "either" else (kind,):
        found = reader.records(chosen, choices[chosen])
        if evaluations is not None:
            found = [own for own in found if own.evaluation in evaluations]
        if found:
            return _last_runs(found)
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


def _stored(
    connection: Connection, app: str, of_results: ColumnElement[bool], of_conversations: ColumnElement[bool]
) -> list[ComparedRecord]:
    results = list(_results(connection, app, of_results))
    evaluations: dict[_RecordKey, list[str]] = {}
    for own, _ in results:
        evaluations.setdefault(own.key, []).append(own.evaluation)
    found = [
        replace(own, evaluation=_evaluation(own.case, evaluations.get(own.key, ())))
        for own in _conversations(connection, app, of_conversations)
    ]
    with_row = {own.key for own in found}
    alone = (own for own, state in results if state == COMPLETED and own.key not in with_row)
    return [*found, *alone]


def _evaluation(case_id: str, names: Sequence[str]) -> str:
    """Returns the evaluation of a case among those of the conversations of one id."""
    own = (name for name in names if case_id in (name, name.rsplit("/", 1)[-1].rsplit("~", 1)[-1]))
    return next(own, names[0] if names else "")


def _conversations(
    connection: Connection, app: str, is_chosen: ColumnElement[bool]
) -> Iterator[ComparedRecord]:
    columns = (*_COLUMNS, "eval_id", "verdict", "why", "case_digest")
    row = case((CONVERSATIONS.c.verdict == "", CONVERSATIONS.c.content), else_="")
    for found in _rows(connection, CONVERSATIONS, columns, app, is_chosen, row):
        own = ComparedRecord(*found)
        yield replace(own, run=_last(own.run))


def _results(
    connection: Connection, app: str, is_chosen: ColumnElement[bool]
) -> Iterator[tuple[ComparedRecord, str]]:
    """Yields results with their execution state."""
    columns = (*_COLUMNS, "evaluation", "evaluation_status", "execution_state")
    for found in _rows(connection, RESULTS, columns, app, is_chosen):
        own = ComparedRecord(*found[:-1])
        of_case = "" if _last(own.case) == UNASSIGNED else own.case
        yield replace(own, run=_last(own.run), case=of_case, evaluation=own.case, is_result=True), found[-1]


def _rows(
    connection: Connection,
    table: Table,
    columns: Sequence[str],
    app: str,
    is_chosen: ColumnElement[bool],
    *more: ColumnElement[str],
) -> Iterable[Any]:
    query = select(*(table.c[name] for name in columns), *more).where(
        table.c.app == app, is_chosen, is_counted(table)
    )
    return connection.execute(query)


def _last(name: str) -> str:
    return name.rsplit("/", 1)[-1]


def _last_runs(stored: Sequence[ComparedRecord]) -> list[ComparedRecord]:
    """Returns each conversation in its last run only, ordered by name."""
    of_runs: dict[str, set[str]] = {}
    for own in stored:
        of_runs.setdefault(own.run, set()).add(own.conversation)
    runs = Counter(chain.from_iterable(of_runs.values()))
    again = [own for own in stored if runs[own.conversation] > 1]
    last: dict[_RecordKey, str] = {}
    for own in sorted(again, key=lambda own: (own.nanos, own.name), reverse=True):
        last.setdefault(_measured(own), own.run)
    found = [own for own in stored if runs[own.conversation] == 1 or last[_measured(own)] == own.run]
    return sorted(found, key=attrgetter("name"))


def _measured(own: ComparedRecord) -> _RecordKey:
    """Returns what several runs may have measured."""
    return own.evaluation or own.case, own.conversation, own.version


def _known(connection: Connection, app: str) -> str:
    """Lists the app versions and runs of an app."""
    shown = []
    for column, kind in (("version_id", "versions"), ("evaluation_run", "runs")):
        found = {
            _last(name)
            for table in (RESULTS, CONVERSATIONS)
            for name in connection.execute(
                select(table.c[column]).where(table.c.app == app).distinct()
            ).scalars()
        }
        shown.append(f"{kind}: {', '.join(sorted(found - {''})[:_SHOWN]) or 'none'}")
    return "; ".join(shown)
