"""Reads and writes the conversations of runs and their scores."""

import json
from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Any, NamedTuple

from sqlalchemy import Connection, Select, func, select

from turnwise.pipeline.store.database import CONVERSATIONS, SCORES, key_text, plain_text
from turnwise.pipeline.store.executions import run_key
from turnwise.pipeline.store.naming import app_of_row, run_name
from turnwise.pipeline.store.results import version_id
from turnwise.schemas.jsonio import JsonObject, dump_json
from turnwise.schemas.proto.scalars import nanos_timestamp, timestamp_nanos
from turnwise.schemas.rows import ConversationRow, ScoreRow
from turnwise.transforms.review.problems import MOST_OF_A_CLUSTER, MOST_READ, to_read

_MOST_CONSIDERED = 10_000
_CONTENT = ("details", "judge", "tags", "revision")
_UNREAD = ("name", "app", "conversation", "update_nanos", "execution")


def conversation_columns(row: ConversationRow, app: str, nanos: int) -> JsonObject:
    """Returns the columns of a conversation, with a name that is the same when its run is repeated.

    Args:
        row: The conversation.
        app: App in the store if the conversation names none.
        nanos: Time of writing, nanoseconds since 1970.
    """
    texts = ("harm_term", "cluster", "why", "event_time", "verdict", "case_digest")
    return {
        **_place(row, app, nanos),
        **{name: plain_text(row[name] or "") for name in texts},  # type: ignore[literal-required]
        "name": conversation_name(row, app),
        "user_id": key_text(row["user_id"] or ""),
        "harm": row["harm"],
        "content": dump_json(row).decode(),
    }


def score_columns(row: ScoreRow, app: str, nanos: int, day: str) -> JsonObject:
    """Returns the columns of a score, with a name that is the same when its run is repeated.

    Args:
        row: The score.
        app: App in the store if the conversation names none.
        nanos: Time of writing, nanoseconds since 1970.
        day: Day of the run, for a score without a time.
    """
    texts = {
        name: row[name] for name in ("outcome", "label", "reason", "explanation", "event_time", "language")
    }
    conversation = conversation_name(row, app)
    return {
        **_place(row, app, nanos),
        **{name: None if text is None else plain_text(text) for name, text in texts.items()},
        "name": f"{conversation}/scores/{row['score_id']}",
        "conversation": conversation,
        "score_id": row["score_id"],
        "turn_index": row["turn_index"],
        "criterion": key_text(row["criterion"]),
        "value": row["value"],
        "threshold": row["threshold"],
        "day": day_of(row["event_time"]) or day,
        "content": dump_json({name: row[name] for name in _CONTENT}).decode(),  # type: ignore[literal-required]
    }


@lru_cache(maxsize=1024)
def day_of(event_time: str | None) -> str:
    """Returns the day of a time in UTC; "": there is no time, or it cannot be read."""
    try:
        return nanos_timestamp(timestamp_nanos(event_time or ""))[:10]
    except ValueError:
        return ""


def _place(row: ConversationRow | ScoreRow, app: str, nanos: int) -> JsonObject:
    own = app_of_row(row, app)
    return {
        "app": own,
        "evaluation_run": run_key(own, row["run_id"]),
        "conversation_id": key_text(row["conversation_id"]),
        "eval_id": key_text(row["eval_id"] or ""),
        "version_id": key_text(version_id(row["app_version"] or "")),
        "update_nanos": nanos,
    }


def conversation_name(row: ConversationRow | ScoreRow, app: str) -> str:
    """Returns the name of a conversation of a run, for each case and app version another one."""
    run = run_name(app_of_row(row, app), row["run_id"])
    ids = "\0".join(
        ("" if i is None else f"={i}") for i in (row["conversation_id"], row["app_version"], row["eval_id"])
    )
    return f"{run}/conversations/c-{sha256(ids.encode('utf-8', 'replace')).hexdigest()[:32]}"


class RunPart(NamedTuple):
    """Conversations of a run.

    Attributes:
        run: Name of the run.
        version: Last part of an app version's name; None: all versions.
    """

    run: str
    version: str | None = None


def _of(part: RunPart, query: Select[Any]) -> Select[Any]:
    query = query.where(CONVERSATIONS.c.evaluation_run == part.run)
    return query if part.version is None else query.where(CONVERSATIONS.c.version_id == part.version)


class ReadFirst(NamedTuple):
    """A conversation to read.

    Attributes:
        name: Name in the store.
        row: The conversation.
        cluster_size: Number of conversations of its cluster.
    """

    name: str
    row: ConversationRow
    cluster_size: int


def verdict_counts(connection: Connection, part: RunPart) -> dict[str, int]:
    """Returns verdict ("": not decided) -> number of conversations; empty: there is none."""
    query = _of(part, select(CONVERSATIONS.c.verdict, func.count())).group_by(CONVERSATIONS.c.verdict)
    return {verdict: count for verdict, count in connection.execute(query)}


def conversations_to_read(
    connection: Connection, part: RunPart, most: int = MOST_READ, of_a_cluster: int = MOST_OF_A_CLUSTER
) -> list[ReadFirst]:
    """Returns the conversations to read first.

    They are chosen from the 10,000 with the greatest harm, as `to_read` does.
    """
    columns = [CONVERSATIONS.c[name] for name in ("name", "harm", "cluster", "event_time", "conversation_id")]
    query = _of(part, select(*columns, CONVERSATIONS.c.version_id, CONVERSATIONS.c.eval_id))
    worst = (
        query.where(CONVERSATIONS.c.harm > 0).order_by(CONVERSATIONS.c.harm.desc()).limit(_MOST_CONSIDERED)
    )
    rows: list[Any] = [{**row._mapping, "app_version": row.version_id} for row in connection.execute(worst)]
    chosen = to_read(rows, most, of_a_cluster)
    counts = _of(part, select(CONVERSATIONS.c.cluster, func.count())).group_by(CONVERSATIONS.c.cluster)
    sizes: dict[str, int] = {cluster: count for cluster, count in connection.execute(counts)}
    names = [row["name"] for row in chosen]  # type: ignore[typeddict-item]
    found = [(name, find_conversation(connection, name)) for name in names]
    return [ReadFirst(name, row, sizes[row["cluster"] or ""]) for name, row in found if row is not None]


def find_conversation(connection: Connection, name: str) -> ConversationRow | None:
    """Returns a conversation by its name, or None."""
    text = connection.execute(select(CONVERSATIONS.c.content).where(CONVERSATIONS.c.name == name)).scalar()
    return None if text is None else json.loads(text)


def names_of(connection: Connection, app: str, conversation_id: str, run: str | None) -> Sequence[str]:
    """Returns the names of a conversation in one run or (None) in all runs of an app, the newest first."""
    is_it = (CONVERSATIONS.c.app == app, CONVERSATIONS.c.conversation_id == key_text(conversation_id))
    query = select(CONVERSATIONS.c.name).where(*is_it)
    query = query if run is None else query.where(CONVERSATIONS.c.evaluation_run == run)
    newest = query.order_by(CONVERSATIONS.c.update_nanos.desc(), CONVERSATIONS.c.name)
    return connection.execute(newest).scalars().all()


def scores_of(connection: Connection, name: str) -> list[JsonObject]:
    """Returns the scores of a conversation by its name: by turn, those of the whole last."""
    columns = [column for column in SCORES.c if column.name not in _UNREAD]
    order = (SCORES.c.turn_index.is_(None), SCORES.c.turn_index, SCORES.c.criterion, SCORES.c.score_id)
    found = connection.execute(select(*columns).where(SCORES.c.conversation == name).order_by(*order))
    return [{**row._mapping, **json.loads(row.content)} for row in found]
