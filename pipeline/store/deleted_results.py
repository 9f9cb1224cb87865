"""Deletes a result with what was recorded of its conversation."""

from time import time_ns
from typing import Any

from sqlalchemy import Connection, Row, and_, delete, select, update

from turnwise.pipeline.store.naming import evaluation_name
from turnwise.pipeline.store.removed_rows import note_removed, removed_rows
from turnwise.pipeline.store.tables import (
    CONVERSATION_ROWS,
    EXECUTIONS,
    RECORDING_ROWS,
    RESULT_ROWS,
    RESULTS,
    RUN_SUMMARIES,
    SCORE_ROWS,
)
from turnwise.schemas.ces.names import app_of

_OF_CONVERSATION = (
    (SCORE_ROWS, SCORE_ROWS.c.conversation),
    (CONVERSATION_ROWS, CONVERSATION_ROWS.c.name),
    (RECORDING_ROWS, RECORDING_ROWS.c.name),
)
"""Tables of a conversation, and the column with its name."""


def run_of_result(connection: Connection, name: str) -> str | None:
    """Returns the name of the run of a result; None: there is no such result."""
    run: str | None = connection.execute(
        select(RESULTS.c.evaluation_run).where(RESULTS.c.name == name)
    ).scalar()
    return run


def delete_result(connection: Connection, name: str) -> None:
    """Deletes a result, its conversation with recording and scores, of all executions of its run."""
    columns = ("evaluation", "evaluation_run", "execution", "conversation_id", "version_id")
    query = select(*(RESULT_ROWS.c[column] for column in columns)).where(RESULT_ROWS.c.name == name)
    note_removed(connection, removed_rows(connection, RESULT_ROWS, RESULT_ROWS.c.name == name))
    for row in connection.execute(query).all():
        for conversation in _conversations(connection, row):
            for table, column in _OF_CONVERSATION:
                own = and_(column == conversation, table.c.execution == row.execution)
                note_removed(connection, removed_rows(connection, table, own))
                connection.execute(delete(table).where(own))
        is_summary = RUN_SUMMARIES.c.evaluation_run == row.evaluation_run
        connection.execute(delete(RUN_SUMMARIES).where(is_summary))
        is_own = EXECUTIONS.c.name == row.evaluation_run, EXECUTIONS.c.execution == row.execution
        connection.execute(update(EXECUTIONS).where(*is_own).values(update_nanos=time_ns()))
    connection.execute(delete(RESULT_ROWS).where(RESULT_ROWS.c.name == name))


def _conversations(connection: Connection, result: Row[Any]) -> list[str]:
    """Returns the names of the rows of a result's conversation that were held against its case."""
    table = CONVERSATION_ROWS
    same = ("evaluation_run", "execution", "conversation_id", "version_id")
    query = select(table.c.name, table.c.eval_id).where(
        *(table.c[column] == getattr(result, column) for column in same)
    )
    rows = connection.execute(query).all()
    return [row.name for row in rows if _is_case(result.evaluation, row.eval_id)]


def _is_case(evaluation: str, eval_id: str) -> bool:
    """Returns whether an evaluation is that of a case; the evaluation's id may begin with an eval set."""
    own = evaluation_name(app_of(evaluation), eval_id or None)
    return evaluation == own or evaluation.endswith(f"~{eval_id}" if eval_id else "/")
