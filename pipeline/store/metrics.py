"""Makes the columns of the metrics of runs in a store."""

from typing import Any

from turnwise.pipeline.store.executions import Execution, run_key
from turnwise.pipeline.store.naming import marked, run_name
from turnwise.pipeline.store.results import version_id
from turnwise.pipeline.store.tables import key_text
from turnwise.schemas.ces.names import app_in
from turnwise.schemas.jsonio import dump_json
from turnwise.schemas.values import JsonObject

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
