"""Rows of google-adk's session databases, as the sessions that its API returns."""

from collections.abc import Sequence

from turnwise.schemas.jsonio import JsonObject, JsonValue, json_structure
from turnwise.transforms.text.dates import time_seconds

PICKLED = "pickled_actions"
"""Key of a session whose events' actions are pickled, so that they are not read."""
_OF_ROWS = frozenset(("app_name", "user_id", "session_id", "event_data", "long_running_tool_ids_json"))


def session_record(session: JsonObject, events: Sequence[JsonObject], is_pickled: bool) -> JsonObject:
    """Returns a session with its events.

    Args:
        session: Row of the table of sessions, with the states of its app (`app_state`) and user
            (`user_state`).
        events: Rows of the table of events, in order; without the column `actions`.
        is_pickled: Whether the actions of the events are pickled.
    """
    state: JsonObject = {}
    for kind in ("app", "user"):
        state |= {f"{kind}:{key}": item for key, item in _object(session.get(f"{kind}_state")).items()}
    return {
        "id": session.get("id"),
        "app_name": session.get("app_name"),
        "user_id": session.get("user_id"),
        "state": {**state, **_object(session.get("state"))},
        "events": [_event(row) for row in events],
        **({PICKLED: len(events)} if is_pickled else {}),
    }


def _object(value: JsonValue) -> JsonObject:
    found = json_structure(value) if isinstance(value, str) else value
    return found if isinstance(found, dict) else {}


def _event(row: JsonObject) -> JsonObject:
    """Returns an event: as its column of JSON holds it, or put together from the columns."""
    whole = _object(row.get("event_data"))
    if whole:
        own = {"id": row.get("id"), "invocation_id": row.get("invocation_id"), "timestamp": _time(row)}
        return {**{key: item for key, item in own.items() if item is not None}, **whole}
    given = {key: item for key, item in row.items() if key not in _OF_ROWS and item is not None}
    event: JsonObject = {key: _plain(item) for key, item in given.items()}
    event["timestamp"] = _time(row)
    for key in ("partial", "turn_complete", "interrupted"):
        if isinstance(event.get(key), int):
            event[key] = bool(event[key])
    tools = row.get("long_running_tool_ids_json")
    if isinstance(tools, str) and tools:
        event["long_running_tool_ids"] = json_structure(tools)
    return {key: item for key, item in event.items() if item is not None}


def _plain(value: JsonValue) -> JsonValue:
    found = json_structure(value) if isinstance(value, str) else None
    return value if found is None else found


def _time(row: JsonObject) -> float | None:
    """Returns the time of a row: seconds, or a text in UTC without its zone."""
    value = row.get("timestamp")
    return time_seconds(value.replace(" ", "T") if isinstance(value, str) else value)
