"""Compares scores with their conversations."""

from collections.abc import Iterator
from typing import Any

from sqlalchemy import Connection, and_, select

from turnwise.pipeline.store.conversations import day_of
from turnwise.pipeline.store.maintenance.checks.check import first_of
from turnwise.pipeline.store.removed_rows import read_document
from turnwise.pipeline.store.tables import CONVERSATION_ROWS, EXECUTIONS, SCORE_ROWS, plain_text


def score_problems(connection: Connection, _: int) -> Iterator[str]:
    """Yields which conversations have scores of another language, or of a day that is not of their time."""
    names = dict.fromkeys(_differing(connection))
    yield from first_of(names, "conversations have scores of another language or day")


def _differing(connection: Connection) -> Iterator[str]:
    names = ("conversation", "execution", "language", "event_time", "day")
    score = select(*(SCORE_ROWS.c[name] for name in names)).distinct().subquery()
    own, run = CONVERSATION_ROWS.c, EXECUTIONS.c
    query = (
        select(score, own.content, run.day.label("run_day"))
        .join(CONVERSATION_ROWS, and_(own.name == score.c.conversation, own.execution == score.c.execution))
        .join(EXECUTIONS, and_(run.name == own.evaluation_run, run.execution == own.execution))
        .order_by(score.c.conversation)
    )
    for row in connection.execute(query, execution_options={"yield_per": 500}):
        if not _agrees(row):
            yield row.conversation


def _agrees(row: Any) -> bool:
    content = read_document(row.content)
    if content is None:
        return True  # said by the check of contents
    stated = content.get("language")
    language = None if stated is None else plain_text(stated)
    # The days of rows of version 0.1 follow from the time of writing.
    day = day_of(row.event_time) or row.run_day if row.execution else None
    return row.language == language and day in (None, row.day)
