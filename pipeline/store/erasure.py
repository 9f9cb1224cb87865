"""Deletes conversations, users and evaluations from a store."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, Table, and_, delete, func, or_, select, update

from turnwise.pipeline.store.database import (
    CONVERSATION_ROWS,
    EVALUATIONS,
    EXECUTIONS,
    FAILURE_ROWS,
    HISTORY,
    METADATA,
    RESULT_ROWS,
    RUN_SUMMARIES,
    SCORE_ROWS,
    TAGS,
    Store,
    key_text,
    unguarded_history,
)
from turnwise.pipeline.store.runs import note_removed, read_document, removed_rows, summed
from turnwise.schemas.config import ConfigError
from turnwise.schemas.jsonio import dump_json

_HOLDING = (RESULT_ROWS, SCORE_ROWS, CONVERSATION_ROWS)
"""Tables whose rows are of a conversation, results first: which ones are its own, its rows say."""
_KEPT_OF_FAILURES = ("run_id", "stage", "error_type", "criterion", "app_version", "turn_index", "replaced")
_PIECE = 500
_WORD = re.compile(r"[\w-]+")


class ConversationKey(NamedTuple):
    """A conversation of an app, as the columns of the store name it."""

    app: str
    conversation_id: str


class Subject(NamedTuple):
    """A conversation or a user.

    Attributes:
        keys: The conversations, sorted.
        ids: The texts that name it where there is no column for that, such as in a record that was not read.
    """

    keys: list[ConversationKey]
    ids: frozenset[str]


def find_conversation(connection: Connection, name: str, app: str) -> Subject:
    """Returns a conversation.

    Args:
        connection: Connection to the store.
        name: Its id, or its name in a run.
        app: Its app; "": any.

    Raises:
        ConfigError: Several apps have a conversation of that id.
    """
    columns = CONVERSATION_ROWS.c.app, CONVERSATION_ROWS.c.conversation_id
    named = connection.execute(select(*columns).where(CONVERSATION_ROWS.c.name == name)).first()
    if named:
        return _subject(connection, [ConversationKey(*named)], [])
    # A result is in the app of its case, so that the rows of conversations say the app, where there are any.
    for tables in ((CONVERSATION_ROWS,), _HOLDING):
        apps = {
            own
            for table in tables
            for own in connection.execute(
                select(table.c.app).where(table.c.conversation_id == key_text(name)).distinct()
            ).scalars()
            if app in ("", own)
        }
        if len(apps) > 1:
            raise ConfigError(
                f"{len(apps)} apps have a conversation {name}: name one by --app: {', '.join(sorted(apps))}"
            )
        if apps:
            break
    return _subject(connection, [ConversationKey(own, key_text(name)) for own in apps], [name])


def find_user(connection: Connection, user: str) -> Subject:
    """Returns a user with all conversations, in all apps."""
    columns = CONVERSATION_ROWS.c.app, CONVERSATION_ROWS.c.conversation_id
    query = select(*columns).where(CONVERSATION_ROWS.c.user_id == key_text(user)).distinct()
    keys = sorted(ConversationKey(*row) for row in connection.execute(query))
    return _subject(connection, keys, [user])


def _subject(connection: Connection, keys: list[ConversationKey], named: Sequence[str]) -> Subject:
    """Returns a subject with the ids that its conversations have in their logs, which columns may shorten."""
    ids = {*named, *(key.conversation_id for key in keys)}
    for app, names in _pieces(keys):
        own = _is_of(CONVERSATION_ROWS, app, names), func.length(CONVERSATION_ROWS.c.conversation_id) >= 200
        for content in connection.execute(select(CONVERSATION_ROWS.c.content).where(*own)).scalars():
            ids.add((read_document(content) or {}).get("conversation_id") or "")
    return Subject(keys, frozenset(ids - {""}))


def _pieces(keys: Sequence[ConversationKey]) -> Iterator[tuple[str, list[str]]]:
    """Yields app and some ids of sorted keys: a statement has a largest number of values."""
    for app, group in groupby(keys, key=lambda key: key.app):
        ids = [key.conversation_id for key in group]
        for start in range(0, len(ids), _PIECE):
            yield app, ids[start : start + _PIECE]


def _is_of(table: Table, app: str, ids: Sequence[str]) -> ColumnElement[bool]:
    """Returns the condition of the rows of conversations of an app."""
    of_app = table.c.app == app
    if table is RESULT_ROWS:
        # A result is in the app of its case, which may be another one than that of its conversation.
        other = select(CONVERSATION_ROWS.c.name).where(
            CONVERSATION_ROWS.c.app == table.c.app,
            CONVERSATION_ROWS.c.conversation_id == table.c.conversation_id,
        )
        of_app = or_(of_app, ~other.exists())
    return and_(table.c.conversation_id.in_(ids), of_app)


def delete_subject(connection: Connection, subject: Subject) -> Counter[str]:
    """Deletes a conversation or a user from all runs.

    The failures that name it stay without their record, message and place: they count what was lost.

    Returns:
        Table -> number of its rows that were deleted or emptied.
    """
    done: Counter[str] = Counter()
    changed: set[str] = set()
    for app, ids in _pieces(subject.keys):
        own = {table: _is_of(table, app, ids) for table in _HOLDING}
        note_removed(connection, summed(removed_rows(connection, *each) for each in own.items()))
        for table, condition in own.items():
            runs = select(table.c.evaluation_run).where(condition).distinct()
            changed.update(connection.execute(runs).scalars())
            done[table.name] += connection.execute(delete(table).where(condition)).rowcount
    changed |= _empty_failures(connection, subject.ids, done)
    _shorten_documents(connection, subject.ids, done)
    for run in sorted(changed):
        connection.execute(delete(RUN_SUMMARIES).where(RUN_SUMMARIES.c.evaluation_run == run))
        # Servers compute the figures of a run anew when its time has changed.
        later = {"update_nanos": EXECUTIONS.c.update_nanos + 1}
        connection.execute(update(EXECUTIONS).where(EXECUTIONS.c.name == run).values(later))
    return +done


def _empty_failures(connection: Connection, ids: frozenset[str], done: Counter[str]) -> set[str]:
    """Removes record, message and place from the failures that name one of some ids; returns their runs."""
    changed: set[str] = set()
    for row in connection.execute(select(FAILURE_ROWS)).all():
        failure = read_document(row.content)
        texts = [row.content] if failure is None else [each for each in failure.values() if type(each) is str]
        if row.conversation_id not in ids and not any(_names(text, ids) for text in texts):
            continue
        kept = {key: value if key in _KEPT_OF_FAILURES else None for key, value in (failure or {}).items()}
        content = dump_json({**kept, "message": "deleted"}).decode()
        is_it = FAILURE_ROWS.c.name == row.name, FAILURE_ROWS.c.execution == row.execution
        emptied = {"conversation_id": "", "source": "", "content": content}
        connection.execute(update(FAILURE_ROWS).where(*is_it).values(emptied))
        done[FAILURE_ROWS.name] += 1
        changed.add(row.evaluation_run)
    return changed


def _shorten_documents(connection: Connection, ids: frozenset[str], done: Counter[str]) -> None:
    """Removes from `to_read` of the documents of runs, which quotes what was said, what names some ids."""
    columns = EXECUTIONS.c.name, EXECUTIONS.c.execution, EXECUTIONS.c.content
    for name, execution, content in connection.execute(select(*columns)).all():
        document = read_document(content) or {}
        entries = document.get("to_read") or []
        kept = [entry for entry in entries if not _names(json.dumps(entry, ensure_ascii=False), ids)]
        if len(kept) < len(entries):
            is_it = EXECUTIONS.c.name == name, EXECUTIONS.c.execution == execution
            shorter = dump_json({**document, "to_read": kept}).decode()
            connection.execute(update(EXECUTIONS).where(*is_it).values(content=shorter))
            done["to_read"] += len(entries) - len(kept)


def _names(text: str, ids: frozenset[str]) -> bool:
    """Returns whether a text holds one of some ids: as a word, or, if it is none, in whatever place.

    JSON within a text may spell it otherwise.
    """
    return not ids.isdisjoint(_WORD.findall(text)) or any(one in text for one in _odd(ids))


@lru_cache(maxsize=1)
def _odd(ids: frozenset[str]) -> list[str]:
    """Returns the spellings of ids that are no words of letters, digits, _ and -."""
    spelt = {json.dumps(one, ensure_ascii=is_ascii)[1:-1] for one in ids for is_ascii in (False, True)}
    return [one for one in ids | spelt if not _WORD.fullmatch(one)]


def evaluations_naming(connection: Connection, ids: frozenset[str]) -> list[str]:
    """Returns the evaluations of which a revision holds one of some ids."""
    rows = connection.execute(select(HISTORY.c.evaluation, HISTORY.c.content))
    return sorted({name for name, content in rows if _names(content, ids)})


def delete_evaluation(connection: Connection, name: str) -> Counter[str]:
    """Deletes an evaluation with its whole history; its results stay. Returns table -> number of rows."""
    own = ((TAGS, TAGS.c.evaluation), (EVALUATIONS, EVALUATIONS.c.name), (HISTORY, HISTORY.c.evaluation))
    with unguarded_history(connection):
        return +Counter({t.name: connection.execute(delete(t).where(c == name)).rowcount for t, c in own})


def overwrite_deleted(store: Store) -> bool:
    """Overwrites what was deleted; PostgreSQL only makes its space free.

    Returns:
        Whether nothing of it is left in SQLite's files: another process may still read its log.

    Raises:
        StoreError: The store is in use, or does not answer.
    """

    def work(connection: Connection) -> bool:
        if not store.is_sqlite:
            connection.exec_driver_sql(f"VACUUM {', '.join(sorted(METADATA.tables))}")
            return True
        # Other programs may have deleted rows without `secure_delete`.
        connection.exec_driver_sql("VACUUM")
        return not connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").one()[0]

    return store.alone(work)
