"""The history of an evaluation in a store."""

import json
from typing import NamedTuple

from sqlalchemy import Connection, select

from turnwise.pipeline.store.tables import HISTORY
from turnwise.schemas.values import JsonObject


class Revision(NamedTuple):
    """An entry of an evaluation's history."""

    revision: int
    etag: str
    nanos: int
    actor: str
    update_mask: str | None
    content: JsonObject


def read_history(connection: Connection, name: str) -> list[Revision]:
    """Returns all revisions of an evaluation, oldest first."""
    query = select(HISTORY).where(HISTORY.c.evaluation == name).order_by(HISTORY.c.revision)
    return [
        Revision(row.revision, row.etag, row.nanos, row.actor, row.update_mask, json.loads(row.content))
        for row in connection.execute(query)
    ]
