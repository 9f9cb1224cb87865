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
    numbers="revision nanos",
    key="evaluation revision",
)
"""All revisions of all evaluations. Append-only, enforced by triggers."""

RESULTS = _table(
    "results",
    texts="name app evaluation display_name app_version version_id app_version_display_name "
    "evaluation_status execution_state evaluation_run initiated_by conversation_id parts content",
    numbers="create_nanos update_nanos stamp",
)
"""Results. `parts` holds the contribution to AggregatedMetrics, `stamp` a random number per write."""

FAILURES = _table(
    "failures",
    texts="name app evaluation_run stage error_type conversation_id app_version criterion source content",
    numbers="update_nanos",
)
"""Failures of reading, parsing, matching and scoring."""

CONVERSATIONS = _table(
    "conversations",
    texts="name app evaluation_run conversation_id eval_id version_id verdict harm_term cluster why "
    "event_time case_digest content",
    numbers="update_nanos",
    fractions="harm",
)
"""Conversations of runs. `content` holds the row, with the transcript; "": null.

`case_digest` is null where an earlier version wrote the row: not known.
"""

SCORES = _table(
    "scores",
    texts="name app evaluation_run conversation score_id conversation_id eval_id version_id criterion "
    "outcome label reason explanation event_time content",
    numbers="turn_index update_nanos",
    fractions="value threshold",
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
