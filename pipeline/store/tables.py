"""Names the tables and columns of a store; `migrations` creates them, with their indexes."""

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from sqlalchemy import DOUBLE_PRECISION, BigInteger, Column, Connection, MetaData, Table, Text
from sqlalchemy.dialects import postgresql, sqlite

from turnwise.schemas.values import JsonObject

METADATA = MetaData()
# An index entry of PostgreSQL holds 2,700 bytes.
_LONGEST_KEY = 200


def _table(name: str, *, texts: str, numbers: str = "", fractions: str = "", key: str = "name") -> Table:
    kinds: dict[str, Any] = dict.fromkeys(texts.split(), Text)
    kinds |= dict.fromkeys(numbers.split(), BigInteger) | dict.fromkeys(fractions.split(), DOUBLE_PRECISION)
    keys = key.split()
    columns: list[Column[Any]] = [Column(each, kinds[each], primary_key=each in keys) for each in kinds]
    return Table(name, METADATA, *columns)


EVALUATIONS = _table(
    "evaluations",
    texts="name app display_name etag created_by last_updated_by content",
    numbers="revision create_nanos update_nanos",
)
"""Evaluations. `content` holds the fields that users write, as JSON; times are nanoseconds since 1970."""

TAGS = _table("evaluation_tags", texts="evaluation tag", key="evaluation tag")

HISTORY = _table(
    "evaluation_history",
    texts="evaluation etag actor update_mask content",
    numbers="revision nanos is_deletion",
    key="evaluation revision",
)
"""All revisions of all evaluations. Append-only, enforced by triggers."""

EVALUATION_DATASETS = _table(
    "evaluation_datasets",
    texts="name app display_name etag created_by last_updated_by content",
    numbers="create_nanos update_nanos",
)
"""Datasets, in the form of evaluations."""

DATASET_MEMBERS = _table("dataset_members", texts="dataset evaluation", key="dataset evaluation")

EVALUATION_EXPECTATIONS = _table(
    "app_expectations",
    texts="name app display_name etag created_by last_updated_by content",
    numbers="create_nanos update_nanos",
)
"""Expectations, in the form of evaluations."""

EXECUTIONS = _table(
    "run_executions",
    texts="name home app run_id state error day config_digest judge judge_model criteria app_versions "
    "content",
    numbers="execution create_nanos update_nanos end_nanos conversations results passes fails undecided "
    "failures lost exit_status",
    fractions="cost",
    key="name execution",
)
"""Executions of runs, one row an app. `home` is the name of the run in its default app.

`content` holds `run.json`, before the end as much of it as is known. Null: not known.
"""

CURRENT = _table("current_runs", texts="name", numbers="execution")
"""The execution of each run that is read."""

RESULT_ROWS = _table(
    "result_rows",
    texts="name app evaluation display_name app_version version_id app_version_display_name "
    "evaluation_status execution_state evaluation_run initiated_by conversation_id evaluation_etag "
    "case_digest parts content",
    numbers="execution create_nanos update_nanos",
    key="name execution",
)
"""Results of all executions. `parts` holds the contribution to AggregatedMetrics.

`evaluation_etag` and `case_digest` say what the result was scored against; null: not known.
"""

FAILURE_ROWS = _table(
    "failure_rows",
    texts="name app evaluation_run stage error_type conversation_id app_version criterion source content",
    numbers="execution update_nanos",
    key="name execution",
)
"""Failures of reading, parsing, matching and scoring, of all executions."""

CONVERSATION_ROWS = _table(
    "conversation_rows",
    texts="name app evaluation_run conversation_id eval_id version_id verdict harm_term cluster why "
    "event_time case_digest user_id content",
    numbers="execution update_nanos",
    fractions="harm",
    key="name execution",
)
"""Conversations of all executions. `content` holds the row, with the transcript; "": null.

`case_digest` and `user_id` are null where an earlier version wrote the row: not known. `user_id` is "" where
the log states none.
"""

SCORE_ROWS = _table(
    "score_rows",
    texts="name app evaluation_run conversation score_id conversation_id eval_id version_id criterion "
    "outcome label reason explanation event_time day language content",
    numbers="execution turn_index update_nanos",
    fractions="value threshold",
    key="name execution",
)
"""Scores of conversations (`conversation`: its name) of all executions. `content` holds details, judge and
tags as JSON."""

METRIC_ROWS = _table(
    "metric_rows",
    texts="name app evaluation_run version_id criterion level unit day",
    numbers="execution turn_index count scored unscored errors pass_count fail_count conversations turns "
    "update_nanos",
    fractions="mean mean_low mean_high stddev pass_rate pass_rate_low pass_rate_high p50 p90 p99",
    key="name execution",
)
"""Metrics of all executions: of an app version (`turn_index` null), and of its turns."""

ERASURES = _table("erasures", texts="digest salt kind actor removed", numbers="nanos end_nanos", key="digest")
"""What was erased: digests of ids. `removed` holds the numbers of rows by table, as JSON.

`end_nanos` is null while it is being erased, and if that broke off.
"""

PRUNED = _table("pruned_runs", texts="name actor", numbers="execution nanos")
"""The runs of which only metrics are kept."""

SETTINGS = _table("store_settings", texts="name value")
"""Settings of the store by name, as JSON."""

RUN_SUMMARIES = _table(
    "run_summaries",
    texts="name app evaluation_run content",
    numbers="execution update_nanos",
    key="name execution",
)
"""What comparisons and figures read of runs that count; see `turnwise.pipeline.store_comparison.run_summary`.

A summary is in force while its `update_nanos` is that of the run. `content` is "": the rows must be read.
"""

RUN_TABLES = (RESULT_ROWS, CONVERSATION_ROWS, SCORE_ROWS, FAILURE_ROWS, METRIC_ROWS)
"""Tables whose rows belong to an execution of a run."""

DELETED_TABLES = (*RUN_TABLES, RUN_SUMMARIES)
"""Tables from which an execution of a run is deleted."""

VIEWS = MetaData()


def _view(name: str, table: Table, *more: Column[Any]) -> Table:
    return Table(name, VIEWS, *(Column(own.name, own.type) for own in table.c), *more)


RUNS = _view("evaluation_runs", EXECUTIONS, Column("repeat_state", Text), Column("repeat_nanos", BigInteger))
"""The runs that are read; of a run that is repeated, the execution that was completed last.

`repeat_state` and `repeat_nanos` (its last write) are those of a later execution; null: there is none.
"""

RESULTS = _view("results", RESULT_ROWS, Column("evaluation_revision", BigInteger))
"""The results of these runs."""

FAILURES = _view("failures", FAILURE_ROWS)
"""Their failures."""

CONVERSATIONS = _view("conversations", CONVERSATION_ROWS)
"""Their conversations."""

SCORES = _view("scores", SCORE_ROWS)
"""Their scores."""

METRICS = _view("run_metrics", METRIC_ROWS)
"""Their metrics."""


def key_nanos(nanos: int) -> int:
    """Returns a time limited to 64 bits: the years 1678 to 2261."""
    return max(-(2**63), min(nanos, 2**63 - 1))


def key_text(text: str) -> str:
    """Returns a text for an indexed column: without NUL, at most 200 characters."""
    clean = plain_text(text)
    if len(clean) <= _LONGEST_KEY:
        return clean
    return f"{clean[: _LONGEST_KEY - 33]}~{sha256(clean.encode()).hexdigest()[:32]}"


def plain_text(text: str) -> str:
    """Returns a text that every database takes: without NUL and lone surrogates."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def upsert(connection: Connection, table: Table, rows: Sequence[JsonObject]) -> None:
    """Inserts rows or replaces those of the same key; the last of several with one name counts."""
    by_name = {row["name"]: row for row in rows}
    if not by_name:
        return
    dialect: Any = postgresql if connection.dialect.name == "postgresql" else sqlite
    statement = dialect.insert(table)
    changed = {column.name: statement.excluded[column.name] for column in table.c if not column.primary_key}
    # A fixed order prevents deadlocks between writers.
    in_order = [by_name[name] for name in sorted(by_name)]
    keys = [column.name for column in table.primary_key]
    connection.execute(statement.on_conflict_do_update(index_elements=keys, set_=changed), in_order)


def insert_new(connection: Connection, table: Table, rows: Sequence[JsonObject]) -> None:
    """Inserts the rows whose key is not there yet."""
    dialect: Any = postgresql if connection.dialect.name == "postgresql" else sqlite
    connection.execute(dialect.insert(table).on_conflict_do_nothing(), rows)
