"""Sessions in the tables of a database: those of google-adk's services, and of the OpenAI Agents SDK."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from json import loads
from typing import NamedTuple, TypeAlias

from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.adk_sessions import session_record
from turnwise.transforms.formats.messages.messages_base import OTHER_BRANCHES

_NEVER_READ = ("actions",)
_AGENTS, _BRANCHES = "agent_messages", "message_structure"
_SESSION_KEYS = ("app_name", "user_id", "id")
_EVENT_KEYS = ("app_name", "user_id", "session_id")
_KEYS_OF_STATES: Mapping[str, Sequence[str]] = {"app": ("app_name",), "user": ("app_name", "user_id")}


class Database(NamedTuple):
    """How the tables of a database are read.

    Attributes:
        tables: Table -> its columns.
        rows: Yields the rows that a statement selects.
        place: Column that holds the place of a row in its table; orders rows of one time.
    """

    tables: Mapping[str, Sequence[str]]
    rows: Callable[[str], Iterator[JsonObject]]
    place: str


def listed_tables(columns: Iterable[Sequence[str]]) -> dict[str, list[str]]:
    """Returns the columns of each table, of pairs of a table and a column."""
    tables: dict[str, list[str]] = {}
    for table, column in columns:
        tables.setdefault(table, []).append(column)
    return tables


SessionReader: TypeAlias = Callable[[Database], Iterator[JsonObject]]


def session_reader(database: Database) -> SessionReader:
    """Returns the function that yields the sessions of a database as records, one at a time.

    The column `actions` of older databases holds pickled objects; it is never selected.

    Raises:
        ValueError: It holds no sessions.
    """
    if {"sessions", "events"} <= set(database.tables):
        if {"session_id", "timestamp"} <= set(database.tables["events"]):
            return _adk_records
        shown = ", ".join(database.tables["events"][:8])
        raise ValueError(f"the database holds a table of events of another form (columns: {shown})")
    if _AGENTS in database.tables:
        return _agents_records
    shown = ", ".join(sorted(database.tables)[:8]) or "none"
    said = "the database is without sessions of google-adk or the OpenAI Agents SDK"
    raise ValueError(f"{said} (tables: {shown}); a store is named by its URL in --eval_cases")


def _adk_records(database: Database) -> Iterator[JsonObject]:
    """Yields sessions with their events; both are read in one order, so that memory stays flat."""
    is_pickled = "actions" in database.tables["events"]
    groups = groupby(database.rows(_events(database)), lambda row: _key(row, _EVENT_KEYS))
    key, events = next(groups, (None, None))
    for session in database.rows(_sessions(database)):
        own: list[JsonObject] = []
        if events is not None and key == _key(session, _SESSION_KEYS):
            own = list(events)
            key, events = next(groups, (None, None))
        yield session_record(session, own, is_pickled)


def _key(row: JsonObject, names: Sequence[str]) -> tuple[JsonValue, ...]:
    return tuple(row.get(name) for name in names)


def _sessions(database: Database) -> str:
    joins, chosen = "", _columns(database, "sessions", "s")
    for kind, keys in _KEYS_OF_STATES.items():
        if f"{kind}_states" in database.tables:
            equal = " AND ".join(f"{kind}s.{key} = s.{key}" for key in keys)
            joins += f" LEFT JOIN {kind}_states AS {kind}s ON {equal}"
            chosen += f", {kind}s.state AS {kind}_state"
    return f"SELECT {chosen} FROM sessions AS s{joins} ORDER BY s.app_name, s.user_id, s.id"


def _events(database: Database) -> str:
    pairs = zip(_SESSION_KEYS, _EVENT_KEYS, strict=True)
    equal = " AND ".join(f"s.{of_session} = e.{of_event}" for of_session, of_event in pairs)
    order = f"s.app_name, s.user_id, s.id, e.timestamp, e.{database.place}"
    chosen = _columns(database, "events", "e")
    return f"SELECT {chosen} FROM events AS e JOIN sessions AS s ON {equal} ORDER BY {order}"


def _columns(database: Database, table: str, alias: str) -> str:
    names = [name for name in database.tables[table] if name not in _NEVER_READ]
    return ", ".join(f'{alias}."{name}"' for name in names)


def _agents_records(database: Database) -> Iterator[JsonObject]:
    """Yields the items of each session; those of the newest branch, if the SDK divided them into branches."""
    place = "id" if "id" in database.tables[_AGENTS] else database.place
    branches = {"message_id", "branch_id", "id"} <= set(database.tables.get(_BRANCHES, ()))
    chosen = f"SELECT m.session_id, m.message_data, m.{place} AS place"
    source = f"FROM {_AGENTS} AS m"
    if branches:
        chosen += ", b.branch_id, b.id AS branch_place"
        source += f" LEFT JOIN {_BRANCHES} AS b ON b.message_id = m.{place}"
    rows = database.rows(f"{chosen} {source} ORDER BY m.session_id, m.{place}")
    for name, of_session in groupby(rows, lambda row: row.get("session_id")):
        yield {"conversation_id": str(name), **_items(list(of_session))}


def _items(rows: Sequence[JsonObject]) -> JsonObject:
    newest = max(rows, key=lambda row: row.get("branch_place") or 0).get("branch_id")
    kept = [row for row in rows if row.get("branch_id") in (None, newest)]
    places = {row["place"] for row in kept}
    left = {row["place"]: row for row in rows if row["place"] not in places}
    found: JsonObject = {"input": [_item(row.get("message_data")) for row in kept]}
    if left:
        found[OTHER_BRANCHES] = [_item(row.get("message_data")) for row in left.values()]
    return found


def _item(text: JsonValue) -> JsonValue:
    try:
        return loads(text)
    except (TypeError, ValueError):
        return text
