"""Counts the rows of one execution of a run in a store."""

from sqlalchemy import Connection, Table, func, select

from turnwise.pipeline.store.database import CURRENT, FAILURE_ROWS, RESULT_ROWS
from turnwise.pipeline.store.executions import Execution, own_names


def count_run_rows(connection: Connection, execution: Execution) -> int:
    """Returns the number of results and failures of an execution in all apps."""
    return sum(_count(connection, table, execution) for table in (RESULT_ROWS, FAILURE_ROWS))


def count_results(connection: Connection, execution: Execution) -> int:
    """Returns the number of results of an execution in all apps."""
    return _count(connection, RESULT_ROWS, execution)


def is_current(connection: Connection, execution: Execution) -> bool:
    """Returns whether an execution is the one of its run that is read."""
    query = select(CURRENT.c.execution).where(CURRENT.c.name == execution.home)
    return connection.execute(query).scalar() == execution.number


def _count(connection: Connection, table: Table, execution: Execution) -> int:
    names = own_names(connection, execution)
    is_own = table.c.evaluation_run.in_(names), table.c.execution == execution.number
    return int(connection.execute(select(func.count()).select_from(table).where(*is_own)).scalar_one())
