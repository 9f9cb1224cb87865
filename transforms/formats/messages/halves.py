"""The two halves of a request with its reply, and their dialect."""

from itertools import islice

from turnwise.schemas.jsonio import JsonObject, JsonValue, json_structure
from turnwise.transforms.formats.messages.messages_base import DIALECTS, dialects_of
from turnwise.transforms.formats.messages.streams import events_of

_TRIED = 50


def _body(half: JsonValue) -> JsonValue:
    """Returns the body of a half: inside `body`, or of its JSON text."""
    inner = half.get("body") if isinstance(half, dict) else None
    value = half if inner is None else inner
    found = json_structure(value) if isinstance(value, str) else None
    return value if found is None else found


def dialects_of_halves(request: JsonObject, reply: JsonValue, events: list[JsonObject]) -> set[str]:
    """Returns the dialects whose keys either half has."""
    found = set(dialects_of(request))
    first = list(islice(events, _TRIED))
    for dialect in DIALECTS.values():
        if dialect.is_reply(reply) if isinstance(reply, dict) else any(map(dialect.is_event, first)):
            found.add(dialect.name)
    return found


def halves(value: JsonObject) -> tuple[JsonObject, JsonValue, list[JsonObject]]:
    """Returns a record's request, its reply, and the events of the reply if it is a stream."""
    request, reply = _body(value.get("request")), _body(value.get("response"))
    return request if isinstance(request, dict) else {}, reply, events_of(reply)
