"""Reads records of any form as conversations, by the mapping of the config."""

from collections.abc import Sequence

from turnwise.schemas.conversation import Conversation, ToolCall, ToolResponse, Turn
from turnwise.schemas.mapping import MappingConfig
from turnwise.schemas.record import Record
from turnwise.schemas.values import JsonObject, JsonValue
from turnwise.transforms.formats.base import EventReader, Format, ReadSettings, record_place, register_format
from turnwise.transforms.formats.endings import UNKNOWN, End, stated_end
from turnwise.transforms.formats.mapped.paths import mapped_fields, unnamed_keys, value_at
from turnwise.transforms.formats.messages.base import DIALECTS, dialects_of
from turnwise.transforms.formats.messages.dialogue import Dialogue
from turnwise.transforms.formats.messages.values import objects
from turnwise.transforms.formats.problems import canonical
from turnwise.transforms.formats.spellings import as_text, call_fields
from turnwise.transforms.formats.tool_declarations import declared_tools
from turnwise.transforms.formats.unread import UNREAD, check_calls, gaps

MAPPING = "mapping"
PART = "mapped_part"
"""Name of the format of a part of a conversation, and the key that holds it."""
_WHAT = "the mapping"
_UNNAMED = (
    "the mapping names no tool_calls, and these keys may hold some: {}; name them, or state tool_calls: `[]`"
)


def part_of(mapping: MappingConfig, record: JsonObject) -> JsonObject:
    """Returns the part of a conversation that a record is, to be joined with the others.

    Raises:
        ValueError: It names no conversation, or holds nothing where the mapping points.
    """
    name = as_text(value_at(mapping.conversation_id, record))
    if not name:
        raise ValueError(f"{_WHAT}: {mapping.conversation_id} finds no id of the conversation")
    kind = "turn" if mapping.turn else "message"
    held = value_at(mapping.turn or mapping.message, record)
    if not isinstance(held, dict):
        raise ValueError(f"{_WHAT}: {mapping.turn or mapping.message} finds no object in the record")
    order = value_at(mapping.order, record)
    part = {"conversation_id": name, kind: held, "order": order, "fields": mapped_fields(mapping, record)}
    part["unnamed"] = unnamed_keys(mapping, record)
    times = ("timestamp", "event_time", "time", "created_at", "start_time")
    return {PART: part, **{key: record[key] for key in times if key in record}}


def _place(value: JsonObject) -> tuple[str, int]:
    return str(value[PART]["conversation_id"]), -1


def _join(session_id: str, values: Sequence[JsonObject]) -> Conversation:
    parts = [value[PART] for value in values]
    if all(isinstance(part["order"], int | float) for part in parts) or all(
        isinstance(part["order"], str) for part in parts
    ):
        parts.sort(key=lambda part: part["order"])
    fields: JsonObject = {}
    for part in parts:
        fields |= part["fields"]
    unnamed = [key for part in parts for key in part.get("unnamed") or ()]
    if "turn" in parts[0]:
        found = _of_turns([part.get("turn") for part in parts], fields, session_id)
    else:
        found = _of_messages([part.get("message") for part in parts], fields, session_id)
    return _with_unnamed(found, unnamed)


def _read(value: JsonValue, record: Record, settings: ReadSettings) -> list[Conversation]:
    mapping = settings.mapping
    if mapping is None:
        raise ValueError("the config has no mapping")
    name = as_text(value_at(mapping.conversation_id, value)) or record_place(record)
    path = mapping.turns or mapping.messages
    held = value_at(path, value)
    if not isinstance(held, list):
        raise ValueError(f"{_WHAT}: {path} finds no array in the record")
    fields = mapped_fields(mapping, value)
    found = _of_turns(held, fields, name) if mapping.turns else _of_messages(held, fields, name)
    return [_with_unnamed(found, unnamed_keys(mapping, value) if isinstance(value, dict) else [])]


def _with_unnamed(found: Conversation, keys: Sequence[str]) -> Conversation:
    """Returns a conversation with a finding for keys that may hold calls."""
    if keys:
        shown = ", ".join(repr(key[:60]) for key in dict.fromkeys(keys))
        gaps(UNREAD, [_UNNAMED.format(shown)], words=False).add_to_all(found.turns)
    return found


def _of_turns(held: Sequence[JsonValue], fields: JsonObject, name: str) -> Conversation:
    turns = [_turn(turn, place) for place, turn in enumerate(objects(list(held), "turns"))]
    check_calls(turns)
    return _conversation(turns, fields, name, UNKNOWN)


def _turn(turn: JsonObject, place: int) -> Turn:
    given = {key: item for key, item in turn.items() if item is not None}
    if not given:
        raise ValueError(f"{_WHAT}: turns.{place}: nothing is found in it")
    for key in ("tool_calls", "user_tool_calls"):
        if key in given:
            calls = [call_fields(call) for call in objects(given[key], key)]
            given[key] = [canonical(ToolCall, call, _WHAT) for call in calls]
    if "tool_responses" in given:
        answers = objects(given["tool_responses"], "tool_responses")
        given["tool_responses"] = [canonical(ToolResponse, answer, _WHAT) for answer in answers]
    return canonical(Turn, {**given, "turn_index": place}, _WHAT)


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
        **{key: as_text(fields.get(key)) for key in ("app_version", "eval_id", "eval_set_id", "start_time")},
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
