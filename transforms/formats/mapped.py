"""Reads records of any form as conversations, by the mapping of the config."""

from collections.abc import Sequence
from decimal import Decimal, InvalidOperation

from turnwise.schemas.config import MappingConfig
from turnwise.schemas.conversation import Conversation, Record, ToolCall, ToolResponse, Turn
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.endings import UNKNOWN, End, stated_end
from turnwise.transforms.formats.messages.dialogue import Dialogue
from turnwise.transforms.formats.messages.messages_base import DIALECTS, dialects_of
from turnwise.transforms.formats.messages.values import objects
from turnwise.transforms.formats.own_results import add_own_results, own_result
from turnwise.transforms.formats.paths import MappedRecord
from turnwise.transforms.formats.problems import canonical
from turnwise.transforms.formats.registry import (
    EventReader,
    Format,
    ReadSettings,
    record_place,
    register_format,
)
from turnwise.transforms.formats.spellings import as_text, call_fields
from turnwise.transforms.formats.tool_declarations import declared_tools
from turnwise.transforms.formats.unread import UNREAD, Unread, check_calls

MAPPING = "mapping"
PART = "mapped_part"
"""Name of the format of a part of a conversation, and the key that holds it."""
_CALLS = ("tool_calls", "user_tool_calls")
_WHAT = "the mapping"
_LONGEST_PLACE = 200
_TEXTS = ("app_version", "eval_id", "eval_set_id", "start_time", "user_id")
_PLAIN = frozenset(("role", "content", "name", "id", "timestamp", "created_at"))
_NO_CALLS = "the mapping names no tool_calls; if the agent has no tools, state it: tool_calls: `[]`"


def part_of(mapping: MappingConfig, record: JsonObject) -> JsonObject:
    """Returns the part of a conversation that a record is, to be joined with the others.

    Raises:
        ValueError: It names no conversation, or holds nothing where the mapping points.
    """
    mapped = MappedRecord(record)
    name = as_text(mapped.at(mapping.conversation_id))
    if not name:
        raise ValueError(f"{_WHAT}: {mapping.conversation_id} finds no id of the conversation")
    kind = "turn" if mapping.turn else "message"
    held = mapped.at(mapping.turn or mapping.message)
    if not isinstance(held, dict):
        raise ValueError(f"{_WHAT}: {mapping.turn or mapping.message} finds no object in the record")
    part: JsonObject = {
        "conversation_id": name,
        kind: held,
        "order": mapped.at(mapping.order),
        "fields": mapped.fields(mapping),
        "states_calls": _states_calls(held, mapped),
        "unread": mapped.unread(mapping),
    }
    times = ("timestamp", "event_time", "time", "created_at", "start_time")
    return {PART: part, **{key: record[key] for key in times if key in record}}


def _states_calls(held: JsonValue, mapped: MappedRecord) -> bool:
    """Returns whether a turn or message can hold calls: it has a place for them, or is the record's own."""
    if not isinstance(held, dict):
        return False
    has_place = not held.keys() <= _PLAIN or isinstance(held.get("content"), list)
    return "tool_calls" in held or ("content" in held and (has_place or mapped.holds(held)))


def _place(value: JsonObject) -> tuple[str, int]:
    return str(value[PART]["conversation_id"]), -1


def _join(session_id: str, values: Sequence[JsonObject]) -> Conversation:
    parts = [value[PART] for value in values]
    orders = [part["order"] for part in parts]
    numbers = [number for order in orders if (number := _number(order)) is not None]
    if len(numbers) == len(parts):
        parts = [part for _, part in sorted(zip(numbers, parts, strict=True), key=lambda pair: pair[0])]
    elif all(isinstance(order, str) for order in orders):
        parts.sort(key=lambda part: part["order"])
    fields: JsonObject = {}
    for part in parts:
        fields |= part["fields"]
    read, key = (_of_turns, "turn") if "turn" in parts[0] else (_of_messages, "message")
    found = read([part.get(key) for part in parts], fields, session_id)
    unread = list(dict.fromkeys(place for part in parts for place in part["unread"]))
    return _with_gaps(found, any(part["states_calls"] for part in parts), unread)


def _number(order: JsonValue) -> Decimal | None:
    """Returns the number that a value is, or that its text states, as cells of a CSV file do."""
    try:
        number = Decimal(order) if isinstance(order, str | int | float) else None
    except InvalidOperation:
        return None
    return number if number is not None and number.is_finite() else None


def _read(value: JsonValue, record: Record, settings: ReadSettings) -> list[Conversation]:
    mapping = settings.mapping
    if mapping is None:
        raise ValueError("the config has no mapping")
    mapped = MappedRecord(value)
    name = as_text(mapped.at(mapping.conversation_id)) or record_place(record)
    path = mapping.turns or mapping.messages
    held = mapped.at(path)
    if not isinstance(held, list):
        raise ValueError(f"{_WHAT}: {path} finds no array in the record")
    read = _of_turns if mapping.turns else _of_messages
    found = read(held, mapped.fields(mapping), name)
    return [_with_gaps(found, any(_states_calls(each, mapped) for each in held), mapped.unread(mapping))]


def _with_gaps(found: Conversation, states_calls: bool, places: Sequence[str]) -> Conversation:
    """Returns a conversation with what the mapping leaves out of it.

    Args:
        found: The conversation.
        states_calls: Whether the mapping names calls.
        places: Where calls or words may stand that it does not name.
    """
    unread = Unread()
    for place in places:
        said = f"the mapping does not read {place[:_LONGEST_PLACE]!r}; it may hold calls or results"
        unread.add(UNREAD, said, calls=True)
    if not states_calls and not any(turn.tool_calls for turn in found.turns):
        unread.add(UNREAD, _NO_CALLS, calls=True)
    unread.add_to_all(found.turns)
    return found


def _of_turns(held: Sequence[JsonValue], fields: JsonObject, name: str) -> Conversation:
    turns = [_turn(turn, place) for place, turn in enumerate(objects(list(held), "turns"))]
    check_calls(turns)
    return _conversation(turns, fields, name, UNKNOWN)


def _turn(turn: JsonObject, place: int) -> Turn:
    given = {key: item for key, item in turn.items() if item is not None}
    if not given:
        raise ValueError(f"{_WHAT}: turns.{place}: nothing is found in it")
    for key in _CALLS:
        if key in given:
            calls = [call_fields(call) for call in objects(given[key], key)]
            given[key] = [canonical(ToolCall, call, _WHAT) for call in calls]
    if "tool_responses" in given:
        answers = objects(given["tool_responses"], "tool_responses")
        given["tool_responses"] = [canonical(ToolResponse, answer, _WHAT) for answer in answers]
    made, unread = canonical(Turn, {**given, "turn_index": place}, _WHAT), Unread()
    own, users = ([own_result(call) for call in turn.get(key) or ()] for key in _CALLS)
    add_own_results(made, own, users, unread)
    return unread.add_to(made)


def _of_messages(held: Sequence[JsonValue], fields: JsonObject, name: str) -> Conversation:
    messages = list(held)
    found = dialects_of({"messages": messages})
    if len(found) > 1:
        raise ValueError(f"{_WHAT}: messages in several formats: {', '.join(sorted(found))}")
    plain = next(each for each in DIALECTS.values() if each.is_plain)
    log = Dialogue()
    (DIALECTS[next(iter(found))] if found else plain).read(messages, log)
    end = log.end({})
    return _conversation(log.close(end), fields, name, end)


def _conversation(turns: list[Turn], fields: JsonObject, name: str, end: End) -> Conversation:
    own = stated_end(fields.get("ended"), fields.get("ended_detail"))
    tags = fields.get("tags")
    given = {
        **fields,
        **{key: as_text(fields.get(key)) for key in _TEXTS},
        "conversation_id": name,
        "source": MAPPING,
        "turns": turns,
        "tags": tags if isinstance(tags, list) else [] if tags is None else [as_text(tags)],
        "tools": declared_tools(fields.get("tools")),
        "ended": (own if own != UNKNOWN else end).ended,
        "ended_detail": (own if own != UNKNOWN else end).detail,
    }
    return canonical(Conversation, given, _WHAT)


register_format(
    Format(
        name=MAPPING,
        help="records of any form, by the mapping of the config",
        rank=200,
        recognises=lambda record: False,
        read_log=_read,
        may_be_part=True,
        has_rubrics=False,
    )
)
register_format(
    Format(
        name=PART,
        help="parts of conversations, by the mapping of the config",
        rank=190,
        recognises=lambda record: isinstance(record.get(PART), dict),
        events=EventReader(place=_place, join=_join),
        has_rubrics=False,
    )
)
