"""Messages of LangChain and states of LangGraph, as `dumpd`, `messages_to_dict` or `model_dump` spell."""

from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.chat import call_results, message_calls
from turnwise.transforms.formats.endings import as_text, failure_mark, own_result, usage_fields
from turnwise.transforms.formats.messages.anthropic import is_block, read_block, result_value
from turnwise.transforms.formats.messages.dialogue import Dialogue
from turnwise.transforms.formats.messages.kinds import (
    AGENT,
    HOSTED,
    LANGCHAIN_PARTS,
    RESULT,
    SYSTEM,
    TEXT,
    TOOL,
    USER,
    part_types,
    role_of,
)
from turnwise.transforms.formats.messages.messages_base import Dialect, register_dialect
from turnwise.transforms.formats.messages.streams import (
    as_object,
    key_set,
    kind_of,
    listed,
    objects,
    stated,
    text_at,
)

_OWN = ("human", "ai", "remove")
_TEXTS = part_types(LANGCHAIN_PARTS, TEXT)
_CALLS = key_set("tool_use tool_call function_call input_json_delta tool_call_chunk invalid_tool_call")
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
    role = role_of(kind)
    if isinstance(message.get("data"), dict):
        return role is not None or kind.lower().startswith(("remove", "chat"))
    is_own = kind.lower().startswith(_OWN)
    return is_own or (role in (TOOL, SYSTEM) and "content" in message)


def read_messages(messages: list[JsonValue], log: Dialogue) -> None:
    """Adds messages to a dialogue, in order, without those that later ones remove.

    Raises:
        ValueError: A value has the wrong type.
    """
    given = joined_chunks([unwrapped(each) for each in objects(messages, "messages")])
    for message in kept_messages(given, log):
        role = _whose(message)
        if role == USER:
            log.user(_words(message, log, False))
        elif role == AGENT:
            _agent(message, log)
        elif role == TOOL:
            value = result_value(message.get("content"), log)
            error = failure_mark(message)
            said = value if error is True and isinstance(value, str) else None
            log.result(value, message.get("tool_call_id"), message.get("name"), said or error)
        elif role != SYSTEM:
            log.unread.role(role)
        log.unread.keys(message, KEYS, role == AGENT)


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
        elif kind in _TEXTS:
            said.append(text_at(part, "refusal" if kind == "refusal" else "text"))
        elif isinstance(part, dict) and part.keys() == {"cachePoint"}:
            continue
        elif kind not in _CALLS and not is_block(part) and kind not in _SERVER:
            log.unread.part(kind, by_agent)
    return "".join(said)


_SERVER = part_types(LANGCHAIN_PARTS, HOSTED, RESULT)


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


# What a LangChain message is, in each of its spellings.

_ALL = "__remove_all__"


def unwrapped(message: JsonObject) -> JsonObject:
    """Returns the fields of a message in any of the three spellings, with its type."""
    if isinstance(message.get("kwargs"), dict) and "lc" in message:
        names = message.get("id")
        name = str(names[-1]) if isinstance(names, list) and names else ""
        return {"type": name, **stated(message["kwargs"])}
    data = message.get("data")
    return {**data, "type": message.get("type")} if isinstance(data, dict) else message


def _whose(message: JsonObject) -> str:
    """Returns whose a message is: of a class's name, its type, or the role of a plain message."""
    kind = str(message.get("type") or "")
    if kind.lower() in ("remove", "removemessage"):
        return "remove"
    stated = str(message.get("role") or kind)
    return role_of(kind) or role_of(stated) or stated


def joined_chunks(messages: list[JsonObject]) -> list[JsonObject]:
    """Returns messages with the chunks of each streamed one joined: they follow each other, with one id."""
    found: list[JsonObject] = []
    for message in messages:
        last = found[-1] if found else {}
        if _is_chunk(message) and _is_chunk(last) and message.get("id") in (None, last.get("id")):
            found[-1] = _joined(last, message)
        else:
            found.append(message)
    return found


def _is_chunk(message: JsonObject) -> bool:
    return str(message.get("type")).lower() == "aimessagechunk"


def _joined(one: JsonObject, other: JsonObject) -> JsonObject:
    """Returns two chunks as one: texts and arguments continued, other keys of the later one."""
    pieces = [each for message in (one, other) for each in objects(message.get("tool_call_chunks"), "chunks")]
    stated = {key: value for key, value in other.items() if value not in (None, "", [], {})}
    content = [*_parts(one.get("content")), *_parts(other.get("content"))]
    return {**one, **stated, "content": content, "tool_call_chunks": pieces, "tool_calls": _calls(pieces)}


def _parts(content: JsonValue) -> list[JsonValue]:
    return content if isinstance(content, list) else [content] if content else []


def _calls(pieces: list[JsonObject]) -> list[JsonValue]:
    """Returns the calls whose names, ids and JSON texts come in pieces, by the index of each."""
    calls: dict[JsonValue, dict[str, str]] = {}
    for piece in pieces:
        call = calls.setdefault(piece.get("index"), {"name": "", "id": "", "args": ""})
        for key in call:
            call[key] += piece[key] if isinstance(piece.get(key), str) else ""
    return [dict(call) for call in calls.values()]


def kept_messages(messages: list[JsonObject], log: Dialogue) -> list[JsonObject]:
    """Returns the messages that no `remove` names, and says how many there are."""
    found: list[JsonObject] = []
    removed = 0
    for message in messages:
        if _whose(message) == "remove":
            before = len(found)
            found = [m for m in found if message.get("id") not in (_ALL, m.get("id"))]
            removed += before - len(found)
        else:
            found.append(message)
    if removed:
        log.general.add("UndoneTurns", f"{removed} messages were removed from the state", calls=True)
    return found


# What a LangChain message of a model holds beside its content: tokens, the finish reason, a refusal.

_REASONS = ("finish_reason", "stop_reason", "stopReason")


def refusal_of(message: JsonObject) -> str:
    """Returns a refusal or the transcript of speech, which integrations keep apart from an empty content."""
    extra = as_object(message.get("additional_kwargs"))
    return as_text(extra.get("refusal") or as_object(extra.get("audio")).get("transcript")) or ""


def add_usage(message: JsonObject, log: Dialogue) -> None:
    """Adds the tokens of a message, which older versions keep in the metadata of the response."""
    usage, about = as_object(message.get("usage_metadata")), as_object(message.get("response_metadata"))
    older = as_object(about.get("token_usage") or about.get("usage"))
    if not usage and older:
        log.usage(usage_fields(older))
        return
    log.usage(
        {
            **{name: usage.get(name) for name in ("input_tokens", "output_tokens")},
            "cached_tokens": as_object(usage.get("input_token_details")).get("cache_read"),
            "reasoning_tokens": as_object(usage.get("output_token_details")).get("reasoning"),
        }
    )


def finish_reason(message: JsonObject) -> str | None:
    """Returns why the model stopped."""
    about = as_object(message.get("response_metadata"))
    reason = next((about[key] for key in _REASONS if about.get(key)), None)
    return as_text(reason or as_object(about.get("incomplete_details")).get("reason"))
