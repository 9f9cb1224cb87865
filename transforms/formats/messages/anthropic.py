"""Anthropic's Messages API: `tool_use` and `tool_result` blocks, and tools that run on its servers."""

import re

from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.endings import VALUES, failure_mark, own_result
from turnwise.transforms.formats.messages import kinds
from turnwise.transforms.formats.messages.dialogue import Dialogue
from turnwise.transforms.formats.messages.messages_base import MISSING_HISTORY, Dialect, register_dialect
from turnwise.transforms.formats.messages.streams import (
    block_stream,
    decoded,
    joined_texts,
    key_set,
    kind_of,
    objects,
    objects_in,
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
_CALLS = kinds.part_types(kinds.ANTHROPIC_PARTS, kinds.CALL, kinds.HOSTED)


def _fits(message: JsonObject) -> bool:
    # Azure's results stand under the key `tool_result`.
    parts = [part for part in objects_in(message.get("content")) if "tool_result" not in part]
    return "role" in message and any(map(is_block, parts))


def read_messages(messages: list[JsonValue], log: Dialogue) -> None:
    """Adds messages to a dialogue, in order; raises ValueError for a value of the wrong type."""
    for message in objects(messages, "messages"):
        role, content = kinds.role_of(message.get("role")), message.get("content")
        if role == kinds.SYSTEM:
            continue
        if role == kinds.USER:
            read_user(as_blocks(content), log, message.get("timestamp"))
        elif role == kinds.AGENT:
            read_agent(as_blocks(content), log)
            log.said(message)
        else:
            log.unread.role(message.get("role"))
        log.unread.keys(message, KEYS, role != kinds.USER)


def read_user(blocks: list[JsonObject], log: Dialogue, timestamp: JsonValue = None) -> None:
    """Adds a user's message: results, and then a turn if it holds anything else.

    Raises:
        ValueError: A value has the wrong type.
    """
    results = [block for block in blocks if is_block(block)]
    others = [block for block in blocks if not is_block(block)]
    if results:
        # Notes of Claude Code to the model follow results.
        others = [block for block in others if not _REMINDER.fullmatch(str(block.get("text")))]
    for block in results:
        read_block(block, log)
    texts = [text_at(block, "text") for block in others if kind_of(block) == "text"]
    if others or not results:
        log.user(joined_texts(texts), timestamp)
    for block in others:
        if kind_of(block) != "text":
            log.unread.part(kind_of(block), by_agent=False)


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
        elif kinds.part_kind(kind) == kinds.THOUGHT:
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
    log.usage(reply.get("usage"), reply.get("model"))
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
    error = failure_mark(block)
    if not error and isinstance(content, dict):
        # The content of a server's result may state an error of its own.
        is_error = str(content.get("type")).endswith("_error")
        error = content.get("error_code") or True if is_error else content.get("return_code") not in (None, 0)
    log.result(result_value(content, log), block.get("tool_use_id"), error=error or None)


def result_value(content: JsonValue, log: Dialogue) -> JsonValue:
    """Returns what a result holds: the text of its text parts, decoded, or the content as it is."""
    if not isinstance(content, list):
        return decoded(content)
    parts = objects_in(content)
    texts = [part for part in parts if part.get("type") == "text"]
    if not texts and content:
        return content
    for part in parts:
        if part.get("type") != "text":
            log.unread.part(str(part.get("type")), by_agent=False)
    return decoded(joined_texts([text_at(part, "text") for part in texts]))
