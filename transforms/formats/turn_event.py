"""turnwise's own events: one turn of a conversation, or something about it, a record."""

from collections.abc import Sequence
from math import inf
from typing import Annotated

import msgspec
from msgspec import Meta

from turnwise.schemas.conversation import Conversation
from turnwise.schemas.jsonio import dump_json
from turnwise.schemas.values import JsonObject, JsonValue
from turnwise.transforms.formats.endings import DETAIL, ENDED, TERMINATIONS
from turnwise.transforms.formats.spellings import as_text
from turnwise.transforms.formats.turnwise import read_recording
from turnwise.transforms.text.times import moment, rfc3339, value_time

_Index = Annotated[int, Meta(ge=0)]
_MERGED = ("state", "labels", "meta")
_ENDS = (ENDED, *TERMINATIONS)
_NAMES = ("app_version", "language", "eval_id", "eval_set_id", "source", "start_time")
_SET = (*_NAMES, "tags", "expected", DETAIL, *_ENDS)
_OWN = frozenset(("event_id", "event_time", "turn_index", "turn", "end", *Conversation.__struct_fields__))


def place(value: JsonObject) -> tuple[str, int]:
    """Returns conversation id and 0-based turn index (-1: unknown) of an event.

    Raises:
        ValueError: It names no conversation, or its turn is none.
    """
    conversation_id = as_text(value.get("conversation_id"))
    if not conversation_id:
        raise ValueError("an event needs a conversation_id")
    turn = value.get("turn")
    if not isinstance(turn, dict | None):
        raise ValueError(f"turn: a JSON object is needed, not {type(turn).__name__}")
    return conversation_id, _turn_index(value)


def _turn_index(value: JsonObject) -> int:
    turn = value.get("turn") or {}
    index = value.get("turn_index", turn.get("turn_index"))
    if index is None:
        return -1
    try:
        return msgspec.convert(index, _Index, strict=False)
    except msgspec.ValidationError as error:
        raise ValueError(f"turn_index: {error}") from None


def is_end(value: JsonObject) -> bool:
    """Tells whether an event says that its conversation ended, or how."""
    return value.get("end") is True or any(value.get(name) for name in _ENDS)


def joined_conversation(conversation_id: str, events: Sequence[JsonObject]) -> Conversation:
    """Joins the events of one conversation.

    Of two events of one turn, and of two that set one field, the later one counts, by event time and then by
    the order given; `state`, `labels` and `meta` are merged key by key. Turns without an index come first.
    Unknown keys are treated as those of a conversation.

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
            if index < 0:
                unnumbered.append(turn)
            else:
                numbered[index] = turn
    fields.setdefault("start_time", _first_time(later))
    turns = [*unnumbered, *(numbered[index] for index in sorted(numbered))]
    return read_recording(dump_json({**fields, "conversation_id": conversation_id, "turns": turns}))


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
    if turn.get("timestamp") is None and moment(event_time) is not None:
        return {**turn, "timestamp": event_time}
    return turn


def _first_time(events: Sequence[JsonObject]) -> str | None:
    stated = (event["event_time"] for event in events if moment(event.get("event_time")) is not None)
    first = next(stated, None)
    return None if first is None else rfc3339(first)
