"""Amazon Bedrock's Converse API: blocks of one key, `toolUse` and `toolResult`."""

from turnwise.schemas.jsonio import JsonObject
from turnwise.transforms.formats.endings import length
from turnwise.transforms.formats.messages.dialogue import Dialogue
from turnwise.transforms.formats.messages.messages_base import Dialect, register_dialect
from turnwise.transforms.formats.messages.spellings import read_dialogue
from turnwise.transforms.formats.messages.streams import as_object, block_stream, objects_in

_EVENTS = ("messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop",
           "metadata")  # fmt: skip
_FLAT = frozenset(("contentBlockIndex", "stopReason"))
_NO_EVENT = frozenset(("output", "messages", "contents", "turns", "content", "parts"))
"""Keys of replies, of records and of messages, which may state a `stopReason`, too."""


def _is_event(value: JsonObject) -> bool:
    is_event = bool(value.keys() & {*_FLAT, *_EVENTS[:-1]}) or value.keys() >= {"usage", "metrics"}
    return is_event and _NO_EVENT.isdisjoint(value)


def _joined_events(events: list[JsonObject]) -> JsonObject:
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
    content: list[JsonObject] = []
    for block in block_stream(steps)["content"]:
        if isinstance(block.get("toolUse"), dict):
            content.append({"toolUse": {**block["toolUse"], "input": block.get("input", {})}})
        else:
            content.append({"text": block.get("text")} if "text" in block else {"reasoningContent": {}})
    return {**reply, "output": {"message": {"role": "assistant", "content": content}}}


def _fits(message: JsonObject) -> bool:
    return any(
        block.get("type") is None and not block.keys().isdisjoint(("toolUse", "toolResult"))
        for block in objects_in(message.get("content"))
    )


def _reply(reply: JsonObject, log: Dialogue) -> None:
    if (message := as_object(reply.get("output")).get("message")) is not None:
        read_dialogue([message], log)
    metrics = reply.get("metrics")
    log.usage(reply.get("usage"))
    if isinstance(metrics, dict) and log.turns:
        log.turn.model_ms = length(metrics.get("latencyMs"))
    log.finish = reply.get("stopReason")


# For example {"role": "user", "content": [{"toolResult": {"toolUseId": "1", "content": [{"text": "Bonn"}]}}]}
register_dialect(
    Dialect(
        name="bedrock_converse",
        keys=(("messages", "modelId", "inferenceConfig"), ("output", "stopReason", "usage")),
        help="messages, requests and replies of Amazon Bedrock's Converse API",
        fits=_fits,
        read=read_dialogue,
        reply=_reply,
        is_reply=lambda value: "stopReason" in value and isinstance(value.get("output"), dict),
        join=_joined_events,
        is_event=_is_event,
    )
)
