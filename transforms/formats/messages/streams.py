"""Events of a streamed reply, and the blocks that they make."""

import json
import re

from pydantic_core import from_json

from turnwise.schemas.jsonio import JsonObject, JsonValue, json_structure
from turnwise.transforms.formats.messages.values import as_object

_DATA = re.compile(r"^data:[ ]?(.*)$", re.MULTILINE)
_DECODER = json.JSONDecoder()


def events_of(text: JsonValue) -> list[JsonObject]:
    """Returns the events of a streamed reply.

    Args:
        text: Server-sent events, JSON Lines, JSON objects that follow each other, AWS's binary event stream
            as text, or a list of objects.

    Returns:
        The objects; empty: it is no such text.
    """
    if isinstance(text, list):
        return [event for event in text if isinstance(event, dict)]
    if not isinstance(text, str):
        return []
    if "event-type" in text:
        found = [_object_at(text, match.end()) for match in re.finditer(r"event(?=\{)", text)]
        return [event for event in found if event is not None]
    lines = _DATA.findall(text)
    if lines:
        parsed = [json_structure(line) for line in lines]
        return [event for event in parsed if isinstance(event, dict)]
    return run_together(text)


def _object_at(text: str, place: int) -> JsonObject | None:
    try:
        found, _ = _DECODER.raw_decode(text, place)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def run_together(text: str) -> list[JsonObject]:
    """Returns JSON objects that follow each other in a text; empty: it holds anything else."""
    found: list[JsonObject] = []
    place, end = 0, len(text)
    while place < end:
        if text[place].isspace():
            place += 1
            continue
        try:
            value, place = _DECODER.raw_decode(text, place)
        except (ValueError, RecursionError):
            return []
        if not isinstance(value, dict):
            return []
        found.append(value)
    return found


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
            _add(blocks.setdefault(event.get("index"), {"type": "text"}), event["delta"])
        elif kind == "message_delta":
            is_ended = True
            message |= as_object(event.get("delta"))
            message["usage"] = {**as_object(message.get("usage")), **as_object(event.get("usage"))}
    if not is_ended:
        # What the first event states is provisional.
        message["usage"] = {k: v for k, v in as_object(message.get("usage")).items() if k != "output_tokens"}
    message["content"] = [_whole(block) for block in blocks.values()]
    return message


def _add(block: JsonObject, delta: JsonObject) -> None:
    """Adds a piece to a block, under the key of its text."""
    for key in ("text", "thinking", "partial_json"):
        if isinstance(delta.get(key), str):
            block[key] = (block.get(key) or "") + delta[key]


def _whole(block: JsonObject) -> JsonObject:
    spelt = block.pop("partial_json", None)
    if spelt:
        try:
            block["input"] = from_json(spelt)
        except ValueError:
            block["input"] = spelt
    return block
