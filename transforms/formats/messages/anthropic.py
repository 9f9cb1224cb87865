"""Anthropic's Messages API: `tool_use` and `tool_result` blocks, and tools that run on its servers."""

import re

from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.endings import VALUES, failure_mark, own_result
from turnwise.transforms.formats.messages.dialogue import Dialogue
from turnwise.transforms.formats.messages.kinds import (
    AGENT,
    ANTHROPIC_PARTS,
    CALL,
    HOSTED,
    SYSTEM,
    THOUGHT,
    USER,
    part_kind,
    part_types,
    role_of,
)
from turnwise.transforms.formats.messages.messages_base import MISSING_HISTORY, Dialect, register_dialect
from turnwise.transforms.formats.messages.streams import (
    block_stream,
    decoded,
    joined_texts,
    key_set,
    kind_of,
    objects,
    stated,
    text_at,
)

_REMINDER = re.compile(r"(?:\s*<(system-reminder)>(?:(?!</?\1>).)*</\1>)+\s*", re.DOTALL)
_COMPACTED = "a summary stands in place of the earlier messages"
KEYS = key_set(
    "role content id type model stop_reason stop_sequence usage container context_management name "
    "timestamp stop_details"
)
BLOCK_KEYS = key_set(
    "type text id name input tool_use_id content is_error caller source cache_control citations "
    "thinking signature data server_name title context"
)
_CALL_KEYS = BLOCK_KEYS | {*VALUES}
_CALLS = part_types(ANTHROPIC_PARTS, CALL, HOSTED)


def _fits(message: JsonObject) -> bool:
    content = message.get("content")
    return "role" in message and isinstance(content, list) and any(map(is_block, content))


def read_messages(messages: list[JsonValue], log: Dialogue) -> None:
    """Adds messages to a dialogue, in order; raises ValueError for a value of the wrong type."""
    for message in objects(messages, "messages"):
        role, content = role_of(message.get("role")), message.get("content")
        if role == SYSTEM:
            continue
        if role == USER:
            read_user(as_blocks(content), log, message.get("timestamp"))
        elif role == AGENT:
            read_agent(as_blocks(content), log)
            log.said(message)
        else:
            log.unread.role(message.get("role"))
        log.unread.keys(message, KEYS, role != USER)


def read_user(blocks: list[JsonObject], log: Dialogue, timestamp: JsonValue = None) -> None:
    """Adds a user's message: results, and then a turn if it holds anything else.

    Raises:
        ValueError: A value has the wrong type.
    """
    results = [block for block in blocks if is_block(block)]
    others = [block for block in blocks if not (is_block(block) or (results and _is_reminder(block)))]
    for block in results:
        read_block(block, log)
    texts = [text_at(block, "text") for block in others if kind_of(block) == "text"]
    if others or not results:
        log.user(joined_texts(texts), timestamp)
    for block in others:
        if kind_of(block) != "text":
            log.unread.part(kind_of(block), by_agent=False)


def _is_reminder(block: JsonObject) -> bool:
    """Returns whether a block is a note of Claude Code to the model, which follows results."""
    text = block.get("text")
    return isinstance(text, str) and bool(_REMINDER.fullmatch(text))


def read_agent(blocks: list[JsonObject], log: Dialogue) -> None:
    """Adds the agent's message; texts that follow each other are one, because citations divide a text.

    Raises:
        ValueError: A value has the wrong type.
    """
    text = ""
    for block in blocks:
        kind = kind_of(block)
        if kind == "text":
            text += text_at(block, "text")
        elif part_kind(kind) == THOUGHT:
            if kind == "compaction" and not log.steps:
                log.general.add(MISSING_HISTORY, _COMPACTED, calls=True, words=True)
            continue
        else:
            log.agent(text)
            text = ""
            if is_block(block):
                read_block(block, log)
            else:
                log.unread.part(kind)
        log.unread.keys(block, _CALL_KEYS if kind in _CALLS else BLOCK_KEYS)
    log.agent(text)


def _reply(reply: JsonObject, log: Dialogue) -> None:
    if reply.get("type") == "error":
        log.failure = reply.get("error") or "error"
        return
    read_messages([{"role": "assistant", **stated(reply)}], log)
    log.usage(usage_of(reply.get("usage")))
    log.finish = reply.get("stop_reason")


# For example {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "find", "input": {}}]}
register_dialect(
    Dialect(
        name="anthropic_messages",
        keys=(("messages", "max_tokens", "system"),),
        help="messages, requests and replies of Anthropic's Messages API",
        fits=_fits,
        read=read_messages,
        reply=_reply,
        is_reply=lambda value: value.get("type") == "message" and "stop_reason" in value,
        join=block_stream,
        is_event=lambda value: str(value.get("type")).startswith(("message_", "content_block_")),
    )
)


def as_blocks(content: JsonValue) -> list[JsonObject]:
    """Returns the blocks of a content, which may be a text; raises ValueError for anything else."""
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return list(objects(blocks, "content"))


def is_block(part: JsonValue) -> bool:
    """Returns whether a part of a content is a call or a result in Anthropic's form."""
    kind = part.get("type") if isinstance(part, dict) else None
    return isinstance(kind, str) and (kind in _CALLS or kind.endswith("tool_result"))


def read_block(block: JsonObject, log: Dialogue) -> None:
    """Adds a call or a result; raises ValueError for a value of the wrong type."""
    if block["type"] in _CALLS:
        server = block.get("server_name")
        path = f"{server}/{block.get('name')}" if server else ""
        log.call(block.get("name"), block.get("input"), block.get("id"), path, own_result(block))
        return
    content = block.get("content")
    error = failure_mark(block) or _error(content)
    log.result(result_value(content, log), block.get("tool_use_id"), error=error or None)


def _error(content: JsonValue) -> JsonValue:
    """Returns the error that the content of a server's result states."""
    if not isinstance(content, dict):
        return None
    if str(content.get("type")).endswith("_error"):
        return content.get("error_code") or True
    return content.get("return_code") not in (None, 0)


def result_value(content: JsonValue, log: Dialogue) -> JsonValue:
    """Returns what a result holds: the text of its text parts, decoded, or the content as it is."""
    if not isinstance(content, list):
        return decoded(content)
    texts = [part for part in content if isinstance(part, dict) and part.get("type") == "text"]
    if not texts and content:
        return content
    for part in content:
        if isinstance(part, dict) and part.get("type") != "text":
            log.unread.part(str(part.get("type")), by_agent=False)
    return decoded(joined_texts([text_at(part, "text") for part in texts]))


def usage_of(usage: JsonValue) -> JsonObject:
    """Returns token counts; those of cached input are input too."""
    if not isinstance(usage, dict):
        return {}
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    counts = [count for name in names if type(count := usage.get(name)) is int]
    return {
        "input_tokens": sum(counts) if counts else None,
        "output_tokens": usage.get("output_tokens"),
        "cached_tokens": usage.get("cache_read_input_tokens"),
    }
