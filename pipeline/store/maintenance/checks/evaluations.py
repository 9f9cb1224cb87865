"""Compares evaluations with their history, tags and datasets."""

import json
from collections.abc import Iterator
from hashlib import sha256

from sqlalchemy import Connection, Table, and_, func, select

from turnwise.pipeline.store.maintenance.checks.check import first_of
from turnwise.pipeline.store.tables import (
    DATASET_MEMBERS,
    EVALUATION_DATASETS,
    EVALUATIONS,
    HISTORY,
    TAGS,
    key_text,
)

_IN_PIECES = {"yield_per": 500}


def history_problems(connection: Connection, _: int) -> Iterator[str]:
    """Yields which evaluations are not what their history says, and which histories were changed."""
    every = HISTORY.alias()
    newest = select(func.max(every.c.revision)).where(every.c.evaluation == EVALUATIONS.c.name)
    is_newest = and_(
        HISTORY.c.evaluation == EVALUATIONS.c.name,
        HISTORY.c.revision == EVALUATIONS.c.revision,
        EVALUATIONS.c.revision == newest.scalar_subquery(),
        HISTORY.c.is_deletion.is_(None),
    )
    same = select(HISTORY.c.etag).where(
        is_newest, HISTORY.c.content == EVALUATIONS.c.content, HISTORY.c.etag == EVALUATIONS.c.etag
    )
    differing = select(EVALUATIONS.c.name).where(~same.exists()).order_by(EVALUATIONS.c.name)
    for name in connection.execute(differing).scalars():
        yield f"{name}: its newest revision is not in the history, or differs"
    yield from first_of(_gone(connection), "evaluations are gone, and their history does not say so")
    yield from first_of(_gaps(connection), "histories lack a revision")
    yield from first_of(_changed(connection), "revisions were changed: their etag is that of another content")


def _gone(connection: Connection) -> Iterator[str]:
    last = select(HISTORY.c.evaluation, func.max(HISTORY.c.revision).label("revision"))
    newest = last.group_by(HISTORY.c.evaluation).subquery()
    is_newest = HISTORY.c.evaluation == newest.c.evaluation, HISTORY.c.revision == newest.c.revision
    is_there = select(EVALUATIONS.c.name).where(EVALUATIONS.c.name == HISTORY.c.evaluation).exists()
    query = select(HISTORY.c.evaluation).where(*is_newest, HISTORY.c.is_deletion.is_(None), ~is_there)
    yield from connection.execute(query.order_by(HISTORY.c.evaluation)).scalars()


def _gaps(connection: Connection) -> Iterator[str]:
    revision = HISTORY.c.revision
    is_whole = and_(func.min(revision) == 1, func.max(revision) == func.count())
    query = select(HISTORY.c.evaluation).group_by(HISTORY.c.evaluation).having(~is_whole)
    yield from connection.execute(query.order_by(HISTORY.c.evaluation)).scalars()


def _changed(connection: Connection) -> Iterator[str]:
    columns = [HISTORY.c[name] for name in ("evaluation", "revision", "nanos", "etag", "content")]
    query = select(*columns).order_by(*columns[:2])
    for name, revision, nanos, etag, content in connection.execute(query, execution_options=_IN_PIECES):
        text = f"{name}\0{revision}\0{nanos}\0{content}"
        if sha256(text.encode("utf-8", "replace")).hexdigest()[:24] != etag:
            yield f"{name} revision {revision}"


def member_problems(connection: Connection, _: int) -> Iterator[str]:
    """Yields where tags and members are not those of the evaluation or dataset, or are of none."""
    for table, owner, members, what in (
        (TAGS, EVALUATIONS, "tags", "evaluations have other tags in their table"),
        (
            DATASET_MEMBERS,
            EVALUATION_DATASETS,
            "evaluations",
            "datasets have other members in their table",
        ),
    ):
        yield from first_of(_differing(connection, table, owner, members), what)
    has_evaluation = select(EVALUATIONS.c.name).where(EVALUATIONS.c.name == DATASET_MEMBERS.c.evaluation)
    lost = select(DATASET_MEMBERS.c.evaluation).where(~has_evaluation.exists()).distinct()
    yield from first_of(connection.execute(lost).scalars(), "evaluations of datasets are not there")


def _differing(connection: Connection, table: Table, owner: Table, members: str) -> Iterator[str]:
    found: dict[str, set[str]] = {}
    for name, member in connection.execute(select(*table.c)):
        found.setdefault(name, set()).add(member)
    for name, content in connection.execute(select(owner.c.name, owner.c.content)):
        try:
            wanted = {key_text(each) for each in json.loads(content).get(members, ())}
        except (ValueError, AttributeError, TypeError):
            continue  # said by the check of contents
        if found.pop(name, set()) != wanted:
            yield name
    yield from sorted(found)
