"""Makes the columns of failures of runs in a store."""

from hashlib import sha256

from sqlalchemy import Connection

from turnwise.pipeline.store.database import FAILURE_ROWS, key_text
from turnwise.pipeline.store.executions import Execution, run_key, write_rows
from turnwise.pipeline.store.naming import marked, run_name
from turnwise.pipeline.store.run_counts import REPLACED
from turnwise.schemas.jsonio import JsonObject, dump_json
from turnwise.schemas.rows import FailureRow

# A record can have several failures at these stages, which differ only in the message.
_SEVERAL_A_RECORD = ("parse", "parse_case")


def failure_columns(row: FailureRow, app: str, nanos: int) -> JsonObject:
    """Returns the columns of a failure, with a name that is the same when its run is repeated.

    Args:
        row: The failure.
        app: App in the store.
        nanos: Time of writing, nanoseconds since 1970.
    """
    run = run_name(app, row["run_id"])
    place = [
        row["stage"],
        row["source"],
        row["position"],
        row["conversation_id"],
        row["criterion"],
        row["turn_index"],
        row["message"] if row["stage"] in _SEVERAL_A_RECORD else None,
    ]
    texts = ("stage", "error_type", "conversation_id", "app_version", "criterion", "source")
    return {
        **{name: key_text(row[name] or "") for name in texts},  # type: ignore[literal-required]
        "name": marked(f"{app}/failures/f-{sha256(dump_json(place)).hexdigest()[:32]}", run),
        "app": app,
        "evaluation_run": run_key(app, row["run_id"]),
        "update_nanos": nanos,
        "content": dump_json(row).decode(),
    }


def write_replaced(connection: Connection, execution: Execution, number: int, nanos: int) -> None:
    """Writes how many results of an execution others of the same one replaced.

    Args:
        connection: Connection to the store.
        execution: The execution.
        number: Number of replaced results, 1 or more.
        nanos: Time of writing, nanoseconds since 1970.
    """
    row = FailureRow(
        run_id=execution.run_id,
        stage="write",
        error_type=REPLACED,
        message=f"{number} results were replaced by others of the same conversation, case and app version",
        source=None,
        position=None,
        record=None,
        conversation_id=None,
        criterion=None,
        app_version=None,
        turn_index=None,
    )
    content = dump_json({**row, "replaced": number}).decode()
    columns = failure_columns(row, execution.app, nanos) | {"content": content}
    write_rows(connection, execution, FAILURE_ROWS, [columns], nanos)
