"""Finds failures of which nobody can tell whose records they hold."""

import json
from collections.abc import Iterator
from typing import NamedTuple

from sqlalchemy import Connection, or_, select

from turnwise.pipeline.store.maintenance.digests import USER
from turnwise.pipeline.store.maintenance.erasure import ERASED, empty_failure, failure_texts, mentions_one
from turnwise.pipeline.store.maintenance.mentions import Mentions, words_of
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
    columns = [FAILURE_ROWS.c[name] for name in ("name", "execution", "conversation_id", "content")]
    query = select(*columns)
    apps = list(connection.execute(select(EXECUTIONS.c.app).distinct()).scalars())
    for name, execution, conversation, content in connection.execute(
        query if kind == USER else query.where(FAILURE_ROWS.c.conversation_id == "")
    ).all():
        row = json.loads(content)
        is_told = row.get("message") == ERASED or not row.get("record") or mentions_one(row, mentions)
        if not is_told and not _names_another(connection, apps, conversation, row):
            yield _Failure(name, execution, row)


def _names_another(connection: Connection, apps: list[str], conversation: str, row: JsonObject) -> bool:
    """Returns whether a failure names a conversation of the store, or a user of one."""
    words = {key_text(word) for text in failure_texts(row) for word in words_of(text)}
    names = sorted(words | {conversation} - {""})
    table = CONVERSATION_ROWS
    for start in range(0, len(names), _AT_ONCE):
        part = names[start : start + _AT_ONCE]
        of_conversation = table.c.app.in_(apps) & table.c.conversation_id.in_(part)
        query = select(table.c.name).where(or_(of_conversation, table.c.user_id.in_(part))).limit(1)
        if connection.execute(query).first():
            return True
    return False
