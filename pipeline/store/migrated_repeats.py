"""The step of `migrations` that tells repetitions of runs that are not read, and adds indexes."""

from sqlalchemy import Connection, text

from turnwise.schemas.proto.scalars import nanos_timestamp, timestamp_nanos

_LATER = (
    "(SELECT e.{} FROM run_executions e WHERE e.home = r.home AND e.execution > r.execution "
    "ORDER BY e.execution DESC LIMIT 1)"
)
_RUNS = (
    f"evaluation_runs AS SELECT r.*, {_LATER.format('state')} AS repeat_state, "
    f"{_LATER.format('update_nanos')} AS repeat_nanos FROM run_executions r "
    "WHERE EXISTS (SELECT 1 FROM current_runs c WHERE c.name = r.name AND c.execution = r.execution)"
)
_INDEXES = """
CREATE INDEX run_executions_by_start ON run_executions (app, create_nanos, name);
CREATE INDEX evaluations_by_name ON evaluations (app, name);
CREATE INDEX result_rows_of_app_by_name ON result_rows (app, name);
CREATE INDEX failure_rows_of_app_by_name ON failure_rows (app, name);
CREATE INDEX result_rows_of_evaluation_by_name ON result_rows (evaluation, name)
"""


def add_repeats(connection: Connection) -> None:
    """Adds state and time of a later execution to the view of runs, and indexes for lists by name."""
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("DROP VIEW evaluation_runs")
        connection.exec_driver_sql(f"CREATE VIEW {_RUNS}")
    else:
        connection.exec_driver_sql(f"CREATE OR REPLACE VIEW {_RUNS}")
    for statement in _INDEXES.split(";"):
        connection.exec_driver_sql(statement)
    _correct_days(connection)


def _correct_days(connection: Connection) -> None:
    """Gives migrated scores whose time has an offset the day of that time, not that of their writing."""
    has_offset = "event_time <> '' AND substr(event_time, length(event_time), 1) <> 'Z'"
    query = f"SELECT name, event_time FROM score_rows WHERE execution = 0 AND {has_offset}"
    change = text("UPDATE score_rows SET day = :day WHERE name = :name AND execution = 0")
    for name, time in connection.exec_driver_sql(query).all():
        try:
            day = nanos_timestamp(timestamp_nanos(time))[:10]
        except ValueError:
            continue
        connection.execute(change, {"day": day, "name": name})
