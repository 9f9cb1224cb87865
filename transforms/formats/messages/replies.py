"""A model's reply without its request, whole or as the events of a stream."""

from itertools import islice

from turnwise.schemas.conversation import Conversation, Record
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.messages.dialogue import Dialogue
from turnwise.transforms.formats.messages.messages_base import (
    DIALECTS,
    MISSING_HISTORY,
    NO_REQUEST,
    Dialect,
    conversation,
    dialects_of,
)
from turnwise.transforms.formats.messages.streams import events_of
from turnwise.transforms.formats.registry import Format, ReadSettings, record_place, register_format

_TRIED = 50


def _is_event(value: JsonObject) -> bool:
    return sum(dialect.is_event(value) for dialect in DIALECTS.values()) == 1 and "request" not in value


def _is_reply(value: JsonObject) -> bool:
    dialects = dialects_of(value)
    is_plain = any(DIALECTS[name].is_plain for name in dialects)
    return (is_plain and len(dialects) == 1) or (not dialects and _is_event(value))


def _dialect(events: list[JsonObject]) -> Dialect:
    first = list(islice(events, _TRIED))
    found = [each for each in DIALECTS.values() if any(each.is_event(e) or each.is_reply(e) for e in first)]
    if len(found) != 1:
        raise ValueError("not the reply of a model, or one in several formats")
    return found[0]


def _read(value: JsonValue, record: Record, settings: ReadSettings) -> list[Conversation]:
    events = events_of(value if isinstance(value, list) else [value])
    dialect, log = _dialect(events), Dialogue()
    reply = events[0]
    is_stream = dialect.join is not None and dialect.is_event(reply)
    if dialect.join and is_stream:
        reply = dialect.join(events)
    if dialect.reply:
        dialect.reply(reply, log)
    if is_stream:
        log.check_end()
    log.general.add(MISSING_HISTORY, NO_REQUEST)
    return [conversation(dialect, log, reply, record_place(record))]


register_format(
    Format(
        name="model_reply",
        keys=("object", "created", "choices"),
        help="a model's reply without its request, whole or as the events of a stream",
        rank=135,
        recognises=_is_reply,
        read_log=_read,
        is_list=_is_event,
        is_lines=_is_event,
        has_rubrics=False,
    )
)
