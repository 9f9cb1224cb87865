"""google-adk's events as they happen: bare ones that name their session, or in an envelope."""

from collections.abc import Sequence

from turnwise.schemas.conversation import Conversation
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.adk_sessions import session_conversation
from turnwise.transforms.formats.endings import DETAIL, ENDED, UNKNOWN, stated_end
from turnwise.transforms.formats.spellings import as_text
from turnwise.transforms.formats.unread import UNREAD, gaps

_TEMPORARY = "temp:"
_UNNUMBERED = -1


def place(value: JsonObject) -> tuple[str, int]:
    """Returns the session id of an event, and -1: turns are identified by invocation id.

    Raises:
        ValueError: It names no session.
    """
    session_id = as_text(_either(value, "session_id", "sessionId"))
    if not session_id:
        raise ValueError("an ADK event needs a session_id")
    return session_id, _UNNUMBERED


def is_end(value: JsonObject) -> bool:
    """Returns whether an envelope states the end of its session."""
    return value.get("end") is True or bool(value.get(ENDED))


def own_id(value: JsonObject) -> JsonValue:
    """Returns the event's own id, if it has one."""
    event = _event(value)
    return None if event is None else event.get("id")


def joined_conversation(session_id: str, values: Sequence[JsonObject]) -> Conversation:
    """Joins the events of a session, given in order, as if the session had been stored.

    Its state comes from the envelopes and the events' state deltas, without temporary keys. Its end is stated
    by the last envelope that has one, or else determined from the events.

    Raises:
        ValueError: They cannot be read even leniently; one line.
    """
    events = [event for value in values if (event := _event(value)) is not None]
    faults = [fault for value in values if (fault := _fault(value))]
    if faults and not events:
        raise ValueError(faults[0])
    conversation = session_conversation(
        {
            "id": session_id,
            "app_name": _last(values, "app_name", "appName"),
            "user_id": _last(values, "user_id", "userId"),
            "state": _state(values),
            "events": events,
        }
    )
    gaps(UNREAD, faults).add_to_all(conversation.turns)
    eval_id = as_text(_last(values, "eval_id", "evalId"))
    conversation.eval_id = eval_id or conversation.eval_id
    eval_set_id = as_text(_last(values, "eval_set_id", "evalSetId"))
    conversation.eval_set_id = eval_set_id or conversation.eval_set_id
    stated = stated_end(_last(values, ENDED, ENDED), _last(values, DETAIL, "endedDetail"))
    if stated != UNKNOWN:
        conversation.ended, conversation.ended_detail = stated
    return conversation


def _event(value: JsonObject) -> JsonObject | None:
    if "author" in value and not isinstance(value.get("event"), dict):
        return value
    event = value.get("event")
    return event if isinstance(event, dict) else None


def _fault(value: JsonObject) -> str | None:
    event = value.get("event")
    if "author" in value or isinstance(event, dict | None):
        return None
    return f"event: a JSON object is needed, not {type(event).__name__}"


def _state(values: Sequence[JsonObject]) -> JsonObject:
    state: JsonObject = {}
    for value in values:
        actions = (_event(value) or {}).get("actions")
        delta = _either(actions, "state_delta", "stateDelta") if isinstance(actions, dict) else None
        for change in (value.get("state"), delta):
            if isinstance(change, dict):
                state |= {key: item for key, item in change.items() if not key.startswith(_TEMPORARY)}
    return state


def _either(value: JsonObject, name: str, other: str) -> JsonValue:
    found = value.get(name)
    return value.get(other) if found is None else found


def _last(values: Sequence[JsonObject], name: str, other: str) -> JsonValue:
    stated = (found for value in reversed(values) if (found := _either(value, name, other)) is not None)
    return next(stated, None)
