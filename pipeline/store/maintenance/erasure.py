"""Erases conversations from all runs of a store."""

import json
from collections import Counter
from collections.abc import Collection, Sequence

from sqlalchemy import ColumnElement, Connection, Table, and_, delete, func, or_, select, update

from turnwise.pipeline.store.maintenance.digests import ConversationKey
from turnwise.pipeline.store.maintenance.mentions import Finder
from turnwise.pipeline.store.removed_rows import note_removed, read_document, removed_rows, summed
from turnwise.pipeline.store.tables import (
    CONVERSATION_ROWS,
    EXECUTIONS,
    FAILURE_ROWS,
    RESULT_ROWS,
    RUN_SUMMARIES,
    SCORE_ROWS,
)
from turnwise.schemas.jsonio import dump_json
from turnwise.schemas.values import JsonObject

HOLDING = (RESULT_ROWS, SCORE_ROWS, CONVERSATION_ROWS)
"""Tables whose rows are of a conversation."""
_KEPT_OF_FAILURES = ("run_id", "stage", "error_type", "criterion", "app_version", "turn_index", "replaced")
TO_READ = "to_read"
"""The key of `run.json` that quotes conversations, and the name of the number of its entries."""
ERASED = "erased"
"""The message of a failure whose record was erased."""
EMPTIED = ("conversation_id", "source", "content")
"""Columns of a failure that erasing changes."""


def _is_of(table: Table, app: str, ids: Sequence[str]) -> ColumnElement[bool]:
    """Returns the condition of the rows of conversations of an app."""
    of_app = table.c.app == app
    if table is not RESULT_ROWS:
        return and_(table.c.conversation_id.in_(ids), of_app)
    # A result is in the app of its case, which may be another one than that of its conversation.
    own = select(CONVERSATION_ROWS.c.name).where(
        CONVERSATION_ROWS.c.app == table.c.app, CONVERSATION_ROWS.c.conversation_id == table.c.conversation_id
    )
    return and_(table.c.conversation_id.in_(ids), or_(of_app, ~own.exists()))


def places_of(connection: Connection, app: str, ids: Sequence[str]) -> set[ConversationKey]:
    """Returns the apps that hold rows of conversations of an app, with the ids."""
    found = set()
    for table in HOLDING:
        columns = table.c.app, table.c.conversation_id
        rows = connection.execute(select(*columns).where(_is_of(table, app, ids)).distinct())
        found |= {ConversationKey(*row) for row in rows}
    return found


def erase(connection: Connection, app: str, ids: Sequence[str]) -> dict[str, Counter[str]]:
    """Deletes conversations of an app with their results and scores, from all runs.

    Args:
        connection: Connection to the store.
        app: The app of the conversations.
        ids: Their ids, as the columns have them.

    Returns:
        Id -> table -> number of its rows that were deleted.
    """
    done: dict[str, Counter[str]] = {name: Counter() for name in ids}
    _mark_changed(connection, ids)
    is_own = {table: _is_of(table, app, ids) for table in HOLDING}
    note_removed(connection, summed(removed_rows(connection, *each) for each in is_own.items()))
    for table, own in is_own.items():
        query = select(table.c.conversation_id, func.count()).where(own).group_by(table.c.conversation_id)
        for name, count in connection.execute(query):
            done[name][table.name] += count
        connection.execute(delete(table).where(own))
    return done


def _mark_changed(connection: Connection, ids: Sequence[str]) -> None:
    """Changes the times of the runs by the least, so that servers compute their figures anew."""
    for table in (RESULT_ROWS, CONVERSATION_ROWS):
        runs = select(table.c.evaluation_run).where(table.c.conversation_id.in_(ids))
        connection.execute(delete(RUN_SUMMARIES).where(RUN_SUMMARIES.c.evaluation_run.in_(runs)))
        later = EXECUTIONS.c.update_nanos + 1
        connection.execute(update(EXECUTIONS).where(EXECUTIONS.c.name.in_(runs)).values(update_nanos=later))


def empty_failures(connection: Connection, ids: Collection[str], mentions: Finder) -> int:
    """Removes record, message and place from failures of conversations, and from those that mention one.

    The rows stay: without them, nobody would know that something was lost. Rows that cannot be read are
    left as they are; see `unreadable`.
    """
    columns = [FAILURE_ROWS.c[name] for name in ("name", "execution", "conversation_id", "content")]
    may_be = or_(*(mentions.may_be_in(column) for column in columns[2:]))
    done = 0
    for name, execution, conversation, content in connection.execute(select(*columns).where(may_be)).all():
        row = read_document(content)
        if row is not None and (conversation in ids or mentions_one(row, mentions)):
            empty_failure(connection, name, execution, row)
            done += 1
    return done


def unreadable(connection: Connection) -> Counter[str]:
    """Returns table -> number of its rows that may mention something and whose JSON cannot be read."""
    found = Counter[str]()
    for table in (EXECUTIONS, FAILURE_ROWS):
        contents = connection.execute(select(table.c.content).where(table.c.content.is_not(None))).scalars()
        found[table.name] = sum(read_document(each) is None for each in contents)
    return +found


def mentions_one(failure: JsonObject, mentions: Finder) -> bool:
    """Returns whether a failure mentions an id."""
    return any(map(mentions.are_in, failure_texts(failure)))


def failure_texts(failure: JsonObject) -> list[str]:
    """Returns the texts of a failure that may name somebody."""
    return [failure[name] for name in ("record", "message", "source", "conversation_id") if failure.get(name)]


def empty_failure(connection: Connection, name: str, execution: int, row: JsonObject) -> None:
    """Removes record, message and place from a failure."""
    is_it = FAILURE_ROWS.c.name == name, FAILURE_ROWS.c.execution == execution
    connection.execute(update(FAILURE_ROWS).where(*is_it).values(emptied(row)))


def emptied(row: JsonObject) -> JsonObject:
    """Returns the columns of a failure that is emptied."""
    kept = {name: value if name in _KEPT_OF_FAILURES else None for name, value in row.items()}
    content = dump_json({**kept, "message": ERASED}).decode()
    return dict(zip(EMPTIED, ("", "", content), strict=True))


def is_emptied(row: JsonObject) -> bool:
    """Returns whether the columns of a failure are of one that was emptied."""
    return (read_document(row["content"]) or {}).get("message") == ERASED


def empty_documents(connection: Connection, mentions: Finder) -> int:
    """Removes conversations from `to_read` of the documents of runs; returns the number of its entries."""
    columns = EXECUTIONS.c.name, EXECUTIONS.c.execution, EXECUTIONS.c.content
    done = 0
    may_be = mentions.may_be_in(EXECUTIONS.c.content), EXECUTIONS.c.content.is_not(None)
    for name, execution, content in connection.execute(select(*columns).where(*may_be)).all():
        changed, count = without_entries(read_document(content) or {}, mentions)
        if count:
            is_it = EXECUTIONS.c.name == name, EXECUTIONS.c.execution == execution
            values = {"content": dump_json(changed).decode()}
            connection.execute(update(EXECUTIONS).where(*is_it).values(values))
            done += count
    return done


def without_entries(document: JsonObject, mentions: Finder) -> tuple[JsonObject, int]:
    """Returns the document of a run without the entries of `to_read` that mention an id, and their number."""
    entries = document.get(TO_READ, [])
    kept = [entry for entry in entries if not mentions.are_in(json.dumps(entry, ensure_ascii=False))]
    return (
        ({**document, TO_READ: kept}, len(entries) - len(kept)) if len(kept) < len(entries) else (document, 0)
    )
