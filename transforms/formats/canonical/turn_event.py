"""turnwise's own events: one turn of a conversation, or something about it, a record."""

from collections.abc import Container, Iterator, Sequence
from math import inf
from typing import Annotated

import msgspec
from msgspec import Meta

from turnwise.schemas.conversation import Conversation
from turnwise.schemas.jsonio import JsonObject, JsonValue, dump_json
from turnwise.transforms.formats.canonical import read_recording
from turnwise.transforms.formats.endings import DETAIL, ENDED, TERMINATIONS
from turnwise.transforms.formats.spellings import as_text
from turnwise.transforms.formats.unread import MISSING, gaps
from turnwise.transforms.text.dates import rfc3339, time_seconds, value_time

_Index = Annotated[int, Meta(ge=0, le=2**31 - 1)]
_UNKNOWN = -1
_MERGED = ("state", "labels", "meta")
_ENDS = (ENDED, *TERMINATIONS)
_NAMES = ("app_version", "language", "eval_id", "eval_set_id", "source", "start_time", "user_id")
_SET = (*_NAMES, "tags", "expected", DETAIL, *_ENDS)
_OWN = frozenset(("event_id", "event_time", "turn_index", "turn", "end", *Conversation.__struct_fields__))


def place(value: JsonObject) -> tuple[str, int]:
    """Returns conversation id and 0-based turn index (-1: unknown) of an event.

    Raises:
        ValueError: It names no conversation.
    """
    conversation_id = as_text(value.get("conversation_id"))
    if not conversation_id:
        raise ValueError("an event needs a conversation_id")
    return conversation_id, _turn_index(value)


def _turn_index(value: JsonObject) -> int:
    index = _stated_index(value)
    try:
        return _UNKNOWN if index is None else msgspec.convert(index, _Index, strict=False)
    except msgspec.ValidationError:
        return _UNKNOWN


def _stated_index(value: JsonObject) -> JsonValue:
    turn = value.get("turn")
    return value.get("turn_index", turn.get("turn_index") if isinstance(turn, dict) else None)


def _faults(events: Sequence[JsonObject], known: Container[int]) -> Iterator[str]:
    """Yields problems of events: an invalid turn, an invalid index, or an index without its turn."""
    for event in events:
        turn, stated, index = event.get("turn"), _stated_index(event), _turn_index(event)
        if not isinstance(turn, dict | None):
            yield f"turn: a JSON object is needed, not {type(turn).__name__}"
        elif stated is not None and index == _UNKNOWN:
            yield f"turn_index: {str(stated)[:60]!r} is no number of a turn; what it says of one comes first"
        elif turn is None and index != _UNKNOWN and index not in known:
            yield f"an event names turn {index}, and none holds it"


def is_end(value: JsonObject) -> bool:
    """Returns whether an event states the end of its conversation."""
    return value.get("end") is True or any(value.get(name) for name in _ENDS)


def joined_conversation(conversation_id: str, events: Sequence[JsonObject]) -> Conversation:
    """Joins the events of one conversation.

    Of two events of one turn, and of two that set one field, the later one counts, by event time and then by
    the order given; `state`, `labels` and `meta` are merged key by key. Turns without an index come first.
    Unknown keys are treated as those of a conversation. A turn that is named and not there is a finding.

    Raises:
        ValueError: They make no conversation; one line.
    """
    numbered: dict[int, JsonObject] = {}
    unnumbered: list[JsonObject] = []
    fields: JsonObject = {}
    later = sorted(events, key=_time)
    for event in later:
        _set_fields(fields, event)
        turn = event.get("turn")
        if isinstance(turn, dict):
            turn, index = _timed(turn, event.get("event_time")), _turn_index(event)
            if index == _UNKNOWN:
                unnumbered.append({**turn, "turn_index": None})
            else:
                numbered[index] = {**turn, "turn_index": index}
    fields.setdefault("start_time", _first_time(later))
    turns = [*unnumbered, *(numbered[index] for index in sorted(numbered))]
    faults = list(_faults(later, numbered))
    if faults and not turns:
        raise ValueError(faults[0])
    found = read_recording(dump_json({**fields, "conversation_id": conversation_id, "turns": turns}))
    gaps(MISSING, faults).add_to_all(found.turns)
    return found


def _time(event: JsonObject) -> float:
    time = value_time(event)
    return -inf if time is None else time


def _set_fields(fields: JsonObject, event: JsonObject) -> None:
    for name, item in event.items():
        if item is not None and (name in _SET or name not in _OWN):
            fields[name] = item
    for name in _MERGED:
        if isinstance(event.get(name), dict):
            fields[name] = {**fields.get(name, {}), **event[name]}


def _timed(turn: JsonObject, event_time: JsonValue) -> JsonObject:
    if turn.get("timestamp") is None and time_seconds(event_time) is not None:
        return {**turn, "timestamp": event_time}
    return turn


def _first_time(events: Sequence[JsonObject]) -> str | None:
    stated = (event["event_time"] for event in events if time_seconds(event.get("event_time")) is not None)
    first = next(stated, None)
    return None if first is None else rfc3339(first)
