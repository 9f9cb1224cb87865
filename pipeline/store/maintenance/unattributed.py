"""Finds failures of which nobody can tell whose records they hold."""

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from sqlalchemy import Connection, select

from turnwise.pipeline.store.maintenance.digests import USER
from turnwise.pipeline.store.maintenance.erasure import ERASED, empty_failure, failure_texts, mentions_one
from turnwise.pipeline.store.maintenance.mentions import Mentions, words_of
from turnwise.pipeline.store.removed_rows import read_document
from turnwise.pipeline.store.tables import CONVERSATION_ROWS, EXECUTIONS, FAILURE_ROWS, key_text
from turnwise.schemas.values import JsonObject

_AT_ONCE = 500


class _Failure(NamedTuple):
    name: str
    execution: int
    row: JsonObject


def count_unattributed(connection: Connection, kind: str, mentions: Mentions) -> int:
    """Returns the number of failures with a record that names no conversation of the store.

    Args:
        connection: Connection to the store.
        kind: `user`: also count those that state the id of a conversation which the store does not hold.
        mentions: Those that mention one of these ids are attributed.
    """
    return sum(1 for _ in _unattributed(connection, kind, mentions))


def empty_unattributed(connection: Connection, kind: str, mentions: Mentions) -> int:
    """Removes record, message and place from all of them; returns their number."""
    found = list(_unattributed(connection, kind, mentions))
    for failure in found:
        empty_failure(connection, *failure)
    return len(found)


def _unattributed(connection: Connection, kind: str, mentions: Mentions) -> Iterator[_Failure]:
    columns = [FAILURE_ROWS.c[name] for name in ("name", "execution", "content")]
    query = select(*columns)
    query = query if kind == USER else query.where(FAILURE_ROWS.c.conversation_id == "")
    rows = (
        _Failure(name, run, read_document(text) or {}) for name, run, text in connection.execute(query).all()
    )
    told = (failure for failure in rows if not _is_told(failure.row, mentions))
    apps = list(connection.execute(select(EXECUTIONS.c.app).distinct()).scalars())
    while piece := list(islice(told, _AT_ONCE)):
        words = [_words(failure.row) for failure in piece]
        known = _known(connection, apps, sorted(set().union(*words)))
        yield from (each for each, own in zip(piece, words, strict=True) if known.isdisjoint(own))


def _is_told(row: JsonObject, mentions: Mentions) -> bool:
    """Returns whether a failure holds no record, or one that names the subject."""
    return row.get("message") == ERASED or not row.get("record") or mentions_one(row, mentions)


def _words(row: JsonObject) -> set[str]:
    texts = failure_texts(row)
    return {key_text(word) for text in texts for word in words_of(text)} | {key_text(text) for text in texts}


def _known(connection: Connection, apps: list[str], words: list[str]) -> set[str]:
    """Returns those of some words that are the id of a conversation of the store, or of its user."""
    table, found = CONVERSATION_ROWS, set[str]()
    for start in range(0, len(words), _AT_ONCE):
        part = words[start : start + _AT_ONCE]
        of_app = table.c.app.in_(apps), table.c.conversation_id.in_(part)
        for query in (
            select(table.c.conversation_id).where(*of_app),
            select(table.c.user_id).where(table.c.user_id.in_(part)),
        ):
            found |= set(connection.execute(query.distinct()).scalars())
    return found
