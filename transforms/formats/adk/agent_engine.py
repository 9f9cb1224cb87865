"""Sessions of Vertex AI Agent Engine as its API lists them: sessions, pages of events, single events."""

import re
from collections.abc import Sequence

from turnwise.schemas.conversation import Conversation
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.adk_sessions import session_conversation
from turnwise.transforms.formats.messages.values import as_object, key_set, objects
from turnwise.transforms.formats.registry import EventReader, Format, register_format
from turnwise.transforms.formats.spellings import as_text, name_of
from turnwise.transforms.formats.unread import MISSING, gaps, snake
from turnwise.transforms.text.dates import time_seconds

_NAME = re.compile(r"reasoningEngines/[^/]+/sessions/([^/]+)(/events/[^/]+)?$")
_PAGE = ("sessionEvents", "session_events")
_NEXT = ("nextPageToken", "next_page_token")
_GOES_ON = "the list of events goes on on a page that is not there: later turns may be missing"
_METADATA = key_set(
    "partial turn_complete interrupted branch custom_metadata long_running_tool_ids grounding_metadata"
)


def _events(value: JsonObject) -> list[JsonObject]:
    """Returns the events that a record holds: a page of them, those of a session, or the record itself."""
    listed = next((value[key] for key in (*_PAGE, "events") if isinstance(value.get(key), list)), None)
    if listed is not None:
        return list(objects(listed, "events"))
    found = _NAME.search(name_of(value))
    return [value] if found and found[2] else []


def _fits(record: JsonObject) -> bool:
    if _NAME.search(name_of(record)):
        return True
    page: JsonValue = next((record[key] for key in _PAGE if isinstance(record.get(key), list)), [])
    return any(isinstance(event, dict) and _NAME.search(name_of(event)) for event in page)


def _place(value: JsonObject) -> tuple[str, int]:
    names = (name_of(each) for each in (value, *_events(value)))
    found = next((match for name in names if (match := _NAME.search(name))), None)
    if found is None:
        raise ValueError("no event names its session")
    return found[1], -1


def _join(session_id: str, values: Sequence[JsonObject]) -> Conversation:
    session: JsonObject = {"id": session_id, "state": {}, "events": []}
    events: dict[str, JsonObject] = {}
    for value in values:
        for key, own in (("sessionState", "state"), ("session_state", "state"), ("userId", "user_id")):
            if value.get(key) is not None:
                session[own] = value[key]
        for place, event in enumerate(_events(value)):
            events.setdefault(name_of(event) or f"{len(events)}:{place}", event)
    session["events"] = sorted(map(_event, events.values()), key=lambda each: each.get("timestamp") or 0.0)
    found = session_conversation(session)
    found.source = "agent_engine"
    pages = [value for value in values if any(isinstance(value.get(key), list) for key in _PAGE)]
    if pages and all(any(page.get(key) for key in _NEXT) for page in pages) and found.turns:
        gaps(MISSING, [_GOES_ON]).add_to(found.turns[-1])
    return found


def _event(value: JsonObject) -> JsonObject:
    """Returns an event as google-adk makes it of the API's: `rawEvent` first, the outer names above it."""
    outer = {snake(key): item for key, item in value.items() if item is not None}
    event: JsonObject = dict(as_object(outer.get("raw_event")))
    if not event:
        event = {key: outer[key] for key in ("content", "error_code", "error_message") if key in outer}
        event["actions"] = _actions(as_object(outer.get("actions")))
        about = {snake(key): item for key, item in as_object(outer.get("event_metadata")).items()}
        event |= {key: about[key] for key in _METADATA if about.get(key) is not None}
        custom = as_object(event.get("custom_metadata"))
        if isinstance(custom.get("_usage_metadata"), dict):
            event["usage_metadata"] = custom["_usage_metadata"]
        if isinstance(custom.get("_compaction"), dict):
            event["actions"]["compaction"] = custom["_compaction"]
    event["id"] = name_of(value).rpartition("/")[2] or as_text(event.get("id"))
    for key, names in (("author", ("author",)), ("invocation_id", ("invocation_id", "invocationId"))):
        if outer.get(key):
            event = {name: item for name, item in event.items() if name not in names}
            event[key] = outer[key]
    stamp = time_seconds(outer.get("timestamp"))
    return event if stamp is None else {**event, "timestamp": stamp}


def _actions(actions: JsonObject) -> JsonObject:
    found: dict[str, JsonValue] = {snake(key): item for key, item in actions.items() if item is not None}
    if "transfer_agent" in found:
        found["transfer_to_agent"] = found.pop("transfer_agent")
    return found


register_format(
    Format(
        name="agent_engine",
        help="sessions and events of Vertex AI Agent Engine, as its API lists them",
        keys=("sessionEvents",),
        rank=68,
        recognises=_fits,
        events=EventReader(place=_place, join=_join, own_id=lambda value: value.get("name")),
        has_rubrics=False,
    )
)
