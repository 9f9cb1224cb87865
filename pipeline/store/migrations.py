"""Upgrades the tables of a store in numbered steps."""

import json
from collections.abc import Callable, Sequence
from hashlib import sha256

from sqlalchemy import Connection, inspect, text

from turnwise.pipeline.store.migrated_datasets import add_datasets
from turnwise.pipeline.store.migrated_erasures import add_erasure_ends
from turnwise.pipeline.store.migrated_indexes import index_conversations
from turnwise.pipeline.store.migrated_maintenance import keep_maintenance
from turnwise.pipeline.store.migrated_repeats import add_repeats
from turnwise.pipeline.store.migrated_runs import keep_runs
from turnwise.pipeline.store.migrated_summaries import add_summaries, delete_summaries
from turnwise.pipeline.store.migrated_views import add_latest
from turnwise.pipeline.store.urls import StoreError

Migration = Callable[[Connection], None]
"""One step. Do not change it after its release; add a new step instead."""

_VERSIONS = "turnwise_store_version"
_LOCK = 7_210_436_119
_FIRST_TABLES = """
CREATE TABLE evaluations (
    name TEXT NOT NULL PRIMARY KEY,
    app TEXT NOT NULL,
    display_name TEXT NOT NULL,
    revision INTEGER NOT NULL,
    etag TEXT NOT NULL,
    create_nanos BIGINT NOT NULL,
    created_by TEXT NOT NULL,
    update_nanos BIGINT NOT NULL,
    last_updated_by TEXT NOT NULL,
    content TEXT NOT NULL,
    CONSTRAINT evaluations_by_display_name UNIQUE (app, display_name)
);
CREATE INDEX evaluations_by_update ON evaluations (app, update_nanos, name);
CREATE TABLE evaluation_tags (
    evaluation TEXT NOT NULL REFERENCES evaluations (name),
    tag TEXT NOT NULL,
    PRIMARY KEY (evaluation, tag)
);
CREATE TABLE evaluation_history (
    evaluation TEXT NOT NULL,
    revision INTEGER NOT NULL,
    etag TEXT NOT NULL,
    nanos BIGINT NOT NULL,
    actor TEXT NOT NULL,
    update_mask TEXT,
    content TEXT NOT NULL,
    PRIMARY KEY (evaluation, revision)
);
CREATE TABLE results (
    name TEXT NOT NULL PRIMARY KEY,
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
    create_nanos BIGINT NOT NULL,
    update_nanos BIGINT NOT NULL,
    stamp BIGINT NOT NULL,
    parts TEXT NOT NULL,
    content TEXT NOT NULL
);
CREATE INDEX results_by_creation ON results (evaluation, create_nanos, name);
CREATE INDEX results_by_update ON results (evaluation, update_nanos, name);
CREATE INDEX results_of_app_by_update ON results (app, update_nanos, name);
CREATE INDEX results_by_version ON results (app, version_id, evaluation, evaluation_status);
CREATE INDEX results_by_stamp ON results (app, evaluation, stamp);
CREATE TABLE failures (
    name TEXT NOT NULL PRIMARY KEY,
    app TEXT NOT NULL,
    evaluation_run TEXT NOT NULL,
    stage TEXT NOT NULL,
    error_type TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    app_version TEXT NOT NULL,
    criterion TEXT NOT NULL,
    source TEXT NOT NULL,
    update_nanos BIGINT NOT NULL,
    content TEXT NOT NULL
);
CREATE INDEX failures_by_update ON failures (app, update_nanos, name);
CREATE INDEX failures_by_conversation ON failures (app, conversation_id)
"""
_REFUSALS = {
    "sqlite": [
        f"CREATE TRIGGER evaluation_history_{event} BEFORE {event} ON evaluation_history "
        "BEGIN SELECT RAISE(ABORT, 'the history is append-only'); END"
        for event in ("update", "delete")
    ],
    "postgresql": [
        "CREATE FUNCTION evaluation_history_refuse() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'the history is append-only'; END $$",
        "CREATE TRIGGER evaluation_history_refuse BEFORE UPDATE OR DELETE OR TRUNCATE ON evaluation_history "
        "FOR EACH STATEMENT EXECUTE FUNCTION evaluation_history_refuse()",
    ],
}


def _first(connection: Connection) -> None:
    for statement in (*_FIRST_TABLES.split(";"), *_REFUSALS[connection.dialect.name]):
        connection.exec_driver_sql(statement)


def _keep_from_replacing(connection: Connection) -> None:
    # SQLite's INSERT OR REPLACE removes a row without running the DELETE triggers.
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql(
            "CREATE TRIGGER evaluation_history_insert BEFORE INSERT ON evaluation_history "
            "WHEN EXISTS (SELECT 1 FROM evaluation_history WHERE rowid = NEW.rowid "
            "OR evaluation = NEW.evaluation AND revision = NEW.revision) "
            "BEGIN SELECT RAISE(ABORT, 'the history is append-only'); END"
        )


def _name_by_run(connection: Connection) -> None:
    """Adds a digest of run and app version to the names of results, and of the run to those of failures."""
    for name in connection.execute(text("SELECT name FROM results")).scalars().all():
        query = text("SELECT content FROM results WHERE name = :name")
        result = json.loads(connection.execute(query, {"name": name}).scalar_one())
        result["name"] = _marked(name, result.get("evaluationRun", ""), result.get("appVersion", ""))
        content = json.dumps(result, ensure_ascii=False, separators=(",", ":"))
        change = text("UPDATE results SET name = :new, content = :content WHERE name = :name")
        connection.execute(change, {"new": result["name"], "content": content, "name": name})
    for name, run in connection.execute(text("SELECT name, evaluation_run FROM failures")).all():
        change = text("UPDATE failures SET name = :new WHERE name = :name")
        connection.execute(change, {"new": _marked(name, run), "name": name})


def _marked(name: str, *texts: str) -> str:
    text = "\0".join(texts).encode("utf-8", "replace")
    return f"{name}-{sha256(text).hexdigest()[:16]}"


_ROW_TABLES = """
CREATE TABLE conversations (
    name TEXT NOT NULL PRIMARY KEY,
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
    update_nanos BIGINT NOT NULL,
    content TEXT NOT NULL
);
CREATE INDEX conversations_by_harm ON conversations (app, evaluation_run, harm);
CREATE INDEX conversations_by_update ON conversations (app, update_nanos);
CREATE INDEX conversations_by_conversation ON conversations (app, conversation_id);
CREATE TABLE scores (
    name TEXT NOT NULL PRIMARY KEY,
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
    update_nanos BIGINT NOT NULL,
    content TEXT NOT NULL
);
CREATE INDEX scores_by_conversation ON scores (conversation);
CREATE INDEX scores_by_criterion ON scores (app, evaluation_run, criterion, outcome)
"""


def _keep_rows(connection: Connection) -> None:
    """Adds the tables of conversations and scores."""
    for statement in _ROW_TABLES.split(";"):
        connection.exec_driver_sql(statement)


def _keep_case_digest(connection: Connection) -> None:
    """Adds the digest of what is expected to conversations; null: not known."""
    connection.exec_driver_sql("ALTER TABLE conversations ADD COLUMN case_digest TEXT")


MIGRATIONS: tuple[Migration, ...] = (
    _first,
    _keep_from_replacing,
    _name_by_run,
    _keep_rows,
    _keep_case_digest,
    keep_runs,
    add_latest,
    keep_maintenance,
    add_repeats,
    add_datasets,
    add_summaries,
    add_erasure_ends,
    index_conversations,
    delete_summaries,
    delete_summaries,  # their form has changed again
)


def stored_version(connection: Connection) -> int:
    """Returns the number of steps applied to a store; 0: it is empty."""
    if not inspect(connection).has_table(_VERSIONS):
        return 0
    return int(connection.execute(text(f"SELECT max(version) FROM {_VERSIONS}")).scalar() or 0)


def migrate(connection: Connection, steps: Sequence[Migration] = MIGRATIONS) -> None:
    """Applies the missing steps in the transaction of the connection.

    Raises:
        StoreError: The store was written by a newer version of turnwise.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
    version = stored_version(connection)
    check_version(version, steps)
    if not version:
        connection.exec_driver_sql(f"CREATE TABLE {_VERSIONS} (version INTEGER NOT NULL PRIMARY KEY)")
    for number, step in enumerate(steps[version:], version + 1):
        step(connection)
        connection.execute(text(f"INSERT INTO {_VERSIONS} VALUES (:version)"), {"version": number})


def check_version(version: int, steps: Sequence[Migration] = MIGRATIONS) -> None:
    """Raises StoreError if a store is newer than this version of turnwise."""
    if version > len(steps):
        raise StoreError(
            f"the store has version {version}, this turnwise supports {len(steps)}: upgrade turnwise"
        )
