"""Compares what the columns of rows say with the JSON that the rows hold."""

import json
from collections.abc import Callable, Iterator
from typing import Any, get_args

from sqlalchemy import Connection, RowMapping, Table, Text, select

from turnwise.pipeline.store.executions import stated_columns
from turnwise.pipeline.store.maintenance.checks.check import first_of
from turnwise.pipeline.store.removed_rows import read_document
from turnwise.pipeline.store.result_parts import result_parts
from turnwise.pipeline.store.results import TEXTS, version_id
from turnwise.pipeline.store.states import COMPLETED, RUNNING, STATES, UNKNOWN, Broken
from turnwise.pipeline.store.tables import (
    CONVERSATION_ROWS,
    ERASURES,
    EVALUATION_DATASETS,
    EVALUATION_EXPECTATIONS,
    EVALUATIONS,
    EXECUTIONS,
    FAILURE_ROWS,
    HISTORY,
    METADATA,
    RESULT_ROWS,
    SCORE_ROWS,
    SETTINGS,
    key_text,
)
from turnwise.schemas.jsonio import dump_json
from turnwise.schemas.values import JsonObject

_IN_PIECES = {"yield_per": 500}
SCORE_CONTENT = ("details", "judge", "tags", "revision")
"""The keys of the content of a score."""
_SAME = ("conversation_id", "app_version")
_RESOURCE = {"name": "name", "display_name": "displayName"}
STATED: dict[Table, dict[str, str]] = {
    EVALUATIONS: _RESOURCE,
    EVALUATION_DATASETS: _RESOURCE,
    EVALUATION_EXPECTATIONS: _RESOURCE,
    HISTORY: {"evaluation": "name"},
    EXECUTIONS: {},
    RESULT_ROWS: {"name": "name", **TEXTS},
    CONVERSATION_ROWS: {
        **{name: name for name in ("conversation_id", "eval_id", "user_id", "case_digest", "harm")},
        **{name: name for name in ("verdict", "harm_term", "cluster", "event_time", "why")},
    },
    SCORE_ROWS: {},
    FAILURE_ROWS: {name: name for name in (*_SAME, "stage", "error_type", "criterion", "source")},
}
"""Table -> column -> key of its `content` that says the same."""
_OTHER_JSON = {
    RESULT_ROWS: ("parts",),
    EXECUTIONS: ("criteria", "app_versions"),
    ERASURES: ("removed",),
    SETTINGS: ("value",),
}
"""Table -> its other columns with JSON."""
_CHOICES = {EXECUTIONS: ("state", STATES)}


def content_problems(connection: Connection, _: int) -> Iterator[str]:
    """Yields how many rows of each table do not parse, or say something else in their columns."""
    for table in METADATA.sorted_tables:
        if table in STATED or table in _OTHER_JSON or table in _CHOICES:
            yield from first_of(_faulty(connection, table), f"rows of {table.name} do not parse or agree")


def value_problems(connection: Connection, _: int) -> Iterator[str]:
    """Yields which columns of a SQLite store hold values of another type, which SQLite takes."""
    for table in METADATA.sorted_tables:
        for column in table.c:
            kinds = "('text', 'null')" if isinstance(column.type, Text) else "('integer', 'real', 'null')"
            query = f"SELECT count(*) FROM {table.name} WHERE typeof({column.name}) NOT IN {kinds}"
            count = connection.exec_driver_sql(query).scalar_one()
            if count:
                yield f"{count} rows of {table.name} have a value of another type in {column.name}"


def _faulty(connection: Connection, table: Table) -> Iterator[str]:
    rows = connection.execute(select(table), execution_options=_IN_PIECES)
    for row in rows.mappings():
        why = next(_problems(table, row), None)
        if why is not None:
            yield f"{' '.join(str(row[column.name]) for column in table.primary_key)} ({why})"


def _problems(table: Table, row: RowMapping) -> Iterator[str]:
    """Yields what is wrong with a row, in a few words."""
    column, choices = _CHOICES.get(table, ("", ()))
    if (choices and row[column] not in choices) or (table is EXECUTIONS and not _has_state(row)):
        yield column
    try:
        for name in _OTHER_JSON.get(table, ()):
            json.loads(row[name] or "null")
        content = json.loads(row["content"] or "null") if table in STATED else None
        if isinstance(content, dict) and (table is not EXECUTIONS or read_document(row["content"])):
            yield from _differing(table, row, content)
        elif table in STATED and (table is not EXECUTIONS or row["content"] is not None):
            yield "content"
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
        yield type(error).__name__


def _differing(table: Table, row: RowMapping, content: JsonObject) -> Iterator[str]:
    for column, key in STATED[table].items():
        if not _is_same(row[column], content.get(key)):
            yield column
    if table is EXECUTIONS:
        stated = stated_columns(content)
        yield from (name for name, value in stated.items() if name != "content" and row[name] != value)
    check = _MORE.get(table)
    if check and not check(row, content):
        yield "content"


def _is_same(column: Any, stated: Any) -> bool:
    """Returns whether a column says what a document states; columns of earlier versions may be null."""
    if column is None:
        return True
    return bool(column == (key_text(stated or "") if isinstance(column, str) else stated))


def _has_version(row: RowMapping, content: JsonObject) -> bool:
    stated = content.get("app_version", content.get("appVersion")) or ""
    return bool(row["version_id"] == key_text(version_id(stated)))


def _is_result(row: RowMapping, content: JsonObject) -> bool:
    return _has_parts(row, content) and _has_version(row, content)


def _has_keys(_: RowMapping, content: JsonObject) -> bool:
    return all(name in content for name in SCORE_CONTENT)


def _has_state(row: RowMapping) -> bool:
    """Returns whether an execution is what its state says; version 0.1 wrote no start and no content."""
    has_ended, has_error, has_content = (row[name] is not None for name in ("end_nanos", "error", "content"))
    if row["state"] in get_args(Broken):
        return has_ended and has_error
    return {
        RUNNING: not has_ended and not has_error,
        COMPLETED: has_ended and has_content and not has_error and row["results"] is not None,
        UNKNOWN: not row["create_nanos"] and not has_ended and not has_content,
    }.get(row["state"], True)


def _has_parts(row: RowMapping, content: JsonObject) -> bool:
    return bool(json.loads(row["parts"]) == json.loads(dump_json(result_parts(content))))


_MORE: dict[Table, Callable[[RowMapping, JsonObject], bool]] = {
    RESULT_ROWS: _is_result,
    CONVERSATION_ROWS: _has_version,
    SCORE_ROWS: _has_keys,
}
