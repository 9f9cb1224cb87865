"""Defines the tables of a store; `migrations` creates them."""

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from sqlalchemy import (
    DOUBLE_PRECISION,
    BigInteger,
    Column,
    Connection,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)
from sqlalchemy.dialects import postgresql, sqlite

from turnwise.schemas.values import JsonObject

METADATA = MetaData()
# An index entry of PostgreSQL holds 2,700 bytes.
_LONGEST_KEY = 200

EVALUATIONS = Table(
    "evaluations",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("app", Text, nullable=False),
    Column("display_name", Text, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("etag", Text, nullable=False),
    Column("create_nanos", BigInteger, nullable=False),
    Column("created_by", Text, nullable=False),
    Column("update_nanos", BigInteger, nullable=False),
    Column("last_updated_by", Text, nullable=False),
    Column("content", Text, nullable=False),
    UniqueConstraint("app", "display_name", name="evaluations_by_display_name"),
    Index("evaluations_by_update", "app", "update_nanos", "name"),
)
"""Evaluations. `content` holds the fields that users write, as JSON; times are nanoseconds since 1970."""

TAGS = Table(
    "evaluation_tags",
    METADATA,
    Column("evaluation", Text, ForeignKey("evaluations.name"), primary_key=True),
    Column("tag", Text, primary_key=True),
)

HISTORY = Table(
    "evaluation_history",
    METADATA,
    Column("evaluation", Text, primary_key=True),
    Column("revision", Integer, primary_key=True),
    Column("etag", Text, nullable=False),
    Column("nanos", BigInteger, nullable=False),
    Column("actor", Text, nullable=False),
    Column("update_mask", Text),
    Column("content", Text, nullable=False),
)
"""All revisions of all evaluations. Append-only, enforced by triggers."""

RESULTS = Table(
    "results",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("app", Text, nullable=False),
    Column("evaluation", Text, nullable=False),
    Column("display_name", Text, nullable=False),
    Column("app_version", Text, nullable=False),
    Column("version_id", Text, nullable=False),
    Column("app_version_display_name", Text, nullable=False),
    Column("evaluation_status", Text, nullable=False),
    Column("execution_state", Text, nullable=False),
    Column("evaluation_run", Text, nullable=False),
    Column("initiated_by", Text, nullable=False),
    Column("conversation_id", Text, nullable=False),
    Column("create_nanos", BigInteger, nullable=False),
    Column("update_nanos", BigInteger, nullable=False),
    Column("stamp", BigInteger, nullable=False),
    Column("parts", Text, nullable=False),
    Column("content", Text, nullable=False),
    Index("results_by_creation", "evaluation", "create_nanos", "name"),
    Index("results_by_update", "evaluation", "update_nanos", "name"),
    Index("results_of_app_by_update", "app", "update_nanos", "name"),
    Index("results_by_version", "app", "version_id", "evaluation", "evaluation_status"),
    Index("results_by_stamp", "app", "evaluation", "stamp"),
)
"""Results. `parts` holds the contribution to AggregatedMetrics, `stamp` a random number per write."""

FAILURES = Table(
    "failures",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("app", Text, nullable=False),
    Column("evaluation_run", Text, nullable=False),
    Column("stage", Text, nullable=False),
    Column("error_type", Text, nullable=False),
    Column("conversation_id", Text, nullable=False),
    Column("app_version", Text, nullable=False),
    Column("criterion", Text, nullable=False),
    Column("source", Text, nullable=False),
    Column("update_nanos", BigInteger, nullable=False),
    Column("content", Text, nullable=False),
    Index("failures_by_update", "app", "update_nanos", "name"),
    Index("failures_by_conversation", "app", "conversation_id"),
)
"""Failures of reading, parsing, matching and scoring."""

CONVERSATIONS = Table(
    "conversations",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("app", Text, nullable=False),
    Column("evaluation_run", Text, nullable=False),
    Column("conversation_id", Text, nullable=False),
    Column("eval_id", Text, nullable=False),
    Column("version_id", Text, nullable=False),
    Column("verdict", Text, nullable=False),
    Column("harm", DOUBLE_PRECISION, nullable=False),
    Column("harm_term", Text, nullable=False),
    Column("cluster", Text, nullable=False),
    Column("why", Text, nullable=False),
    Column("event_time", Text, nullable=False),
    Column("update_nanos", BigInteger, nullable=False),
    Column("content", Text, nullable=False),
    Index("conversations_by_harm", "app", "evaluation_run", "harm"),
    Index("conversations_by_update", "app", "update_nanos"),
    Index("conversations_by_conversation", "app", "conversation_id"),
)
"""Conversations of runs. `content` holds the row, with the transcript; "": null."""

SCORES = Table(
    "scores",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("app", Text, nullable=False),
    Column("evaluation_run", Text, nullable=False),
    Column("conversation", Text, nullable=False),
    Column("score_id", Text, nullable=False),
    Column("conversation_id", Text, nullable=False),
    Column("eval_id", Text, nullable=False),
    Column("version_id", Text, nullable=False),
    Column("turn_index", BigInteger),
    Column("criterion", Text, nullable=False),
    Column("value", DOUBLE_PRECISION),
    Column("outcome", Text),
    Column("threshold", DOUBLE_PRECISION),
    Column("label", Text),
    Column("reason", Text),
    Column("explanation", Text),
    Column("event_time", Text),
    Column("update_nanos", BigInteger, nullable=False),
    Column("content", Text, nullable=False),
    Index("scores_by_conversation", "conversation"),
    Index("scores_by_criterion", "app", "evaluation_run", "criterion", "outcome"),
)
"""Scores of conversations (`conversation`: its name). `content` holds details, judge and tags as JSON."""


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
    """Inserts rows or replaces those of the same name; the last of several with one name counts."""
    by_name = {row["name"]: row for row in rows}
    if not by_name:
        return
    dialect: Any = postgresql if connection.dialect.name == "postgresql" else sqlite
    statement = dialect.insert(table)
    changed = {column.name: statement.excluded[column.name] for column in table.c if not column.primary_key}
    # A fixed order prevents deadlocks between writers.
    in_order = [by_name[name] for name in sorted(by_name)]
    connection.execute(statement.on_conflict_do_update(index_elements=["name"], set_=changed), in_order)
