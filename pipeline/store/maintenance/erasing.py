"""Erases a conversation or a user from a store, and records it before and after."""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from itertools import groupby
from time import time_ns
from typing import NamedTuple

from sqlalchemy import Connection

from turnwise.pipeline.store.engine import Store
from turnwise.pipeline.store.maintenance.digests import (
    CONVERSATION,
    ConversationKey,
    ErasedKey,
    begin_erasures,
    conversation_key,
    end_erasures,
)
from turnwise.pipeline.store.maintenance.erasure import (
    TO_READ,
    empty_documents,
    empty_failures,
    erase,
    places_of,
)
from turnwise.pipeline.store.maintenance.resources import erase_resources, resource_key
from turnwise.pipeline.store.maintenance.subject import Subject, broken_off, erased_keys
from turnwise.pipeline.store.maintenance.unattributed import empty_unattributed
from turnwise.pipeline.store.tables import FAILURE_ROWS

_PIECE = 50


class Erasing(NamedTuple):
    """How something is erased.

    Attributes:
        resources: Names of evaluations, expectations and datasets to erase, with their history.
        unattributed: Whether failures are emptied of which nobody can tell whose they are.
        actor: Who erases.
        nanos: When it begins, nanoseconds since 1970.
    """

    resources: Sequence[str]
    unattributed: bool
    actor: str
    nanos: int


def counts_of(store: Store, subject: Subject, erasing: Erasing) -> Counter[str]:
    """Returns table -> number of the rows that erasing deletes or empties, without doing it."""

    def work(connection: Connection) -> Counter[str]:
        done = _empty_others(connection, subject, erasing)
        return done + sum(_erase_rows(connection, subject.keys).values(), Counter[str]())

    return store.undone(work)


def erase_subject(store: Store, subject: Subject, erasing: Erasing) -> Counter[str]:
    """Erases conversations in steps of some; returns table -> number of rows.

    It is recorded that it begins, then what may mention the conversations goes, while they are there to say
    what that is, then they go themselves. So a repetition ends what broke off.
    """
    store.write(partial(_begin, subject=subject, erasing=erasing))
    others = store.write(partial(_erase_others, subject=subject, erasing=erasing))
    done = Counter(others)
    for start in range(0, len(subject.keys), _PIECE):
        piece = subject.keys[start : start + _PIECE]
        done += store.write(partial(_erase_piece, keys=piece))
    own = conversation_key(*subject.keys[0]) if subject.kind == CONVERSATION and subject.keys else None
    ended = {own or subject.erased_key: others if own else done}
    store.write(lambda connection: end_erasures(connection, ended, time_ns()))
    return done


def _begin(connection: Connection, subject: Subject, erasing: Erasing) -> None:
    """Records what is about to be erased; of what the store does not hold, nothing."""
    resources = [resource_key(name) for name in erasing.resources]
    own = erased_keys(connection, subject) if subject.keys else []
    begin_erasures(connection, [*own, *resources], erasing.actor, erasing.nanos)


def _erase_others(connection: Connection, subject: Subject, erasing: Erasing) -> Counter[str]:
    """Empties and deletes what may mention the subject, and what was named; ends what broke off before."""
    done = _empty_others(connection, subject, erasing)
    ended = [resource_key(name) for name in erasing.resources]
    if not subject.keys:
        ended += broken_off(connection, subject)
        if +done:
            begin_erasures(connection, [subject.erased_key], erasing.actor, erasing.nanos)
    end_erasures(connection, {key: {} for key in ended}, time_ns())
    return done


def _empty_others(connection: Connection, subject: Subject, erasing: Erasing) -> Counter[str]:
    """Empties failures and documents that mention the subject; deletes what was named."""
    ids = {key.conversation_id for key in subject.keys}
    mentions = subject.mentions
    done = Counter({FAILURE_ROWS.name: empty_failures(connection, ids, mentions)})
    if erasing.unattributed:
        done[FAILURE_ROWS.name] += empty_unattributed(connection, subject.kind, mentions)
    done[TO_READ] = empty_documents(connection, mentions)
    return done + erase_resources(connection, erasing.resources)


def _erase_piece(connection: Connection, keys: list[ConversationKey]) -> Counter[str]:
    done = _erase_rows(connection, keys)
    end_erasures(connection, done, time_ns())
    return sum(done.values(), Counter())


def _erase_rows(connection: Connection, keys: list[ConversationKey]) -> dict[ErasedKey, Counter[str]]:
    """Deletes conversations; returns what was erased, in whichever app -> table -> number of rows."""
    done: dict[ErasedKey, Counter[str]] = {}
    for app, own in groupby(keys, key=lambda key: key.app):
        ids = [key.conversation_id for key in own]
        places = places_of(connection, app, ids)
        done |= {conversation_key(*place): Counter() for place in places}
        counts = erase(connection, app, ids)
        done |= {conversation_key(app, name): counts[name] for name in ids}
    return done
