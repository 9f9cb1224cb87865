"""Compares summaries of runs with their rows, and scores and results with their conversations."""

from collections.abc import Iterator

from sqlalchemy import Connection, and_, or_, select

from turnwise.pipeline.store.maintenance.checks.check import Check, first_of
from turnwise.pipeline.store.states import COMPLETED
from turnwise.pipeline.store.tables import (
    CONVERSATION_ROWS,
    CURRENT,
    EXECUTIONS,
    RESULT_ROWS,
    RUN_SUMMARIES,
    SCORE_ROWS,
)
from turnwise.pipeline.store.urls import StoreError
from turnwise.pipeline.store_comparison.run_summary import meaning_of, read_summary
from turnwise.pipeline.store_comparison.summarising import summary_text


def summary_problems(connection: Connection, _: int) -> Iterator[str]:
    """Yields which summaries in force cannot be read, or are not what the rows of their runs give."""
    columns = RUN_SUMMARIES.c.app, RUN_SUMMARIES.c.evaluation_run, RUN_SUMMARIES.c.content
    is_read = and_(
        CURRENT.c.name == RUN_SUMMARIES.c.evaluation_run, CURRENT.c.execution == RUN_SUMMARIES.c.execution
    )
    is_new = and_(
        EXECUTIONS.c.name == CURRENT.c.name,
        EXECUTIONS.c.execution == CURRENT.c.execution,
        EXECUTIONS.c.update_nanos == RUN_SUMMARIES.c.update_nanos,
    )
    query = select(*columns).join(CURRENT, is_read).join(EXECUTIONS, is_new).order_by(columns[1])
    for app, run, content in connection.execute(query).all():
        why = _problem(connection, app, run, content)
        if why:
            yield f"{run}: its summary {why}; DELETE FROM run_summaries makes summaries anew"


def _problem(connection: Connection, app: str, run: str, content: str) -> str:
    if not content:
        return ""
    try:
        kept = meaning_of(read_summary(content))
    except ValueError:
        return "cannot be read"
    try:
        wanted = summary_text(connection, app, run)
    except (StoreError, ValueError, TypeError, LookupError, AttributeError):
        return "cannot be compared: rows of the run cannot be read"
    is_same = wanted and meaning_of(read_summary(wanted)) == kept
    return "" if is_same else "is not what its rows say: one of them was changed"


def conversation_problems(connection: Connection, _: int) -> Iterator[str]:
    """Yields which scores name other ids than their conversation, and which results one that is not there."""
    own = CONVERSATION_ROWS
    is_own = own.c.name == SCORE_ROWS.c.conversation, own.c.execution == SCORE_ROWS.c.execution
    same = ("conversation_id", "eval_id", "version_id")
    differs = or_(*(own.c[name] != SCORE_ROWS.c[name] for name in same))
    scores = select(SCORE_ROWS.c.name).join(own, and_(*is_own)).where(differs).order_by(SCORE_ROWS.c.name)
    yield from first_of(
        connection.execute(scores).scalars(), "rows of score_rows name another conversation or version"
    )
    yield from first_of(_without(connection), "rows of result_rows are of a conversation that is not there")


def _without(connection: Connection) -> Iterator[str]:
    """Yields the results without a conversation of executions that are complete and have conversations."""
    own = CONVERSATION_ROWS.c.execution == RESULT_ROWS.c.execution
    is_its = CONVERSATION_ROWS.c.conversation_id == RESULT_ROWS.c.conversation_id
    is_complete = and_(
        EXECUTIONS.c.name == RESULT_ROWS.c.evaluation_run,
        EXECUTIONS.c.execution == RESULT_ROWS.c.execution,
        EXECUTIONS.c.state == COMPLETED,
    )
    query = select(RESULT_ROWS.c.name).where(
        select(CONVERSATION_ROWS.c.name).where(own).exists(),
        ~select(CONVERSATION_ROWS.c.name).where(own, is_its).exists(),
        select(EXECUTIONS.c.name).where(is_complete).exists(),
    )
    yield from connection.execute(query.order_by(RESULT_ROWS.c.name)).scalars()


COMPARED_CHECKS = (
    Check("scores, results and their conversations", conversation_problems),
    Check("summaries of runs", summary_problems),
)
"""Checks of what comparisons read."""
