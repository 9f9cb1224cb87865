"""Erases conversations from all runs of a store."""

import json
from collections import Counter
from collections.abc import Collection, Sequence

from sqlalchemy import Connection, delete, or_, select, update

from turnwise.pipeline.store.maintenance.mentions import Mentions
from turnwise.pipeline.store.tables import (
    CONVERSATION_ROWS,
    EXECUTIONS,
    FAILURE_ROWS,
    OPERATIONS,
    RECORDING_ROWS,
    RESULT_ROWS,
    RUN_SUMMARIES,
    SCORE_ROWS,
)
from turnwise.schemas.jsonio import dump_json
from turnwise.schemas.values import JsonObject

_HOLDING = (RESULT_ROWS, RECORDING_ROWS, SCORE_ROWS, CONVERSATION_ROWS)
_KEPT_OF_FAILURES = ("run_id", "stage", "error_type", "criterion", "app_version", "turn_index", "replaced")
_QUOTING = ("ExportEvaluations", "ExportEvaluationResults", "ExportEvaluationRuns", "GenerateEvaluation")
"""Methods of operations whose answers are evaluations or results."""
TO_READ = "to_read"
"""The key of `run.json` that quotes conversations, and the name of the number of its entries."""
ERASED = "erased"
"""The message of a failure whose record was erased."""


def erase(connection: Connection, app: str, ids: Sequence[str], mentions: Mentions) -> Counter[str]:
    """Deletes conversations of an app with their results and scores, and empties what quotes their ids.

    Args:
        connection: Connection to the store.
        app: The app of the conversations.
        ids: Their ids, as the columns have them.
        mentions: What failures and documents of runs must not mention.

    Returns:
        Table -> number of its rows that were deleted or emptied.
    """
    done: Counter[str] = Counter()
    _mark_changed(connection, app, ids)
    for table in _HOLDING:
        named = table.c.conversation_id.in_(ids)
        of_app = table.c.app == app
        if table is RESULT_ROWS:
            # A result is in the app of its case, which may be another one than that of its conversation.
            own = select(CONVERSATION_ROWS.c.name).where(
                CONVERSATION_ROWS.c.app == table.c.app,
                CONVERSATION_ROWS.c.conversation_id == table.c.conversation_id,
            )
            of_app = or_(of_app, ~own.exists())
        done[table.name] = connection.execute(delete(table).where(named, of_app)).rowcount
    done[FAILURE_ROWS.name] = empty_failures(connection, ids, mentions)
    done[TO_READ] = empty_documents(connection, mentions)
    return done


def delete_operations(connection: Connection, mentions: Mentions) -> int:
    """Deletes operations that are done and whose answers may hold rows, or that mention an id."""
    texts = (OPERATIONS.c.metadata, OPERATIONS.c.response, OPERATIONS.c.error)
    may_hold = or_(OPERATIONS.c.method.in_(_QUOTING), *(mentions.may_be_in(column) for column in texts))
    return connection.execute(
        delete(OPERATIONS).where(OPERATIONS.c.end_nanos.is_not(None), may_hold)
    ).rowcount


def _mark_changed(connection: Connection, app: str, ids: Sequence[str]) -> None:
    """Changes the times of the runs by the least, so that servers compute their figures anew."""
    for table in (RESULT_ROWS, CONVERSATION_ROWS):
        runs = select(table.c.evaluation_run).where(table.c.conversation_id.in_(ids))
        connection.execute(delete(RUN_SUMMARIES).where(RUN_SUMMARIES.c.evaluation_run.in_(runs)))
        later = EXECUTIONS.c.update_nanos + 1
        connection.execute(update(EXECUTIONS).where(EXECUTIONS.c.name.in_(runs)).values(update_nanos=later))


def empty_failures(connection: Connection, ids: Collection[str], mentions: Mentions) -> int:
    """Removes record, message and place from failures of conversations, and from those that mention one.

    The rows stay: without them, nobody would know that something was lost.
    """
    columns = FAILURE_ROWS.c.name, FAILURE_ROWS.c.execution, FAILURE_ROWS.c.conversation_id
    may_be = or_(FAILURE_ROWS.c.conversation_id.in_(ids), mentions.may_be_in(FAILURE_ROWS.c.content))
    done = 0
    for name, execution, conversation, content in connection.execute(
        select(*columns, FAILURE_ROWS.c.content).where(may_be)
    ).all():
        row = json.loads(content)
        texts = (row.get("record"), row.get("message"), row.get("source"), row.get("conversation_id"))
        if conversation in ids or any(map(mentions.are_in, texts)):
            is_it = FAILURE_ROWS.c.name == name, FAILURE_ROWS.c.execution == execution
            connection.execute(update(FAILURE_ROWS).where(*is_it).values(_emptied(row)))
            done += 1
    return done


def _emptied(row: JsonObject) -> JsonObject:
    kept = {name: value if name in _KEPT_OF_FAILURES else None for name, value in row.items()}
    content = dump_json({**kept, "message": ERASED}).decode()
    return {"conversation_id": "", "source": "", "content": content}


def empty_documents(connection: Connection, mentions: Mentions) -> int:
    """Removes conversations from `to_read` of the documents of runs; returns the number of its entries."""
    columns = EXECUTIONS.c.name, EXECUTIONS.c.execution, EXECUTIONS.c.content
    done = 0
    for name, execution, content in connection.execute(
        select(*columns).where(mentions.may_be_in(EXECUTIONS.c.content))
    ).all():
        document = json.loads(content)
        entries = document.get(TO_READ, [])
        kept = [entry for entry in entries if not mentions.are_in(json.dumps(entry, ensure_ascii=False))]
        if len(kept) < len(entries):
            is_it = EXECUTIONS.c.name == name, EXECUTIONS.c.execution == execution
            changed = {"content": dump_json({**document, TO_READ: kept}).decode()}
            connection.execute(update(EXECUTIONS).where(*is_it).values(changed))
            done += len(entries) - len(kept)
    return done
