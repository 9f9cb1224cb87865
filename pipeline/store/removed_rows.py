"""Notes in the document of an execution how many rows, which its counts count, were deleted since its end."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, Table, func, select, update

from turnwise.pipeline.store.database import CONVERSATION_ROWS, EXECUTIONS, RESULT_ROWS
from turnwise.schemas.jsonio import JsonObject, dump_json

REMOVED = "removed_rows"
"""Key of the document: column of `run_executions` -> number of rows."""

_BY_STATUS = {"PASS": "passes", "FAIL": "fails"}


class ExecutionPlace(NamedTuple):
    """An execution of a run in an app."""

    run: str
    execution: int


Removed = dict[ExecutionPlace, Counter[str]]
"""Execution -> column of `run_executions` -> number of rows."""


_KINDS = {"config": dict, REMOVED: dict, "to_read": list}


def read_document(text: str | None) -> JsonObject | None:
    """Returns the document of an execution, or another JSON object; None: it cannot be read, or is none."""
    try:
        found = json.loads(text or "")
    except (ValueError, RecursionError):
        return None
    is_sound = isinstance(found, dict) and all(isinstance(found.get(k, v()), v) for k, v in _KINDS.items())
    return found if is_sound else None


def counted_columns(table: Table, status: str) -> tuple[str, ...]:
    """Returns the columns of `run_executions` that count a row of a table; `status` is that of a result."""
    if table is CONVERSATION_ROWS:
        return ("conversations",)
    return ("results", _BY_STATUS.get(status, "undecided")) if table is RESULT_ROWS else ()


def removed_rows(connection: Connection, table: Table, condition: ColumnElement[bool]) -> Removed:
    """Returns what is missing in the counts of executions when the rows of a condition are deleted."""
    if table not in (CONVERSATION_ROWS, RESULT_ROWS):
        return {}
    status = [RESULT_ROWS.c.evaluation_status] if table is RESULT_ROWS else []
    columns = table.c.evaluation_run, table.c.execution, *status
    query = select(func.count(), *columns).where(condition).group_by(*columns)
    found: Removed = {}
    for count, run, execution, *own in connection.execute(query):
        for column in counted_columns(table, *(own or [""])):
            found.setdefault(ExecutionPlace(run, execution), Counter())[column] += count
    return found


def summed(parts: Iterable[Removed]) -> Removed:
    """Returns the sum of several."""
    found: Removed = {}
    for part in parts:
        for place, counts in part.items():
            found.setdefault(place, Counter()).update(counts)
    return found


def note_removed(connection: Connection, removed: Removed) -> None:
    """Adds numbers of deleted rows to the documents of their executions, if these can be read."""
    for place, counts in removed.items():
        is_it = EXECUTIONS.c.name == place.run, EXECUTIONS.c.execution == place.execution
        document = read_document(connection.execute(select(EXECUTIONS.c.content).where(*is_it)).scalar())
        if document is not None:
            changed = with_removed(document, counts)
            values = {"content": dump_json(changed).decode()}
            connection.execute(update(EXECUTIONS).where(*is_it).values(values))


def with_removed(document: JsonObject, counts: Mapping[str, int]) -> JsonObject:
    """Returns the document of an execution of which rows were deleted."""
    total = Counter(document.get(REMOVED, {})) + Counter(counts)
    return {**document, REMOVED: dict(sorted(total.items()))}
