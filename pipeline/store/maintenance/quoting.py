"""Finds evaluations that may have been made of a conversation."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from sqlalchemy import Connection, select

from turnwise.pipeline.store.maintenance.digests import ConversationKey
from turnwise.pipeline.store.maintenance.mentions import Mentions
from turnwise.pipeline.store.tables import CONVERSATION_ROWS, EVALUATIONS, HISTORY
from turnwise.schemas.values import JsonObject

_TELLING = 20
"""Least number of characters of a message that is not said by everyone."""


def messages_of(connection: Connection, keys: Iterable[ConversationKey]) -> tuple[set[str], int]:
    """Returns what users said in conversations, and the number of rows without a transcript."""
    said: set[str] = set()
    unread = 0
    for key in keys:
        is_it = CONVERSATION_ROWS.c.app == key.app, CONVERSATION_ROWS.c.conversation_id == key.conversation_id
        for content in connection.execute(select(CONVERSATION_ROWS.c.content).where(*is_it)).scalars():
            transcript = json.loads(content).get("transcript")
            unread += transcript is None
            said.update(_telling(turn.get("user") for turn in (transcript or {}).get("turns", ())))
    return said, unread


def quoting_evaluations(connection: Connection, said: set[str], mentions: Mentions) -> list[str]:
    """Returns the names of evaluations of which a revision holds such a message, or mentions an id."""
    found: set[str] = set()
    for table, name in ((HISTORY, HISTORY.c.evaluation), (EVALUATIONS, EVALUATIONS.c.name)):
        for evaluation, content in connection.execute(select(name, table.c.content)):
            if evaluation not in found and _quotes(content, said, mentions):
                found.add(evaluation)
    return sorted(found)


def _quotes(content: str, said: set[str], mentions: Mentions) -> bool:
    return mentions.are_in(content) or not said.isdisjoint(_telling(_texts(json.loads(content))))


def _telling(texts: Iterable[Any]) -> Iterator[str]:
    for text in texts:
        if isinstance(text, str):
            plain = " ".join(text.casefold().split())
            if len(plain) >= _TELLING:
                yield plain


def _texts(value: JsonObject | list[Any] | str | None) -> Iterator[str]:
    """Yields all texts in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)
