"""Events of a streamed reply, and the blocks that they make."""

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress

from pydantic_core import from_json

from turnwise.schemas.jsonio import JsonObject, JsonValue, json_structure

_DATA = re.compile(r"^data:[ ]?(.*)$", re.MULTILINE)
_DECODER = json.JSONDecoder()


def events_of(text: JsonValue) -> list[JsonObject]:
    """Returns the events of a streamed reply; empty: it is none.

    It is server-sent events, JSON Lines, JSON objects that follow each other, AWS's binary event stream as
    text, or a list of objects.
    """
    if isinstance(text, list):
        return objects_in(text)
    if not isinstance(text, str):
        return []
    if "event-type" in text:
        return objects_in([_value_at(text, match.end())[0] for match in re.finditer(r"event(?=\{)", text)])
    if lines := _DATA.findall(text):
        return objects_in([json_structure(line) for line in lines])
    events: list[JsonObject] = []
    index, text = 0, text.rstrip()
    while index < len(text):
        if text[index].isspace():
            index += 1
            continue
        value, index = _value_at(text, index)
        if not isinstance(value, dict):
            return []
        events.append(value)
    return events


def _value_at(text: str, index: int) -> tuple[JsonValue, int]:
    """Returns the JSON value that begins at a place of a text, and where it ends; None: there is none."""
    try:
        return _DECODER.raw_decode(text, index)
    except (ValueError, RecursionError):
        return None, index


def block_stream(events: list[JsonObject]) -> JsonObject:
    """Returns the message that events of Anthropic's or Bedrock's streams make.

    Texts, thoughts and the JSON text of arguments come in pieces, by the index of their block.
    """
    message: JsonObject = {"type": "message", "role": "assistant", "stop_reason": None, "usage": {}}
    blocks: dict[JsonValue, JsonObject] = {}
    is_ended = False
    for event in events:
        kind = event.get("type")
        if kind == "error":
            return {"type": "error", "error": event.get("error") or "error"}
        if kind == "message_start" and isinstance(event.get("message"), dict):
            message |= event["message"]
        elif kind == "content_block_start" and isinstance(event.get("content_block"), dict):
            blocks[event.get("index")] = dict(event["content_block"])
        elif kind == "content_block_delta" and isinstance(event.get("delta"), dict):
            block, delta = blocks.setdefault(event.get("index"), {"type": "text"}), event["delta"]
            for key in ("text", "thinking", "partial_json"):
                if isinstance(delta.get(key), str):
                    block[key] = (block.get(key) or "") + delta[key]
        elif kind == "message_delta":
            is_ended = True
            message |= as_object(event.get("delta"))
            message["usage"] = {**as_object(message.get("usage")), **as_object(event.get("usage"))}
    if not is_ended:
        # What the first event states is provisional.
        message["usage"] = {k: v for k, v in as_object(message.get("usage")).items() if k != "output_tokens"}
    for block in blocks.values():
        if spelt := block.pop("partial_json", None):
            block["input"] = spelt
            with suppress(ValueError):
                block["input"] = from_json(spelt)
    message["content"] = list(blocks.values())
    return message


def listed(value: JsonValue, path: str) -> list[JsonValue]:
    """Returns a list; None counts as an empty one; raises ValueError for anything else."""
    if value is not None and not isinstance(value, list):
        raise ValueError(f"{path}: a JSON array is needed, not {type(value).__name__}")
    return value or []


def stated(value: JsonObject) -> JsonObject:
    """Returns an object without the keys that hold null, which dumps write for what is not there."""
    if None in value.values():
        return {key: item for key, item in value.items() if item is not None}
    return value


def without_nulls(value: JsonValue) -> JsonValue:
    """Returns a record, or a list of records, without the keys that hold null; deeper ones may be values."""
    if isinstance(value, dict):
        return stated(value)
    if isinstance(value, list):
        return [stated(item) if isinstance(item, dict) else item for item in value]
    return value


def objects(value: JsonValue, path: str) -> Iterator[JsonObject]:
    """Yields the objects of a list, without their keys that hold null; raises ValueError for others."""
    for index, item in enumerate(listed(value, path)):
        if not isinstance(item, dict):
            raise ValueError(f"{path}.{index}: a JSON object is needed, not {type(item).__name__}")
        yield stated(item)


def as_blocks(content: JsonValue) -> list[JsonObject]:
    """Returns the blocks of a content, which may be a text; raises ValueError for anything else."""
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return list(objects(blocks, "content"))


def objects_in(value: JsonValue) -> list[JsonObject]:
    """Returns the objects of a list, without what is none; an empty list in place of anything else."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def first_of(value: JsonObject, names: Iterable[str]) -> JsonValue:
    """Returns the first value of some keys that is not None."""
    for name in names:
        if (held := value.get(name)) is not None:
            return held
    return None


def text_at(holder: JsonObject, key: str) -> str:
    """Returns a text; a missing one is empty; raises ValueError for anything else."""
    value = holder.get(key)
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{key}: a text is needed, not {type(value).__name__}")
    return value or ""


def decoded(value: JsonValue) -> JsonValue:
    """Returns the object or array that a JSON text spells; any other value unchanged."""
    spelt = json_structure(value, allow_nan=False) if isinstance(value, str) else None
    return value if spelt is None else spelt


def key_set(text: str) -> frozenset[str]:
    """Returns the words of a text."""
    return frozenset(text.split())


def as_object(value: JsonValue) -> JsonObject:
    """Returns an object without its keys that hold null; an empty one in place of anything else."""
    return stated(value) if isinstance(value, dict) else {}


def kind_of(part: JsonObject) -> str:
    """Returns the type that a message or part names; "": it names none."""
    kind = part.get("type")
    return kind if isinstance(kind, str) else "" if kind is None else f"of the type {kind!r}"[:60]
