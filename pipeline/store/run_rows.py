"""Rows of one run in a store."""

from sqlalchemy import Connection, func, select

from turnwise.pipeline.store.naming import run_name
from turnwise.pipeline.store.tables import FAILURES, RESULTS


def count_run_rows(connection: Connection, run_id: str) -> int:
    """Returns how many results and failures, of any app, name a run; names over 200 characters are missed."""
    end, total = run_name("", run_id), 0
    for table in (RESULTS, FAILURES):
        run = table.c.evaluation_run
        query = select(run, func.count()).where(run.endswith(end, autoescape=True)).group_by(run)
        # LIKE ignores case in SQLite.
        total += sum(count for name, count in connection.execute(query) if name.endswith(end))
    return total
