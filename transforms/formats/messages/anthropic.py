"""Anthropic's Messages API: `tool_use` and `tool_result` blocks, and tools that run on its servers."""

import re

from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.messages.blocks import CALLS, as_blocks, is_block, read_block, usage_of
from turnwise.transforms.formats.messages.dialogue import Dialogue
from turnwise.transforms.formats.messages.messages_base import MISSING_HISTORY, Dialect, register_dialect
from turnwise.transforms.formats.messages.streams import block_stream
from turnwise.transforms.formats.messages.values import (
    joined_texts,
    key_set,
    kind_of,
    objects,
    stated,
    text_at,
)
from turnwise.transforms.formats.own_results import VALUES

_STEPLESS = key_set(
    "thinking redacted_thinking compaction fallback tool_addition tool_removal mid_conv_system "
    "container_upload"
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


def _fits(message: JsonObject) -> bool:
    content = message.get("content")
    return "role" in message and isinstance(content, list) and any(map(is_block, content))


def read_messages(messages: list[JsonValue], log: Dialogue) -> None:
    """Adds messages to a dialogue, in order.

    Raises:
        ValueError: A value has the wrong type.
    """
    for message in objects(messages, "messages"):
        role, content = message.get("role"), message.get("content")
        if role in ("system", "developer"):
            continue
        if role == "user":
            read_user(as_blocks(content), log, message.get("timestamp"))
        elif role == "assistant":
            read_agent(as_blocks(content), log)
            log.said(message)
        else:
            log.unread.role(role)
        log.unread.keys(message, KEYS, role != "user")


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
        if kind_of(block) not in ("text", *_STEPLESS):
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
        elif kind in _STEPLESS:
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
        log.unread.keys(block, _CALL_KEYS if kind in CALLS else BLOCK_KEYS)
    log.agent(text)


def _reply(reply: JsonObject, log: Dialogue) -> None:
    if reply.get("type") == "error":
        log.failure = reply.get("error") or "error"
        return
    read_messages([{"role": "assistant", **stated(reply)}], log)
    log.usage(usage_of(reply.get("usage")))
    log.finish = reply.get("stop_reason")


ANTHROPIC = register_dialect(
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
