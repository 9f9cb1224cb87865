"""The step of `migrations` that adds views over the runs that have ended."""

from sqlalchemy import Connection

_ENDED = "SELECT name FROM evaluation_runs WHERE state IN ('COMPLETED', 'UNKNOWN')"
_SCORES = (
    "name, app, evaluation_run, conversation, conversation_id, eval_id, version_id, turn_index, criterion, "
    "value, outcome, threshold, label, reason, explanation, event_time, day, language, update_nanos"
)
_RESULTS = (
    "name, app, evaluation_run, evaluation, evaluation_revision, conversation_id, app_version, version_id, "
    "evaluation_status, execution_state, case_digest, create_nanos, update_nanos, content"
)
_METRICS = (
    "m.app, m.evaluation_run, r.run_id, r.state, r.config_digest, r.judge, r.judge_model, r.create_nanos, "
    "r.end_nanos, m.day, m.version_id, m.criterion, m.level, m.unit, m.count, m.scored, m.unscored, "
    "m.errors, m.mean, m.mean_low, m.mean_high, m.stddev, m.pass_count, m.fail_count, m.pass_rate, "
    "m.pass_rate_low, m.pass_rate_high, m.p50, m.p90, m.p99, m.conversations, m.turns"
)


def add_latest(connection: Connection) -> None:
    """Adds the views; of a conversation, the run that wrote its newest row counts, as in the figures."""
    for view, table, columns, key in (
        ("latest_scores", "scores", _SCORES, "app, conversation_id, eval_id, version_id, criterion"),
        ("latest_results", "results", _RESULTS, "app, evaluation, conversation_id, version_id"),
    ):
        last = f"first_value(evaluation_run) OVER (PARTITION BY {key} ORDER BY update_nanos DESC, name DESC)"
        connection.exec_driver_sql(
            f"CREATE VIEW {view} AS SELECT {columns} FROM (SELECT {columns}, {last} AS last_run "
            f"FROM {table} WHERE evaluation_run IN ({_ENDED})) own WHERE evaluation_run = last_run"
        )
    connection.exec_driver_sql(
        f"CREATE VIEW metrics_by_app_version AS SELECT {_METRICS} FROM run_metrics m "
        "JOIN evaluation_runs r ON r.name = m.evaluation_run "
        "WHERE m.turn_index IS NULL AND r.state IN ('COMPLETED', 'UNKNOWN')"
    )
