"""Messages of LangChain and states of LangGraph, as `dumpd`, `messages_to_dict` or `model_dump` spell."""

from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.chat.message import call_results, message_calls
from turnwise.transforms.formats.messages.blocks import is_block, read_block, result_value
from turnwise.transforms.formats.messages.dialogue import Dialogue
from turnwise.transforms.formats.messages.langchain_kwargs import add_usage, finish_reason, refusal_of
from turnwise.transforms.formats.messages.langchain_types import (
    ROLES,
    joined_chunks,
    kept_messages,
    plain_type,
    role_of,
    unwrapped,
)
from turnwise.transforms.formats.messages.messages_base import Dialect, register_dialect
from turnwise.transforms.formats.messages.values import (
    key_set,
    kind_of,
    listed,
    objects,
    text_at,
)
from turnwise.transforms.formats.own_results import own_result
from turnwise.transforms.formats.spellings import failure_mark

_OWN = frozenset(("human", "ai", "remove"))
_CALLS = key_set("tool_use tool_call function_call input_json_delta tool_call_chunk invalid_tool_call")
_STEPLESS = key_set(
    "thinking redacted_thinking reasoning reasoning_content non_standard non_standard_annotation"
)
KEYS = key_set(
    "type role content id name tool_calls invalid_tool_calls tool_call_id status usage_metadata "
    "response_metadata additional_kwargs artifact example tool_call_chunks chunk_position"
)


def _fits(message: JsonObject) -> bool:
    if "lc" in message and "kwargs" in message:
        return True
    kind = message.get("type")
    if not isinstance(kind, str) or "role" in message:
        return False
    plain = plain_type(kind)
    if isinstance(message.get("data"), dict):
        return plain in ROLES or plain == "chat"
    return plain in _OWN or (plain in ("tool", "system", "function") and "content" in message)


def read_messages(messages: list[JsonValue], log: Dialogue) -> None:
    """Adds messages to a dialogue, in order, without those that later ones remove.

    Raises:
        ValueError: A value has the wrong type.
    """
    given = joined_chunks([unwrapped(each) for each in objects(messages, "messages")])
    for message in kept_messages(given, log):
        role = role_of(message)
        if role == "user":
            log.user(_words(message, log, False))
        elif role == "agent":
            _agent(message, log)
        elif role == "tool":
            value = result_value(message.get("content"), log)
            error = failure_mark(message)
            said = _text(value) if error is True else None
            log.result(value, message.get("tool_call_id"), message.get("name"), said or error)
        elif role != "system":
            log.unread.role(role)
        log.unread.keys(message, KEYS, role == "agent")


def _text(value: JsonValue) -> str | None:
    return value if isinstance(value, str) else None


def _words(message: JsonObject, log: Dialogue, by_agent: bool) -> str:
    """Returns the text of a message; blocks of calls are left to the message's `tool_calls`."""
    content = message.get("content")
    if isinstance(content, str) or content is None:
        return content or ""
    said: list[str] = []
    for part in listed(content, "content"):
        kind = kind_of(part) if isinstance(part, dict) else ""
        if isinstance(part, str):
            said.append(part)
        elif kind in ("text", "output_text", "refusal"):
            said.append(text_at(part, "refusal" if kind == "refusal" else "text"))
        elif isinstance(part, dict) and part.keys() == {"cachePoint"}:
            continue
        elif kind not in _STEPLESS and kind not in _CALLS and not is_block(part) and kind not in _SERVER:
            log.unread.part(kind, by_agent)
    return "".join(said)


_SERVER = ("server_tool_call", "server_tool_result")


def _agent(message: JsonObject, log: Dialogue) -> None:
    log.agent(_words(message, log, True) or refusal_of(message))
    calls = list(objects(message.get("tool_calls"), "tool_calls"))
    for call in calls:
        args = call.get("args", call.get("arguments"))
        log.call(call.get("name"), args, call.get("id"), own=own_result(call))
    bad = list(objects(message.get("invalid_tool_calls"), "invalid_tool_calls"))
    for call in bad:
        log.call(call.get("name"), call.get("args"), call.get("id"))
        log.unread.add(
            "InvalidCall", f"the arguments of a call could not be read: {str(call.get('error'))[:100]}"
        )
    content = message.get("content")
    blocks = [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    for block in blocks:
        _block(block, log, not calls and not bad)
    extra = message.get("additional_kwargs")
    if isinstance(extra, dict) and not calls and not bad and not any(kind_of(b) in _CALLS for b in blocks):
        for made, own in zip(message_calls(extra), call_results(extra), strict=True):
            log.call(made.name, made.args, made.id, own=own)
    add_usage(message, log)
    log.finish = finish_reason(message)
    log.said(message)


def _block(block: JsonObject, log: Dialogue, has_none: bool) -> None:
    """Adds the call or result of a block: a server's, or one that `tool_calls` does not repeat."""
    kind = kind_of(block)
    if kind == "server_tool_call":
        log.call(block.get("name"), block.get("args"), block.get("id"))
    elif kind == "server_tool_result":
        log.result(block.get("output"), block.get("tool_call_id"), error=failure_mark(block))
    elif is_block(block) and kind != "tool_use":
        read_block(block, log)
    elif kind in ("tool_use", "tool_call", "function_call") and has_none:
        args = next((block[key] for key in ("input", "args", "arguments") if key in block), None)
        log.call(block.get("name"), args, block.get("call_id") or block.get("id"))


LANGCHAIN = register_dialect(
    Dialect(
        name="langchain_messages",
        keys=(("channel_values", "channel_versions"),),
        help="messages of LangChain, states of LangGraph",
        fits=_fits,
        read=read_messages,
        keeps_state=True,
    )
)
