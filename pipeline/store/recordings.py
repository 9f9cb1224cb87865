"""Writes and reads the whole conversations that a store keeps to score them again."""

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection, select

from turnwise.pipeline.store.conversations import conversation_name
from turnwise.pipeline.store.executions import run_key
from turnwise.pipeline.store.naming import app_of_row, evaluation_name
from turnwise.pipeline.store.results import version_id
from turnwise.pipeline.store.runs import is_counted
from turnwise.pipeline.store.tables import EXECUTIONS, RECORDINGS, RESULTS, key_text
from turnwise.schemas.recording import RecordingRow
from turnwise.schemas.values import JsonObject

SCORED_AGAIN = '"scored_again":true'
"""What the document of a run over recordings holds."""


def recording_columns(row: RecordingRow, app: str, nanos: int) -> JsonObject:
    """Returns the columns of a recording, under the name of its conversation.

    Args:
        row: The recording.
        app: App in the store if the conversation names none.
        nanos: Time of writing, nanoseconds since 1970.
    """
    own, version = app_of_row(row, app), row["app_version"] or ""
    return {
        "name": conversation_name(row, app),
        "app": own,
        "evaluation": evaluation_name(own, row["eval_id"], row["eval_set_id"]),
        "evaluation_run": run_key(own, row["run_id"]),
        "conversation_id": key_text(row["conversation_id"]),
        "app_version": key_text(version),
        "version_id": key_text(version_id(version)),
        "update_nanos": nanos,
        "content": row["recording"],
    }


class StoredRecording(NamedTuple):
    """A conversation of an evaluation, in the last run that scored it.

    Attributes:
        name: Name of its recording; None: the run kept none.
        run: Name of the run.
    """

    evaluation: str
    conversation_id: str
    app_version: str
    run: str
    name: str | None


def recordings_of(connection: Connection, evaluation: str, version: str | None) -> Sequence[StoredRecording]:
    """Returns the conversations of an evaluation that runs which have ended scored, each in the last of them.

    Runs that scored recordings again, and keep none, do not count.

    Args:
        connection: Connection to the store.
        evaluation: Name of the evaluation.
        version: Id of an app version ("": none is stated); None: all versions.
    """
    kept: dict[tuple[str, str, str], str] = {}
    written: list[tuple[int, str, str, str]] = []
    again = select(EXECUTIONS.c.name).where(EXECUTIONS.c.content.contains(SCORED_AGAIN, autoescape=True))
    for table in (RECORDINGS, RESULTS):
        columns = (table.c[name] for name in ("conversation_id", "app_version", "evaluation_run"))
        query = select(table.c.update_nanos, *columns, table.c.name)
        query = query.where(table.c.evaluation == evaluation, is_counted(table))
        query = query.where(table.c.evaluation_run.not_in(again))
        if version is not None:
            query = query.where(table.c.version_id == version)
        for row in connection.execute(query):
            place = row.conversation_id, row.app_version, row.evaluation_run
            written.append((row.update_nanos, *place))
            if table is RECORDINGS:
                kept[place] = row.name
    last = {(conversation, app_version): run for _, conversation, app_version, run in sorted(written)}
    return sorted(StoredRecording(evaluation, *key, run, kept.get((*key, run))) for key, run in last.items())


def read_recording(connection: Connection, name: str) -> str | None:
    """Returns a recording as JSON; None: it is no longer there."""
    return connection.execute(select(RECORDINGS.c.content).where(RECORDINGS.c.name == name)).scalar()
