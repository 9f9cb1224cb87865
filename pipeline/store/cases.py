"""Reads the evaluations of a store as records of eval cases."""

import json
from collections.abc import Iterator

from sqlalchemy import Connection, select

from turnwise.pipeline.store.database import EVALUATIONS
from turnwise.pipeline.store.engine import shared_store
from turnwise.schemas.conversation import Record
from turnwise.schemas.jsonio import JsonObject, dump_json, shown_url


def store_records(url: str, app: str) -> Iterator[Record]:
    """Yields the evaluations of a store by name, with their etags.

    Args:
        url: URL of the store.
        app: Only those of this app; "": of all apps.
    """
    values = shared_store(url, read_only=True).read(lambda connection: _cases(connection, app))
    for position, value in enumerate(values, 1):
        yield Record(shown_url(url), position, dump_json(value))


def _cases(connection: Connection, app: str) -> list[JsonObject]:
    query = select(EVALUATIONS.c.content, EVALUATIONS.c.etag).order_by(EVALUATIONS.c.name)
    rows = connection.execute(query.where(EVALUATIONS.c.app == app) if app else query).all()
    return [{**json.loads(row.content), "etag": row.etag} for row in rows]
