"""Places the rows of a run that name no app where all of its conversations are."""

from sqlalchemy import Connection, func, select, update

from turnwise.pipeline.store.database import (
    CONVERSATION_ROWS,
    EXECUTIONS,
    FAILURE_ROWS,
    METRIC_ROWS,
    RESULT_ROWS,
)


def place_in_only_app(connection: Connection, home: str, number: int) -> None:
    """Moves metrics and failures of an execution to the app that all of its conversations and results are of.

    They stay in the default app if several apps have conversations or results of it, or none has.

    Args:
        connection: Connection to the store.
        home: Name of the run in its default app.
        number: Number of the execution.
    """
    own = select(EXECUTIONS.c.name, EXECUTIONS.c.app)
    is_own = EXECUTIONS.c.home == home, EXECUTIONS.c.execution == number
    apps: dict[str, str] = {name: app for name, app in connection.execute(own.where(*is_own))}
    used = [name for name in apps if _has_rows(connection, name, number)]
    if len(used) != 1 or used == [home] or home not in apps:
        return
    (other,) = used
    for table in (METRIC_ROWS, FAILURE_ROWS):
        name = func.replace(table.c.name, f"{apps[home]}/", f"{apps[other]}/")
        moved = {"app": apps[other], "evaluation_run": other, "name": name}
        is_here = table.c.evaluation_run == home, table.c.execution == number
        connection.execute(update(table).where(*is_here).values(moved))


def _has_rows(connection: Connection, name: str, number: int) -> bool:
    for table in (CONVERSATION_ROWS, RESULT_ROWS):
        is_of_it = table.c.evaluation_run == name, table.c.execution == number
        if connection.execute(select(table.c.name).where(*is_of_it).limit(1)).first():
            return True
    return False
