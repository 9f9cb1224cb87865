"""Reads and writes resources that have no history: datasets and expectations."""

import json
from hashlib import sha256
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, Table, delete, insert, select, update

from turnwise.pipeline.store.evaluations import EvaluationChange
from turnwise.pipeline.store.tables import key_text
from turnwise.schemas.ces.names import app_of
from turnwise.schemas.jsonio import dump_json
from turnwise.schemas.values import JsonObject


class StoredResource(NamedTuple):
    """A resource; its fields are those of `StoredEvaluation`."""

    name: str
    etag: str
    create_nanos: int
    created_by: str
    update_nanos: int
    last_updated_by: str
    content: JsonObject


def stored_resource(row: Row[Any]) -> StoredResource:
    """Returns the resource of a row that has all of its columns."""
    fields = {name: getattr(row, name) for name in StoredResource._fields}
    return StoredResource(**{**fields, "content": json.loads(row.content)})


def find_resource(connection: Connection, table: Table, name: str) -> StoredResource | None:
    """Returns a resource of a table."""
    query = select(*(table.c[column] for column in StoredResource._fields)).where(table.c.name == name)
    row = connection.execute(query).first()
    return None if row is None else stored_resource(row)


def add_resource(
    connection: Connection, table: Table, content: JsonObject, change: EvaluationChange
) -> StoredResource:
    """Adds a resource under the name in its content."""
    made = _stored(content, change.nanos, change.actor, change)
    connection.execute(insert(table).values(app=app_of(made.name), **_columns(made)))
    return made


def replace_resource(
    connection: Connection, table: Table, old: StoredResource, content: JsonObject, change: EvaluationChange
) -> StoredResource | None:
    """Replaces the content of a resource; its update time increases. None: it is no longer the old one."""
    later = change._replace(nanos=max(change.nanos, old.update_nanos + 1000))
    made = _stored(content, old.create_nanos, old.created_by, later)
    is_old = (table.c.name == old.name, table.c.etag == old.etag)
    changed = connection.execute(update(table).where(*is_old).values(**_columns(made)))
    return made if changed.rowcount else None


def delete_resource(connection: Connection, table: Table, old: StoredResource) -> bool:
    """Deletes a resource; returns whether it was still the old one."""
    is_old = (table.c.name == old.name, table.c.etag == old.etag)
    return bool(connection.execute(delete(table).where(*is_old)).rowcount)


def _stored(
    content: JsonObject, create_nanos: int, created_by: str, change: EvaluationChange
) -> StoredResource:
    name = content["name"]
    etag = sha256(f"{name}\0{change.nanos}\0".encode() + dump_json(content)).hexdigest()[:24]
    return StoredResource(name, etag, create_nanos, created_by, change.nanos, change.actor, content)


def _columns(resource: StoredResource) -> JsonObject:
    display_name = key_text(resource.content.get("displayName", ""))
    text = dump_json(resource.content).decode()
    return {**resource._asdict(), "content": text, "display_name": display_name}
