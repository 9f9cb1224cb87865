"""Amazon Bedrock's Converse API: blocks of one key, `toolUse` and `toolResult`."""

from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.endings import failure_mark, length, own_result
from turnwise.transforms.formats.messages.dialogue import Dialogue
from turnwise.transforms.formats.messages.kinds import (
    AGENT,
    BEDROCK_PARTS,
    SYSTEM,
    THOUGHT,
    USER,
    part_types,
    role_of,
)
from turnwise.transforms.formats.messages.messages_base import Dialect, register_dialect
from turnwise.transforms.formats.messages.streams import (
    as_object,
    block_stream,
    decoded,
    joined_texts,
    objects,
    text_at,
)

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
    content = [_block(block) for block in block_stream(steps)["content"]]
    return {**reply, "output": {"message": {"role": "assistant", "content": content}}}


def _block(block: JsonObject) -> JsonObject:
    if isinstance(block.get("toolUse"), dict):
        return {"toolUse": {**block["toolUse"], "input": block.get("input", {})}}
    return {"text": block.get("text")} if "text" in block else {"reasoningContent": {}}


_STEPLESS = frozenset(part_types(BEDROCK_PARTS, THOUGHT))
_KEYS = frozenset(("role", "content"))


def _fits(message: JsonObject) -> bool:
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    return any(
        isinstance(b, dict) and b.get("type") is None and b.keys() & {"toolUse", "toolResult"} for b in blocks
    )


def _read(messages: list[JsonValue], log: Dialogue) -> None:
    for message in objects(messages, "messages"):
        role, content = role_of(message.get("role")), message.get("content")
        blocks = (
            [{"text": content}]
            if isinstance(content, str)
            else [{k: v for k, v in block.items() if v is not None} for block in objects(content, "content")]
        )
        if role == SYSTEM:
            continue
        if role == USER:
            _read_user(blocks, log)
        elif role == AGENT:
            for block in blocks:
                _read_block(block, log, by_agent=True)
            log.said(message)
        else:
            log.unread.role(message.get("role"))
        log.unread.keys(message, _KEYS, role != USER)


def _read_user(blocks: list[JsonObject], log: Dialogue) -> None:
    """Adds a user's message: results, and then a turn if it says anything else."""
    results = [block for block in blocks if "toolResult" in block]
    others = [block for block in blocks if "toolResult" not in block]
    for block in results:
        _read_block(block, log, by_agent=False)
    if not results or any(not block.keys() <= _STEPLESS for block in others):
        log.user(joined_texts(list(map(block_text, others))))
        for block in others:
            if not block_text(block) and "text" not in block:
                _read_block(block, log, by_agent=False)


def block_text(block: JsonObject) -> str:
    """Returns the text of a block, also where it is marked for the guardrail, or has citations."""
    cited = as_object(block.get("citationsContent")).get("content")
    if isinstance(cited, list):
        return "".join(text_at(part, "text") for part in objects(cited, "citationsContent"))
    marked = as_object(as_object(block.get("guardContent")).get("text"))
    return text_at(marked or block, "text")


def _read_block(block: JsonObject, log: Dialogue, by_agent: bool) -> None:
    kind = next(iter(block), "an empty block")
    inner = block.get(kind)
    if block_text(block) or kind == "text":
        log.agent(block_text(block))
    elif kind == "toolUse" and isinstance(inner, dict):
        name, call_id = inner.get("name"), inner.get("toolUseId")
        log.call(name, inner.get("input"), call_id, own=own_result(inner))
    elif kind == "toolResult" and isinstance(inner, dict):
        value = _result(inner.get("content"), log)
        log.result(value, inner.get("toolUseId"), error=failure_mark(inner))
    elif kind == "guardContent":
        log.unread.part(next(iter(as_object(inner)), kind), by_agent)
    else:
        log.unread.part(kind, by_agent)


def _result(content: JsonValue, log: Dialogue) -> JsonValue:
    """Returns the value of a result: its JSON, or else its texts, decoded."""
    if not isinstance(content, list):
        return decoded(content)
    parts = list(objects(content, "toolResult.content"))
    values = [part["json"] for part in parts if "json" in part]
    texts = [text_at(part, "text") for part in parts if "text" in part]
    for part in parts:
        if not part.keys() & {"json", "text"}:
            log.unread.part(next(iter(part), "an empty part"), by_agent=False)
    if values and not texts:
        return values[0] if len(values) == 1 else values
    return decoded(joined_texts(texts)) if not values else [*values, *texts]


def _reply(reply: JsonObject, log: Dialogue) -> None:
    output = reply.get("output")
    message = output.get("message") if isinstance(output, dict) else None
    if message is not None:
        _read([message], log)
    usage, metrics = reply.get("usage"), reply.get("metrics")
    if isinstance(usage, dict):
        names = ("inputTokens", "cacheReadInputTokens", "cacheWriteInputTokens")
        counts = [count for name in names if type(count := usage.get(name)) is int]
        log.usage(
            {
                "input_tokens": sum(counts) if counts else None,
                "output_tokens": usage.get("outputTokens"),
                "cached_tokens": usage.get("cacheReadInputTokens"),
            }
        )
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
        read=_read,
        reply=_reply,
        is_reply=lambda value: "stopReason" in value and isinstance(value.get("output"), dict),
        join=_joined_events,
        is_event=is_event,
    )
)
