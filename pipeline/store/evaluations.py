"""Reads and writes evaluations and their history, also as records of eval cases."""

import json
from collections.abc import Iterator
from hashlib import sha256
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, delete, insert, select, update

from turnwise.pipeline.store.database import EVALUATIONS, HISTORY, TAGS, key_text, shared_store
from turnwise.schemas.ces.names import app_of
from turnwise.schemas.conversation import Record
from turnwise.schemas.jsonio import JsonObject, dump_json, shown_url


class StoredEvaluation(NamedTuple):
    """An evaluation.

    Attributes:
        revision: Starts at 1; incremented by every update.
        create_nanos: Nanoseconds since 1970; `update_nanos` likewise.
        content: The fields that users write, and the name, in canonical proto3 JSON.
    """

    name: str
    revision: int
    etag: str
    create_nanos: int
    created_by: str
    update_nanos: int
    last_updated_by: str
    content: JsonObject


class EvaluationChange(NamedTuple):
    """User, time and update mask (None: all fields) of a change."""

    actor: str
    nanos: int
    update_mask: str | None = None


COLUMNS = StoredEvaluation._fields


def stored_evaluation(row: Row[Any]) -> StoredEvaluation:
    """Returns the evaluation of a row that has all of `COLUMNS`."""
    fields = {name: getattr(row, name) for name in COLUMNS}
    return StoredEvaluation(**{**fields, "content": json.loads(row.content)})


class StoredRevision(NamedTuple):
    """A revision of an evaluation; its fields are those of `StoredEvaluation` and `EvaluationChange`.

    Attributes:
        is_deletion: Whether the evaluation was deleted; `content` is what it held. None: it was not.
    """

    revision: int
    etag: str
    nanos: int
    actor: str
    update_mask: str | None
    is_deletion: int | None
    content: JsonObject


def find_evaluation(connection: Connection, name: str) -> StoredEvaluation | None:
    """Returns an evaluation."""
    query = select(*(EVALUATIONS.c[column] for column in COLUMNS)).where(EVALUATIONS.c.name == name)
    row = connection.execute(query).first()
    return None if row is None else stored_evaluation(row)


def find_by_display_name(connection: Connection, app: str, display_name: str) -> str | None:
    """Returns the name of the evaluation with a display name, or None."""
    is_own = EVALUATIONS.c.app == app, EVALUATIONS.c.display_name == key_text(display_name)
    return connection.execute(select(EVALUATIONS.c.name).where(*is_own)).scalar()


def add_evaluation(connection: Connection, content: JsonObject, change: EvaluationChange) -> StoredEvaluation:
    """Adds an evaluation under the name in its content; one that was deleted goes on with its history."""
    before = read_revisions(connection, content["name"], None, 1)
    revision = before[0].revision + 1 if before else 1
    made = _revision(content, revision, change.nanos, change.actor, change)
    connection.execute(insert(EVALUATIONS).values(app=app_of(made.name), **_columns(made)))
    _follow_up(connection, made, change)
    return made


def replace_evaluation(
    connection: Connection, old: StoredEvaluation, content: JsonObject, change: EvaluationChange
) -> StoredEvaluation | None:
    """Replaces the content of an evaluation; its update time increases. None: it is no longer the old one."""
    later = change._replace(nanos=max(change.nanos, old.update_nanos + 1000))
    made = _revision(content, old.revision + 1, old.create_nanos, old.created_by, later)
    is_old = (EVALUATIONS.c.name == old.name, EVALUATIONS.c.revision == old.revision)
    if not connection.execute(update(EVALUATIONS).where(*is_old).values(**_columns(made))).rowcount:
        return None
    connection.execute(delete(TAGS).where(TAGS.c.evaluation == old.name))
    _follow_up(connection, made, later)
    return made


def remove_evaluation(connection: Connection, old: StoredEvaluation, change: EvaluationChange) -> bool:
    """Deletes an evaluation; its history stays and says so. Returns whether it was still the old one."""
    connection.execute(delete(TAGS).where(TAGS.c.evaluation == old.name))
    is_old = (EVALUATIONS.c.name == old.name, EVALUATIONS.c.revision == old.revision)
    if not connection.execute(delete(EVALUATIONS).where(*is_old)).rowcount:
        return False
    later = change._replace(nanos=max(change.nanos, old.update_nanos + 1000))
    last = _revision(old.content, old.revision + 1, old.create_nanos, old.created_by, later)
    _add_to_history(connection, last, later, is_deletion=1)
    return True


def read_revisions(connection: Connection, name: str, before: int | None, size: int) -> list[StoredRevision]:
    """Returns at most `size` revisions of an evaluation, newest first, before one (None: from the last)."""
    query = select(*(HISTORY.c[column] for column in StoredRevision._fields))
    query = query.where(HISTORY.c.evaluation == name).order_by(HISTORY.c.revision.desc()).limit(size)
    rows = connection.execute(query if before is None else query.where(HISTORY.c.revision < before))
    return [StoredRevision(**{**row._asdict(), "content": json.loads(row.content)}) for row in rows]


def _revision(
    content: JsonObject, revision: int, create_nanos: int, created_by: str, change: EvaluationChange
) -> StoredEvaluation:
    name = content["name"]
    etag = sha256(f"{name}\0{revision}\0{change.nanos}\0".encode() + dump_json(content)).hexdigest()[:24]
    return StoredEvaluation(
        name, revision, etag, create_nanos, created_by, change.nanos, change.actor, content
    )


def _columns(evaluation: StoredEvaluation) -> JsonObject:
    text = dump_json(evaluation.content).decode()
    display_name = key_text(evaluation.content.get("displayName", ""))
    return {**evaluation._asdict(), "content": text, "display_name": display_name}


def _follow_up(connection: Connection, made: StoredEvaluation, change: EvaluationChange) -> None:
    """Writes the tags and the history entry of a revision."""
    tags = {key_text(tag) for tag in made.content.get("tags", ())}
    if tags:
        connection.execute(insert(TAGS), [{"evaluation": made.name, "tag": tag} for tag in sorted(tags)])
    _add_to_history(connection, made, change)


def _add_to_history(
    connection: Connection, made: StoredEvaluation, change: EvaluationChange, is_deletion: int | None = None
) -> None:
    connection.execute(
        insert(HISTORY).values(
            **change._asdict(),
            evaluation=made.name,
            revision=made.revision,
            etag=made.etag,
            is_deletion=is_deletion,
            content=dump_json(made.content).decode(),
        )
    )


def store_records(url: str, app: str) -> Iterator[Record]:
    """Yields the evaluations of an app ("": of all apps) of a store by name, with their etags."""
    query = select(EVALUATIONS.c.content, EVALUATIONS.c.etag).order_by(EVALUATIONS.c.name)
    query = query.where(EVALUATIONS.c.app == app) if app else query
    rows = shared_store(url, read_only=True).read(lambda connection: connection.execute(query).all())
    for position, row in enumerate(rows, 1):
        yield Record(shown_url(url), position, dump_json({**json.loads(row.content), "etag": row.etag}))
