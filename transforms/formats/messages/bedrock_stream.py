"""Streams of Amazon Bedrock's Converse API."""

from turnwise.schemas.jsonio import JsonObject
from turnwise.transforms.formats.messages.streams import block_stream
from turnwise.transforms.formats.messages.values import as_object

_EVENTS = (
    "messageStart",
    "contentBlockStart",
    "contentBlockDelta",
    "contentBlockStop",
    "messageStop",
    "metadata",
)
_FLAT = frozenset(("contentBlockIndex", "stopReason", "metrics"))
_NO_EVENT = frozenset(("output", "messages", "contents", "turns", "content", "parts"))
"""Keys of replies, of records and of messages, which may state a `stopReason`, too."""


def is_event(value: JsonObject) -> bool:
    """Returns whether an object is an event, under its name or as its payload alone."""
    return bool(value.keys() & {*_FLAT, *_EVENTS[:-1]}) and _NO_EVENT.isdisjoint(value)


def joined_events(events: list[JsonObject]) -> JsonObject:
    """Returns the reply that events make, each under its name or as its payload alone."""
    reply: JsonObject = {"stopReason": None}
    steps: list[JsonObject] = []
    for event in events:
        inner = next((event[name] for name in _EVENTS if isinstance(event.get(name), dict)), event)
        place, start, delta = (inner.get(key) for key in ("contentBlockIndex", "start", "delta"))
        if isinstance(start, dict):
            steps.append({"type": "content_block_start", "index": place, "content_block": dict(start)})
        elif isinstance(delta, dict):
            spelt = as_object(delta.get("toolUse"))
            piece = {"text": delta.get("text"), "partial_json": spelt.get("input")}
            steps.append({"type": "content_block_delta", "index": place, "delta": piece})
        reply |= {key: inner[key] for key in ("stopReason", "usage", "metrics") if key in inner}
    content = [_block(block) for block in block_stream(steps)["content"]]
    return {**reply, "output": {"message": {"role": "assistant", "content": content}}}


def _block(block: JsonObject) -> JsonObject:
    if isinstance(block.get("toolUse"), dict):
        return {"toolUse": {**block["toolUse"], "input": block.get("input", {})}}
    return {"text": block.get("text")} if "text" in block else {"reasoningContent": {}}
