"""Says what an erasure leaves in a store."""

from collections.abc import Collection, Sequence

from sqlalchemy import Connection, func, select

from turnwise.pipeline.store.maintenance.digests import USER
from turnwise.pipeline.store.maintenance.erasure import unreadable
from turnwise.pipeline.store.maintenance.quoting import quoting_resources
from turnwise.pipeline.store.maintenance.resources import results_of
from turnwise.pipeline.store.maintenance.subject import Subject, broken_off
from turnwise.pipeline.store.maintenance.unattributed import count_unattributed
from turnwise.pipeline.store.tables import CONVERSATION_ROWS, RESULT_ROWS


def left_quotes(connection: Connection, subject: Subject, named: Collection[str]) -> list[str]:
    """Returns what may quote a subject and was not named, one line each; asked before rows are deleted."""
    found = quoting_resources(connection, subject.words.texts, subject.mentions)
    left = [
        f"{name}: holds words or arguments of it, or its id; erase it with its history (--erase), "
        "or say that it stays (--keep)"
        for name in found
        if name not in named
    ]
    if subject.words.unread:
        left.append(
            f"{subject.words.unread} conversations have no whole transcript: "
            "evaluations are searched for the rest of them and for ids only"
        )
    if not subject.keys and broken_off(connection, subject):
        left.append(
            "an erasure of it broke off: what quotes the conversations that were deleted then is not known"
        )
    return left


def left_rows(connection: Connection, subject: Subject, erased: Sequence[str]) -> list[str]:
    """Returns what is left beside the named evaluations or cannot be known, one line each."""
    scored = results_of(connection, erased) if erased else 0
    nameless = count_unattributed(connection, subject.kind, subject.mentions)
    said = [
        (scored, "results of other conversations were scored against the erased evaluations"),
        (
            nameless,
            "failures hold a record and name no conversation of the store: whose they are is not known; "
            "--unattributed_failures empties all of them",
        ),
    ]
    said += _unknown_users(connection) if subject.kind == USER else []
    what = "rows of {} cannot be read (turnwise store check names them), and may quote it"
    said += [(number, what.format(table)) for table, number in unreadable(connection).items()]
    return [f"{number} {what}" for number, what in said if number]


def _unknown_users(connection: Connection) -> list[tuple[int, str]]:
    """Returns how many conversations nobody knows the user of."""
    table = CONVERSATION_ROWS
    count = select(func.count()).select_from(table)
    earlier = connection.execute(count.where(table.c.user_id.is_(None))).scalar_one()
    unnamed = connection.execute(count.where(table.c.user_id == "")).scalar_one()
    has_none = RESULT_ROWS.c.conversation_id.not_in(select(table.c.conversation_id))
    without = connection.execute(select(func.count()).select_from(RESULT_ROWS).where(has_none)).scalar_one()
    unknown = "whose they are is not known"
    return [
        (earlier, f"conversations were written by an earlier version, which kept no users: {unknown}"),
        (unnamed, f"conversations name no user in their logs: {unknown}"),
        (without, f"results have no conversation in the store: {unknown}"),
    ]
