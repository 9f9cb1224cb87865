"""Reads the conversations of an app version or run from the rows of a store, and results without one."""

from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Any, Literal

import msgspec
from msgspec.structs import replace
from sqlalchemy import ColumnElement, Connection, Table, case, select

from turnwise.pipeline.store.database import CONVERSATIONS, RESULTS
from turnwise.pipeline.store.naming import UNASSIGNED
from turnwise.pipeline.store.results import COMPLETED
from turnwise.pipeline.store.runs import is_counted
from turnwise.schemas.ces.names import id_of

_COLUMNS = ("name", "conversation_id", "version_id", "evaluation_run", "update_nanos")
_RecordKey = tuple[str, str, str]
SideKind = Literal["version", "run", "either"]
"""What the name of a side names; `either`: an app version, or else a run."""


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

    @property
    def key(self) -> _RecordKey:
        """What a conversation and its result have in common."""
        return self.run, self.conversation, self.version


def stored_records(connection: Connection, app: str, kind: SideKind, name: str) -> list[ComparedRecord]:
    """Returns the conversations of an app version (its id) or run (its name), and results without one.

    They are ordered by the id of the run, and in a run by name.
    """
    column = "version_id" if kind == "version" else "evaluation_run"
    found = _stored(connection, app, RESULTS.c[column] == name, CONVERSATIONS.c[column] == name)
    return sorted(found, key=attrgetter("run", "name"))


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
    ids = {case_id, id_of(case_id)}
    own = (
        name
        for name in sorted(names)
        if not ids.isdisjoint({name, _last(name), _last(name).rsplit("~", 1)[-1]})
    )
    return next(own, min(names, default=""))


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
