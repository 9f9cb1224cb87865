"""Digests of what was erased, so that it is noticed when it comes back."""

import json
from collections.abc import Collection, Iterable
from hashlib import sha256
from hmac import new as keyed
from secrets import token_hex
from typing import NamedTuple

from sqlalchemy import Connection, select

from turnwise.pipeline.store.tables import CONVERSATION_ROWS, ERASURES, insert_new

CONVERSATION = "conversation"
USER = "user"
EVALUATION = "evaluation"


class ConversationKey(NamedTuple):
    """A conversation of an app, as the columns of the store name it."""

    app: str
    conversation_id: str


class ErasureNote(NamedTuple):
    """What is recorded of an erasure.

    Attributes:
        actor: Who erased.
        nanos: When, nanoseconds since 1970.
        removed: Table -> number of its rows that were erased or emptied.
    """

    actor: str
    nanos: int
    removed: dict[str, int]


def digest_of(salt: str, kind: str, *texts: str) -> str:
    """Returns the digest of an erased conversation or user."""
    return keyed(salt.encode(), "\0".join((kind, *texts)).encode(), sha256).hexdigest()


def record_erasures(
    connection: Connection, kind: str, keys: Iterable[tuple[str, ...]], note: ErasureNote
) -> None:
    """Records that conversations or users were erased, without their ids."""
    salt = connection.execute(select(ERASURES.c.salt).limit(1)).scalar() or token_hex(32)
    common = {"salt": salt, "kind": kind, "actor": note.actor, "nanos": note.nanos}
    removed = json.dumps(note.removed, sort_keys=True)
    rows = [{**common, "digest": digest_of(salt, kind, *key), "removed": removed} for key in keys]
    if rows:
        insert_new(connection, ERASURES, rows)


class ErasedIds:
    """Says which conversations and users were erased."""

    def __init__(self, connection: Connection) -> None:
        rows = connection.execute(select(ERASURES.c.digest, ERASURES.c.salt)).all()
        self._digests = {row.digest for row in rows}
        self._salts = sorted({row.salt for row in rows})

    def __bool__(self) -> bool:
        return bool(self._digests)

    def holds(self, kind: str, *texts: str) -> bool:
        """Returns whether one was erased."""
        return any(digest_of(salt, kind, *texts) in self._digests for salt in self._salts)

    def of(self, keys: Collection[tuple[str, str, str | None]]) -> set[ConversationKey]:
        """Returns those of (app, conversation, user) that were erased by their own id or their user's."""
        return {
            ConversationKey(app, name)
            for app, name, user in keys
            if self.holds(CONVERSATION, app, name) or (user and self.holds(USER, user))
        }


def returned(connection: Connection, *runs: str) -> set[ConversationKey]:
    """Returns the erased conversations that the store holds again, in some runs or in all."""
    table = CONVERSATION_ROWS
    query = select(table.c.app, table.c.conversation_id, table.c.user_id).distinct()
    query = query.where(table.c.evaluation_run.in_(runs)) if runs else query
    erased = ErasedIds(connection)
    if not erased:
        return set()
    return erased.of({tuple(row) for row in connection.execute(query)})
