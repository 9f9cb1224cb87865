"""Makes the columns of the metrics of runs in a store, and reads them."""

from collections.abc import Collection
from typing import Any, Literal, NamedTuple

from sqlalchemy import Connection, select

from turnwise.pipeline.store.database import METRICS, key_text
from turnwise.pipeline.store.executions import Execution, run_key
from turnwise.pipeline.store.naming import marked, run_name
from turnwise.pipeline.store.results import version_id
from turnwise.schemas.ces.names import app_in
from turnwise.schemas.jsonio import JsonObject, dump_json

_COPIED = (
    *("level", "unit", "count", "scored", "unscored", "errors", "mean", "mean_low", "mean_high", "stddev"),
    *("pass_count", "fail_count", "pass_rate", "pass_rate_low", "pass_rate_high", "p50", "p90", "p99"),
)


def metric_columns(row: Any, execution: Execution, nanos: int) -> JsonObject:
    """Returns the columns of a row of `metrics_by_app_version` or `metrics_by_turn`.

    Args:
        row: The row. Its app is the one that the app version names, else the execution's.
        execution: The execution.
        nanos: Time of writing, nanoseconds since 1970.
    """
    app = app_in(row["app_version"]) or execution.app
    turn = row.get("turn_index")
    key = dump_json([row["app_version"], row["criterion"], row["level"], turn]).decode()
    return {
        **{name: row[name] for name in _COPIED},
        "name": marked(f"{run_name(app, row['run_id'])}/metrics/m", key),
        "app": app,
        "evaluation_run": run_key(app, row["run_id"]),
        "version_id": key_text(version_id(row["app_version"] or "")),
        "criterion": key_text(row["criterion"]),
        "turn_index": turn,
        "day": execution.day,
        "conversations": row.get("conversations"),
        "turns": row.get("turns"),
        "update_nanos": nanos,
    }


class VersionMetric(NamedTuple):
    """The figures of a criterion over an app version in one run, as `MetricsByAppVersionRow` has them.

    `scores` is its `count`.
    """

    evaluation_run: str
    criterion: str
    version_id: str
    level: str
    unit: str
    scores: int
    scored: int
    unscored: int
    errors: int
    mean: float | None
    mean_low: float | None
    mean_high: float | None
    stddev: float | None
    pass_count: int
    fail_count: int
    pass_rate: float | None
    pass_rate_low: float | None
    pass_rate_high: float | None
    p50: float | None
    p90: float | None
    p99: float | None
    conversations: int | None
    turns: int | None


def version_metrics(connection: Connection, runs: Collection[str]) -> dict[str, list[VersionMetric]]:
    """Returns name of a run -> its metrics of whole app versions, by criterion, version and level."""
    columns = [METRICS.c["count" if name == "scores" else name] for name in VersionMetric._fields]
    is_theirs = METRICS.c.evaluation_run.in_(list(runs)), METRICS.c.turn_index.is_(None)
    found: dict[str, list[VersionMetric]] = {}
    read = (VersionMetric(*row) for row in connection.execute(select(*columns).where(*is_theirs)))
    for metric in sorted(read, key=lambda metric: metric[:4]):
        found.setdefault(metric.evaluation_run, []).append(metric)
    return found


def measured_names(connection: Connection, app: str, column: Literal["criterion", "version_id"]) -> list[str]:
    """Returns the names of the criteria, or the ids of the app versions, that the runs of an app measured."""
    query = select(METRICS.c[column]).where(METRICS.c.app == app).distinct()
    return sorted(connection.execute(query).scalars())
