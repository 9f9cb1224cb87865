"""Finds what a conversation or a user is in a store."""

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from sqlalchemy import Connection, select

from turnwise.pipeline.store.maintenance.digests import (
    CONVERSATION,
    USER,
    ConversationKey,
    ErasedKey,
    conversation_key,
    is_broken_off,
    user_key,
)
from turnwise.pipeline.store.maintenance.erasure import places_of
from turnwise.pipeline.store.maintenance.mentions import Mentions
from turnwise.pipeline.store.maintenance.quoting import Words, words_of_conversations
from turnwise.pipeline.store.tables import (
    CONVERSATION_ROWS,
    EXECUTIONS,
    RESULT_ROWS,
    SCORE_ROWS,
    key_text,
)

_PIECE = 500


class Subject(NamedTuple):
    """What is to be erased.

    Attributes:
        kind: `conversation` or `user`.
        id: The id as it was given.
        keys: The conversations of the store that it is.
        words: What is known of them.
    """

    kind: str
    id: str
    keys: list[ConversationKey]
    words: Words

    @property
    def mentions(self) -> Mentions:
        """Its ids, also those of over 200 characters, which the columns of the store shorten."""
        ids = {self.id, *(key.conversation_id for key in self.keys)}
        return Mentions(ids | (self.words.ids if self.kind == USER else self._own_ids()))

    def _own_ids(self) -> set[str]:
        columns = {key.conversation_id for key in self.keys}
        return {name for name in self.words.ids if key_text(name) in columns}

    @property
    def erased_key(self) -> ErasedKey:
        """How its erasure is recorded, beside those of its conversations."""
        return user_key(self.id) if self.kind == USER else conversation_key("", self.id)


def find_conversation_subject(connection: Connection, name: str, apps: Sequence[str]) -> Subject:
    """Returns a conversation by its id, or by its name in a run; of some apps, or of all (none named)."""
    columns = CONVERSATION_ROWS.c.app, CONVERSATION_ROWS.c.conversation_id
    named = connection.execute(select(*columns).where(CONVERSATION_ROWS.c.name == name)).first()
    own_id = named.conversation_id if named else key_text(name)
    found = {(named.app, own_id)} if named else _places(connection, own_id)
    keys = [ConversationKey(*each) for each in sorted(found) if not apps or each[0] in apps]
    words = words_of_conversations(connection, keys)
    return Subject(CONVERSATION, own_id if named else name, keys, words)


def _places(connection: Connection, conversation_id: str) -> set[tuple[str, str]]:
    """Returns the apps that hold a conversation; where none has its row, those of its other rows."""
    for tables in ((CONVERSATION_ROWS,), (RESULT_ROWS, SCORE_ROWS)):
        found = {
            (app, conversation_id)
            for table in tables
            for app in connection.execute(
                select(table.c.app).where(table.c.conversation_id == conversation_id).distinct()
            ).scalars()
        }
        if found:
            return found
    return set()


def find_user_subject(connection: Connection, user: str) -> Subject:
    """Returns the conversations of a user."""
    columns = CONVERSATION_ROWS.c.app, CONVERSATION_ROWS.c.conversation_id
    query = select(*columns).where(CONVERSATION_ROWS.c.user_id == key_text(user)).distinct()
    keys = sorted(ConversationKey(*row) for row in connection.execute(query))
    return Subject(USER, user, keys, words_of_conversations(connection, keys))


def erased_keys(connection: Connection, subject: Subject) -> list[ErasedKey]:
    """Returns how the erasure of conversations is recorded: each in every app that holds rows of it."""
    places = set(subject.keys)
    for start in range(0, len(subject.keys), _PIECE):
        for app, group in groupby(subject.keys[start : start + _PIECE], key=lambda key: key.app):
            places |= places_of(connection, app, [key.conversation_id for key in group])
    own = [conversation_key(*place) for place in sorted(places)]
    return [subject.erased_key, *own] if subject.kind == USER or not own else own


def broken_off(connection: Connection, subject: Subject) -> list[ErasedKey]:
    """Returns which erasures of a subject, in whichever app, began and did not end."""
    keys = [subject.erased_key]
    if subject.kind == CONVERSATION:
        apps = connection.execute(select(EXECUTIONS.c.app).distinct()).scalars()
        keys += [conversation_key(app, subject.id) for app in apps]
    return [key for key in keys if is_broken_off(connection, key)]
