"""The step of `migrations` that gives every row the execution of its run, and every run a row."""

from sqlalchemy import Connection, text

_TABLES = """
CREATE TABLE run_executions (
    name TEXT NOT NULL,
    execution BIGINT NOT NULL,
    home TEXT NOT NULL,
    app TEXT NOT NULL,
    run_id TEXT NOT NULL,
    state TEXT NOT NULL,
    error TEXT,
    day TEXT,
    config_digest TEXT,
    judge TEXT,
    judge_model TEXT,
    criteria TEXT,
    app_versions TEXT,
    create_nanos BIGINT NOT NULL,
    update_nanos BIGINT NOT NULL,
    end_nanos BIGINT,
    conversations BIGINT,
    results BIGINT,
    passes BIGINT,
    fails BIGINT,
    undecided BIGINT,
    failures BIGINT,
    lost BIGINT,
    exit_status BIGINT,
    cost DOUBLE PRECISION,
    content TEXT,
    PRIMARY KEY (name, execution)
);
CREATE INDEX run_executions_by_update ON run_executions (app, update_nanos, name);
CREATE INDEX run_executions_by_home ON run_executions (home, execution);
CREATE TABLE current_runs (name TEXT NOT NULL PRIMARY KEY, execution BIGINT NOT NULL);
CREATE TABLE result_rows (
    name TEXT NOT NULL,
    execution BIGINT NOT NULL,
    app TEXT NOT NULL,
    evaluation TEXT NOT NULL,
    display_name TEXT NOT NULL,
    app_version TEXT NOT NULL,
    version_id TEXT NOT NULL,
    app_version_display_name TEXT NOT NULL,
    evaluation_status TEXT NOT NULL,
    execution_state TEXT NOT NULL,
    evaluation_run TEXT NOT NULL,
    initiated_by TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    evaluation_etag TEXT,
    case_digest TEXT,
    create_nanos BIGINT NOT NULL,
    update_nanos BIGINT NOT NULL,
    parts TEXT NOT NULL,
    content TEXT NOT NULL,
    PRIMARY KEY (name, execution)
);
CREATE TABLE failure_rows (
    name TEXT NOT NULL,
    execution BIGINT NOT NULL,
    app TEXT NOT NULL,
    evaluation_run TEXT NOT NULL,
    stage TEXT NOT NULL,
    error_type TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    app_version TEXT NOT NULL,
    criterion TEXT NOT NULL,
    source TEXT NOT NULL,
    update_nanos BIGINT NOT NULL,
    content TEXT NOT NULL,
    PRIMARY KEY (name, execution)
);
CREATE TABLE conversation_rows (
    name TEXT NOT NULL,
    execution BIGINT NOT NULL,
    app TEXT NOT NULL,
    evaluation_run TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    eval_id TEXT NOT NULL,
    version_id TEXT NOT NULL,
    verdict TEXT NOT NULL,
    harm DOUBLE PRECISION NOT NULL,
    harm_term TEXT NOT NULL,
    cluster TEXT NOT NULL,
    why TEXT NOT NULL,
    event_time TEXT NOT NULL,
    case_digest TEXT,
    update_nanos BIGINT NOT NULL,
    content TEXT NOT NULL,
    PRIMARY KEY (name, execution)
);
CREATE TABLE score_rows (
    name TEXT NOT NULL,
    execution BIGINT NOT NULL,
    app TEXT NOT NULL,
    evaluation_run TEXT NOT NULL,
    conversation TEXT NOT NULL,
    score_id TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    eval_id TEXT NOT NULL,
    version_id TEXT NOT NULL,
    turn_index BIGINT,
    criterion TEXT NOT NULL,
    value DOUBLE PRECISION,
    outcome TEXT,
    threshold DOUBLE PRECISION,
    label TEXT,
    reason TEXT,
    explanation TEXT,
    event_time TEXT,
    day TEXT NOT NULL,
    language TEXT,
    update_nanos BIGINT NOT NULL,
    content TEXT NOT NULL,
    PRIMARY KEY (name, execution)
);
CREATE TABLE metric_rows (
    name TEXT NOT NULL,
    execution BIGINT NOT NULL,
    app TEXT NOT NULL,
    evaluation_run TEXT NOT NULL,
    version_id TEXT NOT NULL,
    criterion TEXT NOT NULL,
    level TEXT NOT NULL,
    turn_index BIGINT,
    unit TEXT NOT NULL,
    day TEXT NOT NULL,
    count BIGINT NOT NULL,
    scored BIGINT NOT NULL,
    unscored BIGINT NOT NULL,
    errors BIGINT NOT NULL,
    mean DOUBLE PRECISION,
    mean_low DOUBLE PRECISION,
    mean_high DOUBLE PRECISION,
    stddev DOUBLE PRECISION,
    pass_count BIGINT NOT NULL,
    fail_count BIGINT NOT NULL,
    pass_rate DOUBLE PRECISION,
    pass_rate_low DOUBLE PRECISION,
    pass_rate_high DOUBLE PRECISION,
    p50 DOUBLE PRECISION,
    p90 DOUBLE PRECISION,
    p99 DOUBLE PRECISION,
    conversations BIGINT,
    turns BIGINT,
    update_nanos BIGINT NOT NULL,
    PRIMARY KEY (name, execution)
)
"""
_COPIED = {
    "results": "app, evaluation, display_name, app_version, version_id, app_version_display_name, "
    "evaluation_status, execution_state, evaluation_run, initiated_by, conversation_id, create_nanos, "
    "update_nanos, parts, content",
    "failures": "app, evaluation_run, stage, error_type, conversation_id, app_version, criterion, source, "
    "update_nanos, content",
    "conversations": "app, evaluation_run, conversation_id, eval_id, version_id, verdict, harm, harm_term, "
    "cluster, why, event_time, case_digest, update_nanos, content",
    "scores": "app, evaluation_run, conversation, score_id, conversation_id, eval_id, version_id, "
    "turn_index, criterion, value, outcome, threshold, label, reason, explanation, event_time, "
    "update_nanos, content",
}
_INDEXES = """
CREATE INDEX result_rows_by_creation ON result_rows (evaluation, create_nanos, name);
CREATE INDEX result_rows_by_update ON result_rows (evaluation, update_nanos, name);
CREATE INDEX result_rows_of_app_by_update ON result_rows (app, update_nanos, name);
CREATE INDEX result_rows_by_version ON result_rows (app, version_id, evaluation, evaluation_status);
CREATE INDEX result_rows_by_evaluation ON result_rows (app, evaluation);
CREATE INDEX result_rows_by_run ON result_rows (evaluation_run, execution, version_id, evaluation_status);
CREATE INDEX failure_rows_by_update ON failure_rows (app, update_nanos, name);
CREATE INDEX failure_rows_by_conversation ON failure_rows (app, conversation_id);
CREATE INDEX failure_rows_by_run ON failure_rows (evaluation_run, execution, stage, criterion);
CREATE INDEX conversation_rows_by_update ON conversation_rows (app, update_nanos);
CREATE INDEX conversation_rows_by_conversation ON conversation_rows (app, conversation_id);
CREATE INDEX conversation_rows_by_run ON conversation_rows (evaluation_run, execution, harm);
CREATE INDEX score_rows_by_conversation ON score_rows (conversation, execution);
CREATE INDEX score_rows_by_run ON score_rows (evaluation_run, execution, criterion, version_id);
CREATE INDEX score_rows_by_day ON score_rows (app, criterion, version_id, day);
CREATE INDEX metric_rows_by_run ON metric_rows (evaluation_run, execution);
CREATE INDEX metric_rows_by_criterion ON metric_rows (app, criterion, version_id, day)
"""
_DAY = {
    "sqlite": "date(update_nanos / 1000000000, 'unixepoch')",
    "postgresql": "to_char(to_timestamp(update_nanos / 1000000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD')",
}
# PostgreSQL reads no JSON that holds \u0000. The language stands last but one.
_LANGUAGE = {
    "sqlite": "json_extract(content, '$.language')",
    "postgresql": r"""substring(content from '"language":"([^"\\]*)","revision":[^"]*$')""",
}
_IS_CURRENT = (
    "EXISTS (SELECT 1 FROM current_runs c WHERE c.name = r.evaluation_run AND c.execution = r.execution)"
)
_REVISION = (
    "(SELECT h.revision FROM evaluation_history h "
    "WHERE h.evaluation = r.evaluation AND h.etag = r.evaluation_etag)"
)
_VIEWS = f"""
CREATE VIEW evaluation_runs AS SELECT r.* FROM run_executions r
    WHERE EXISTS (SELECT 1 FROM current_runs c WHERE c.name = r.name AND c.execution = r.execution);
CREATE VIEW results AS SELECT r.*, {_REVISION} AS evaluation_revision FROM result_rows r WHERE {_IS_CURRENT};
CREATE VIEW failures AS SELECT r.* FROM failure_rows r WHERE {_IS_CURRENT};
CREATE VIEW conversations AS SELECT r.* FROM conversation_rows r WHERE {_IS_CURRENT};
CREATE VIEW scores AS SELECT r.* FROM score_rows r WHERE {_IS_CURRENT};
CREATE VIEW run_metrics AS SELECT r.* FROM metric_rows r WHERE {_IS_CURRENT}
"""


def keep_runs(connection: Connection) -> None:
    """Gives every row an execution, makes a row of every run, and views of the rows that are read.

    Runs of earlier versions have the execution 0 and the state UNKNOWN: it was not recorded.
    """
    _each(connection, _TABLES)
    for table, columns in _COPIED.items():
        more = _more(table, connection.dialect.name)
        names, values = ", ".join(["", *more]), ", ".join(["", *more.values()])
        target = f"{table.removesuffix('s')}_rows"
        connection.exec_driver_sql(
            f"INSERT INTO {target} (name, execution, {columns}{names}) "
            f"SELECT name, 0, {columns}{values} FROM {table}"
        )
        connection.exec_driver_sql(f"DROP TABLE {table}")
    _each(connection, _INDEXES)
    _add_runs(connection)
    _each(connection, _VIEWS)


def _each(connection: Connection, statements: str) -> None:
    for statement in statements.split(";"):
        connection.exec_driver_sql(statement)


def _more(table: str, dialect: str) -> dict[str, str]:
    """Returns the new columns of a table whose values earlier rows have."""
    if table != "scores":
        return {}
    is_day = "substr(event_time, 11, 1) = 'T' AND substr(event_time, length(event_time), 1) = 'Z'"
    day = f"CASE WHEN {is_day} THEN substr(event_time, 1, 10) ELSE {_DAY[dialect]} END"
    return {"day": day, "language": _LANGUAGE[dialect]}


def _add_runs(connection: Connection) -> None:
    found: dict[str, tuple[str, int]] = {}
    for table in _COPIED:
        rows = f"SELECT evaluation_run, app, max(update_nanos) FROM {table.removesuffix('s')}_rows"
        for name, app, nanos in connection.exec_driver_sql(f"{rows} GROUP BY evaluation_run, app"):
            found[name] = app, max(nanos, found.get(name, (app, nanos))[1])
    run = text(
        "INSERT INTO run_executions (name, execution, home, app, run_id, state, create_nanos, update_nanos) "
        "VALUES (:name, 0, :name, :app, :run_id, 'UNKNOWN', 0, :nanos)"
    )
    current = text("INSERT INTO current_runs (name, execution) VALUES (:name, 0)")
    for name, (app, nanos) in sorted(found.items()):
        place = {"name": name, "app": app, "run_id": name.rsplit("/", 1)[-1], "nanos": nanos}
        connection.execute(run, place)
        connection.execute(current, {"name": name})
