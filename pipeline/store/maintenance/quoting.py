"""Finds evaluations, expectations and datasets that may have been made of a conversation."""

import json
from collections.abc import Collection, Iterable, Iterator
from typing import Any, NamedTuple

from sqlalchemy import Connection, select

from turnwise.pipeline.store.maintenance.digests import ConversationKey
from turnwise.pipeline.store.maintenance.mentions import Mentions
from turnwise.pipeline.store.tables import (
    CONVERSATION_ROWS,
    EVALUATION_DATASETS,
    EVALUATION_EXPECTATIONS,
    EVALUATIONS,
    HISTORY,
)
from turnwise.schemas.values import JsonObject, JsonValue

_TELLING = 20
"""Least number of characters of a text that is not said by everyone."""
_SAID = ("user", "agent", "agent_messages", "messages", "payloads", "variables")
_CALLS = ("tool_calls", "user_tool_calls", "tool_responses", "user_tool_responses")
_OF_CALLS = ("args", "result", "response", "error")
_SEARCHED = (
    (HISTORY, HISTORY.c.evaluation),
    (EVALUATIONS, EVALUATIONS.c.name),
    (EVALUATION_EXPECTATIONS, EVALUATION_EXPECTATIONS.c.name),
    (EVALUATION_DATASETS, EVALUATION_DATASETS.c.name),
)


class Words(NamedTuple):
    """What is known of conversations.

    Attributes:
        ids: Their ids and those of their users, as the logs have them.
        texts: What was said in them, by whomever, and arguments and responses of calls, where that tells more
            than a greeting; in lower case, with single spaces.
        unread: Number of rows without a transcript, or with one that was cut.
    """

    ids: set[str]
    texts: set[str]
    unread: int


def words_of_conversations(connection: Connection, keys: Iterable[ConversationKey]) -> Words:
    """Returns what was said in conversations of a store."""
    ids: set[str] = set()
    texts: set[str] = set()
    unread = 0
    for key in keys:
        for row in _contents(connection, CONVERSATION_ROWS, key):
            ids.update(text for text in (row.get("conversation_id"), row.get("user_id")) if text)
            transcript = row.get("transcript")
            unread += transcript is None or transcript.get("cut", False)
            texts.update(_telling(_said(transcript or {})))
    return Words(ids, texts, unread)


def _contents(connection: Connection, table: Any, key: ConversationKey) -> Iterator[JsonObject]:
    is_it = table.c.app == key.app, table.c.conversation_id == key.conversation_id
    for content in connection.execute(select(table.c.content).where(*is_it)).scalars():
        value = _loaded(content)
        yield value if isinstance(value, dict) else {}


def _said(conversation: JsonObject) -> Iterator[str]:
    for turn in conversation.get("turns", ()):
        yield from _texts([turn.get(name) for name in _SAID])
        for call in (call for name in _CALLS for call in turn.get(name, ())):
            values = [call.get(name) for name in _OF_CALLS]
            yield from _texts(values)
            yield from (_canonical(value) for value in values if isinstance(value, dict))


def _loaded(content: str) -> JsonValue:
    """Returns a JSON value in which 2.0 is 2, so that equal arguments have one spelling."""
    return json.loads(content, parse_float=_number)


def _number(text: str) -> float | int:
    number = float(text)
    return int(number) if number.is_integer() else number


def _canonical(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def quoting_resources(connection: Connection, texts: Collection[str], mentions: Mentions) -> list[str]:
    """Returns the names of resources of which a revision holds one of the texts, or mentions an id."""
    quotes = _Quotes(texts, mentions)
    found: set[str] = set()
    for table, name in _SEARCHED:
        for resource, content in connection.execute(select(name, table.c.content)):
            if resource not in found and quotes.are_in(resource, content):
                found.add(resource)
    return sorted(found)


class _Quotes:
    """Texts, found in longer ones at a cost that does not depend on how many there are."""

    def __init__(self, texts: Collection[str], mentions: Mentions) -> None:
        self._mentions = mentions
        self._by_start: dict[str, list[str]] = {}
        for text in texts:
            self._by_start.setdefault(text[:_TELLING], []).append(text)

    def are_in(self, name: str, content: str) -> bool:
        """Returns whether a resource holds one of the texts, or it or its name mentions an id."""
        if self._mentions.are_in(content) or self._mentions.are_in(name):
            return True
        value = _loaded(content)
        texts = _telling([*_texts(value), _canonical(value)]) if self._by_start else ()
        return any(map(self._is_in, set(texts)))

    def _is_in(self, text: str) -> bool:
        for place in range(len(text) - _TELLING + 1):
            for quote in self._by_start.get(text[place : place + _TELLING], ()):
                if text.startswith(quote, place):
                    return True
        return False


def _telling(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        plain = " ".join(text.casefold().split())
        if len(plain) >= _TELLING:
            yield plain


def _texts(value: JsonValue) -> Iterator[str]:
    """Yields all texts in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)
