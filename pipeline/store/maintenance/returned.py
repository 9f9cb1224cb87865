"""Finds what was erased in a store, by the digests of its erasures alone."""

from collections.abc import Collection, Iterable
from functools import lru_cache

from sqlalchemy import Column, ColumnElement, Connection, select, true

from turnwise.pipeline.store.maintenance.digests import ConversationKey, ErasedIds, erased_ids, user_key
from turnwise.pipeline.store.maintenance.erasure import HOLDING, mentions_one, without_entries
from turnwise.pipeline.store.maintenance.mentions import Mentions, words_of
from turnwise.pipeline.store.maintenance.resources import NAMED, resource_key
from turnwise.pipeline.store.removed_rows import read_document
from turnwise.pipeline.store.tables import CONVERSATION_ROWS, EVALUATIONS, EXECUTIONS, FAILURE_ROWS, TAGS

_REMEMBERED = 100_000


class ErasedWords:
    """Finds erased ids in texts.

    An id that is known is found in every spelling; others where they are words of their own, or pieces
    without spaces and quotes.
    """

    def __init__(self, erased: ErasedIds, apps: Iterable[str], ids: Collection[str] = ()) -> None:
        self._erased, self._apps, self._known = erased, sorted({"", *apps}), Mentions(ids)
        self._is_erased = lru_cache(_REMEMBERED)(self._test)

    def may_be_in(self, column: "Column[str]") -> ColumnElement[bool]:
        """Returns the condition that a text may mention one: any may."""
        del column
        return true()

    def are_in(self, text: str | None) -> bool:
        """Returns whether a text mentions one."""
        if not self._erased or not text:
            return False
        return self._known.are_in(text) or any(map(self._is_erased, words_of(text)))

    def _test(self, word: str) -> bool:
        of_app = any(self._erased.holds_conversation(app, word) for app in self._apps)
        return of_app or self._erased.holds(user_key(word))


def erased_words(connection: Connection) -> ErasedWords:
    """Returns a finder of what was erased from a store, in all of its apps."""
    apps = (
        app
        for table in (EXECUTIONS, EVALUATIONS)
        for app in connection.execute(select(table.c.app).distinct()).scalars()
    )
    return ErasedWords(erased_ids(connection), apps)


def returned(connection: Connection, *runs: str) -> set[ConversationKey]:
    """Returns the erased conversations of which the store holds rows, in some runs or in all."""
    erased = erased_ids(connection)
    if not erased:
        return set()
    users: dict[ConversationKey, set[str | None]] = {}
    for table in HOLDING:
        user = [table.c.user_id] if table is CONVERSATION_ROWS else []
        query = select(table.c.app, table.c.conversation_id, *user).distinct()
        query = query.where(table.c.evaluation_run.in_(runs)) if runs else query
        for app, name, *own in connection.execute(query):
            users.setdefault(ConversationKey(app, name), {None}).update(own)
    return {key for key, own in users.items() if any(erased.holds_conversation(*key, user) for user in own)}


def returned_resources(connection: Connection) -> list[str]:
    """Returns the erased evaluations, expectations and datasets of which the store holds rows."""
    erased = erased_ids(connection)
    columns = (*NAMED, (TAGS, TAGS.c.evaluation)) if erased else ()
    names = {
        name for _, column in columns for name in connection.execute(select(column).distinct()).scalars()
    }
    return sorted(name for name in names if erased.holds(resource_key(name)))


def returned_mentions(connection: Connection) -> int:
    """Returns the number of readable failures and entries of `to_read` that mention an erased id."""
    words = erased_words(connection)
    contents = connection.execute(select(FAILURE_ROWS.c.content)).scalars()
    failures = sum(mentions_one(read_document(content) or {}, words) for content in contents)
    documents = connection.execute(select(EXECUTIONS.c.content)).scalars()
    return failures + sum(without_entries(read_document(each) or {}, words)[1] for each in documents)
