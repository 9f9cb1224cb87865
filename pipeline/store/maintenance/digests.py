"""Digests of what was erased, so that it is noticed when it comes back."""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from hashlib import sha256
from hmac import new as keyed
from secrets import token_hex
from typing import NamedTuple

from sqlalchemy import Connection, insert, select, update

from turnwise.pipeline.store.tables import ERASURES, key_text
from turnwise.schemas.values import JsonObject

CONVERSATION = "conversation"
USER = "user"
EVALUATION = "evaluation"
EXPECTATION = "expectation"
DATASET = "dataset"


class ConversationKey(NamedTuple):
    """A conversation of an app, as the columns of the store name it."""

    app: str
    conversation_id: str


class ErasedKey(NamedTuple):
    """What is erased: its kind, and the texts that name it."""

    kind: str
    texts: tuple[str, ...]


def conversation_key(app: str, conversation_id: str) -> ErasedKey:
    """Returns the key of a conversation; the app is "" where none is known."""
    return ErasedKey(CONVERSATION, (app, key_text(conversation_id)))


def user_key(user: str) -> ErasedKey:
    """Returns the key of a user."""
    return ErasedKey(USER, (key_text(user),))


def _digest(salt: str, key: ErasedKey) -> str:
    return keyed(salt.encode(), "\0".join((key.kind, *key.texts)).encode(), sha256).hexdigest()


class ErasedIds:
    """Says what was erased, by rows of `erasures`."""

    def __init__(self, rows: Iterable[JsonObject]) -> None:
        self._salts: dict[str, str] = {row["digest"]: row["salt"] for row in rows}

    def __bool__(self) -> bool:
        return bool(self._salts)

    def digests_of(self, key: ErasedKey) -> list[str]:
        """Returns the digests under which one is recorded, by the salts of the stores that erased it."""
        digests = (_digest(salt, key) for salt in sorted(set(self._salts.values())))
        return [digest for digest in digests if digest in self._salts]

    def holds(self, key: ErasedKey) -> bool:
        """Returns whether one was erased."""
        return bool(self.digests_of(key))

    def holds_conversation(self, app: str, conversation_id: str, user: str | None = None) -> bool:
        """Returns whether a conversation was erased by its own id, in its app or in any, or by its user's."""
        keys = [conversation_key(app, conversation_id), conversation_key("", conversation_id)]
        return any(map(self.holds, keys)) or bool(user and self.holds(user_key(user)))

    def new_row(self, key: ErasedKey) -> JsonObject:
        """Returns the columns that name one that is not recorded yet."""
        salt = min(self._salts.values(), default="") or token_hex(32)
        self._salts.setdefault(digest := _digest(salt, key), salt)
        return {"digest": digest, "salt": salt, "kind": key.kind}


def erasure_rows(connection: Connection) -> list[JsonObject]:
    """Returns the record of what was erased from a store."""
    return [dict(row) for row in connection.execute(select(ERASURES)).mappings()]


def erased_ids(connection: Connection) -> ErasedIds:
    """Returns what was erased from a store."""
    return ErasedIds(erasure_rows(connection))


def begin_erasures(connection: Connection, keys: Collection[ErasedKey], actor: str, nanos: int) -> None:
    """Records, before anything is deleted, what is about to be erased, without the ids.

    Args:
        connection: Connection to the store.
        keys: What is erased.
        actor: Who erases.
        nanos: The time, nanoseconds since 1970.
    """
    erased = erased_ids(connection)
    begun = {"actor": actor, "nanos": nanos, "end_nanos": None}
    for key in keys:
        known = erased.digests_of(key)
        if known:
            connection.execute(update(ERASURES).where(ERASURES.c.digest.in_(known)).values(begun))
        else:
            row = {**erased.new_row(key), **begun, "removed": "{}"}
            connection.execute(insert(ERASURES).values(row))


def end_erasures(connection: Connection, removed: Mapping[ErasedKey, Mapping[str, int]], nanos: int) -> None:
    """Records that things are erased, and adds the numbers of their rows by table.

    Args:
        connection: Connection to the store.
        removed: What was erased -> table -> number of its rows that were deleted or emptied.
        nanos: The time, nanoseconds since 1970.
    """
    erased = erased_ids(connection)
    for key, counts in removed.items():
        for digest in erased.digests_of(key):
            is_it = ERASURES.c.digest == digest
            before = json.loads(connection.execute(select(ERASURES.c.removed).where(is_it)).scalar_one())
            total = json.dumps(+(Counter(before) + Counter(counts)), sort_keys=True)
            connection.execute(update(ERASURES).where(is_it).values(removed=total, end_nanos=nanos))


def is_broken_off(connection: Connection, key: ErasedKey) -> bool:
    """Returns whether an erasure of something began and did not end."""
    digests = erased_ids(connection).digests_of(key)
    query = select(ERASURES.c.digest).where(ERASURES.c.digest.in_(digests), ERASURES.c.end_nanos.is_(None))
    return connection.execute(query).first() is not None
