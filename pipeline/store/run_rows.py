"""Counts the rows of one run in a store."""

from sqlalchemy import Connection, func, select

from turnwise.pipeline.store.naming import run_name
from turnwise.pipeline.store.tables import FAILURES, RESULTS


def count_run_rows(connection: Connection, run_id: str) -> int:
    """Returns the number of results and failures of a run in all apps, for names up to 200 characters."""
    end, total = run_name("", run_id), 0
    for table in (RESULTS, FAILURES):
        run = table.c.evaluation_run
        query = select(run, func.count()).where(run.endswith(end, autoescape=True)).group_by(run)
        # LIKE ignores case in SQLite.
        total += sum(count for name, count in connection.execute(query) if name.endswith(end))
    return total


def count_results_since(connection: Connection, run_id: str, since: int) -> int | None:
    """Returns how many results of a run were written since a time (nanoseconds since 1970).

    Returns:
        The number; None if unknown, because the name of a run was truncated in its column.
    """
    run = RESULTS.c.evaluation_run
    query = select(run, func.count()).where(RESULTS.c.update_nanos >= since).group_by(run)
    counts = {name: count for name, count in connection.execute(query)}
    if any(len(name) == 200 and name[-33] == "~" for name in counts):
        return None
    return sum(count for name, count in counts.items() if name.endswith(run_name("", run_id)))
