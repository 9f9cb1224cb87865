"""Erases a conversation or a user from a store, and says what is left."""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from itertools import groupby
from typing import NamedTuple

from sqlalchemy import Connection, func, select

from turnwise.pipeline.store.engine import Store
from turnwise.pipeline.store.maintenance.digests import (
    CONVERSATION,
    EVALUATION,
    USER,
    ConversationKey,
    ErasureNote,
    record_erasures,
)
from turnwise.pipeline.store.maintenance.erasure import (
    TO_READ,
    delete_operations,
    empty_documents,
    empty_failures,
    erase,
)
from turnwise.pipeline.store.maintenance.evaluations import erase_evaluations, results_of
from turnwise.pipeline.store.maintenance.mentions import Mentions
from turnwise.pipeline.store.maintenance.quoting import messages_of, quoting_evaluations
from turnwise.pipeline.store.tables import (
    CONVERSATION_ROWS,
    FAILURE_ROWS,
    OPERATIONS,
    RESULT_ROWS,
    SCORE_ROWS,
    key_text,
)

_PIECE = 50


class Subject(NamedTuple):
    """What is to be erased.

    Attributes:
        kind: `conversation` or `user`.
        id: The id as it was given.
        keys: The conversations of the store that it is.
        said: What users said in them, where it tells more than a greeting.
        unread: Number of rows of conversations without a transcript.
    """

    kind: str
    id: str
    keys: list[ConversationKey]
    said: set[str]
    unread: int

    @property
    def mentions(self) -> Mentions:
        """Its ids."""
        return Mentions([self.id, *(key.conversation_id for key in self.keys)])


class Erasing(NamedTuple):
    """How something is erased.

    Attributes:
        evaluations: Names of evaluations to erase with their history.
        kept: Names of evaluations that stay, although they may quote it.
        actor: Who erases.
        nanos: The time, nanoseconds since 1970.
    """

    evaluations: Sequence[str]
    kept: Sequence[str]
    actor: str
    nanos: int

    def note(self, removed: Counter[str]) -> ErasureNote:
        """Returns what is recorded of it."""
        return ErasureNote(self.actor, self.nanos, dict(removed))


def find_conversation_subject(connection: Connection, name: str, apps: Sequence[str]) -> Subject:
    """Returns a conversation by its id, or by its name in a run; of some apps, or of all (none named)."""
    columns = CONVERSATION_ROWS.c.app, CONVERSATION_ROWS.c.conversation_id
    named = connection.execute(select(*columns).where(CONVERSATION_ROWS.c.name == name)).first()
    own_id = named.conversation_id if named else key_text(name)
    found = {(named.app, own_id)} if named else _places(connection, own_id)
    keys = [ConversationKey(*each) for each in sorted(found) if not apps or each[0] in apps]
    return Subject(CONVERSATION, own_id if named else name, keys, *messages_of(connection, keys))


def _places(connection: Connection, conversation_id: str) -> set[tuple[str, str]]:
    """Returns the apps that hold a conversation; where none has its row, those of its results and scores."""
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
    return Subject(USER, user, keys, *messages_of(connection, keys))


def counts_of(store: Store, subject: Subject, erasing: Erasing) -> Counter[str]:
    """Returns table -> number of the rows that erasing deletes or empties, without doing it."""

    def work(connection: Connection) -> Counter[str]:
        with connection.begin_nested() as undone:
            done = _erase_rows(connection, subject.keys, subject)
            done += _empty_others(connection, subject)
            done += erase_evaluations(connection, erasing.evaluations)
            undone.rollback()
        return done

    return store.write(work)


def erase_subject(store: Store, subject: Subject, erasing: Erasing) -> Counter[str]:
    """Erases conversations in steps of some, each recorded with it; returns table -> number of rows."""
    done: Counter[str] = Counter()
    for start in range(0, len(subject.keys), _PIECE):
        piece = subject.keys[start : start + _PIECE]
        done += store.write(partial(_erase_piece, keys=piece, subject=subject, erasing=erasing))
    return done + store.write(partial(_finish, subject=subject, erasing=erasing, before=done))


def _erase_piece(
    connection: Connection, keys: list[ConversationKey], subject: Subject, erasing: Erasing
) -> Counter[str]:
    done = _erase_rows(connection, keys, subject)
    record_erasures(connection, CONVERSATION, keys, erasing.note(done))
    return done


def _erase_rows(connection: Connection, keys: list[ConversationKey], subject: Subject) -> Counter[str]:
    done: Counter[str] = Counter()
    for app, own in groupby(keys, key=lambda key: key.app):
        ids = [key.conversation_id for key in own]
        done += erase(connection, app, ids, Mentions([subject.id, *ids]))
    return done


def _empty_others(connection: Connection, subject: Subject) -> Counter[str]:
    """Empties failures and documents that mention the subject, and deletes operations that may quote it."""
    done = Counter({FAILURE_ROWS.name: empty_failures(connection, [], subject.mentions)})
    done[OPERATIONS.name] = delete_operations(connection, subject.mentions)
    done[TO_READ] = empty_documents(connection, subject.mentions)
    return done


def _finish(connection: Connection, subject: Subject, erasing: Erasing, before: Counter[str]) -> Counter[str]:
    """Empties failures, deletes operations and evaluations, and records it."""
    done = _empty_others(connection, subject)
    if not subject.keys and not +done and not erasing.evaluations:
        return done
    if subject.kind == USER:
        record_erasures(connection, USER, [(key_text(subject.id),)], erasing.note(before + done))
    elif not subject.keys:
        record_erasures(connection, CONVERSATION, [("", key_text(subject.id))], erasing.note(done))
    if erasing.evaluations:
        erased = erase_evaluations(connection, erasing.evaluations)
        record_erasures(
            connection, EVALUATION, [(name,) for name in erasing.evaluations], erasing.note(erased)
        )
        done += erased
    return done


def left_of(connection: Connection, subject: Subject, erasing: Erasing) -> list[str]:
    """Returns what of a subject is left in the store or cannot be known, one line each."""
    named = {*erasing.evaluations, *erasing.kept}
    quoting = [
        each for each in quoting_evaluations(connection, subject.said, subject.mentions) if each not in named
    ]
    left = [
        f"{each}: holds a message of it, or its id; erase it with its history (--evaluations), "
        "or say that it stays (--keep_evaluations)"
        for each in quoting
    ]
    if subject.unread:
        left.append(
            f"{subject.unread} conversations have no transcript: evaluations are searched for ids only"
        )
    scored = results_of(connection, erasing.evaluations) if erasing.evaluations else 0
    if scored:
        left.append(f"{scored} results of other conversations were scored against the erased evaluations")
    return left + (_unknown_users(connection) if subject.kind == USER else [])


def _unknown_users(connection: Connection) -> list[str]:
    """Returns how many conversations nobody knows the user of."""
    table = CONVERSATION_ROWS
    count = select(func.count()).select_from(table)
    earlier = connection.execute(count.where(table.c.user_id.is_(None))).scalar_one()
    unnamed = connection.execute(count.where(table.c.user_id == "")).scalar_one()
    has_row = select(table.c.name).where(table.c.conversation_id == RESULT_ROWS.c.conversation_id).exists()
    without = connection.execute(select(func.count()).select_from(RESULT_ROWS).where(~has_row)).scalar_one()
    said = (
        (earlier, "conversations were written by an earlier version, which kept no users"),
        (unnamed, "conversations name no user in their logs"),
        (without, "results have no conversation in the store"),
    )
    return [f"{number} {what}: whose they are is not known" for number, what in said if number]
