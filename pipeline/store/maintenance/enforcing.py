"""Erases what a store holds although it, or the store of an export, erased it."""

from collections import Counter
from functools import partial
from typing import NamedTuple

from sqlalchemy import Connection

from turnwise.pipeline.store.engine import Store
from turnwise.pipeline.store.maintenance.digests import CONVERSATION, USER, erasure_rows
from turnwise.pipeline.store.maintenance.erasing import Erasing, erase_subject
from turnwise.pipeline.store.maintenance.erasure import TO_READ, empty_documents, empty_failures
from turnwise.pipeline.store.maintenance.left import left_quotes, left_rows
from turnwise.pipeline.store.maintenance.quoting import words_of_conversations
from turnwise.pipeline.store.maintenance.returned import erased_words, returned, returned_resources
from turnwise.pipeline.store.maintenance.subject import Subject
from turnwise.pipeline.store.tables import FAILURE_ROWS


class Enforced(NamedTuple):
    """What was erased.

    Attributes:
        rows: Table -> number of its rows that were deleted or emptied.
        left: What may be left, one line each.
    """

    rows: Counter[str]
    left: list[str]


def enforce_erasures(store: Store, actor: str, nanos: int) -> Enforced:
    """Erases everything whose digest is among the erasures of a store.

    Args:
        store: The store.
        actor: Who erases.
        nanos: The time, nanoseconds since 1970.
    """
    kinds = {row["kind"] for row in store.read(erasure_rows)}
    if not kinds:
        return Enforced(Counter(), [])
    subject = store.read(_subject)
    resources = store.read(returned_resources)
    done, left = Counter[str](), list[str]()
    if subject.keys or resources:
        left = store.read(lambda connection: left_quotes(connection, subject, resources))
        done = erase_subject(store, subject, Erasing(resources, False, actor, nanos))
    rows = +(done + store.write(_empty_mentions))
    if kinds & {CONVERSATION, USER}:
        of_kind = subject._replace(kind=USER if USER in kinds else CONVERSATION)
        left += store.read(partial(left_rows, subject=of_kind, erased=resources))
    return Enforced(rows, left)


def _subject(connection: Connection) -> Subject:
    keys = sorted(returned(connection))
    return Subject(CONVERSATION, "", keys, words_of_conversations(connection, keys))


def _empty_mentions(connection: Connection) -> Counter[str]:
    words = erased_words(connection)
    failures = empty_failures(connection, (), words)
    return Counter({FAILURE_ROWS.name: failures, TO_READ: empty_documents(connection, words)})
