"""OpenAI's Chat Completions in requests and replies; lists of messages are read by `formats/chat`."""

from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.chat.message import (
    SKIPPED_ROLES,
    answer_value,
    by_user,
    call_results,
    is_answer,
    message_calls,
    unread_of,
    words,
)
from turnwise.transforms.formats.messages.dialogue import Dialogue
from turnwise.transforms.formats.messages.values import as_object, objects, stated
from turnwise.transforms.formats.spellings import failure_mark, usage_fields

_SAID, _AUDIO = ("content", "refusal"), "audio"


def read_messages(messages: list[JsonValue], log: Dialogue) -> None:
    """Adds messages to a dialogue; raises ValueError for a value of the wrong type."""
    for message in objects(messages, "messages"):
        if message.get("role") in SKIPPED_ROLES:
            continue
        if by_user(message):
            log.user(words(message), message.get("timestamp"))
        elif is_answer(message):
            name, call_id = message.get("name"), message.get("tool_call_id")
            log.result(answer_value(message), call_id, name, failure_mark(message))
        else:
            log.agent(words(message))
            for call, own in zip(message_calls(message), call_results(message), strict=True):
                log.call(call.name, call.args, call.id, own=own)
            log.said(message)
        unread_of(message, log.unread)


def read_reply(reply: JsonObject, log: Dialogue) -> None:
    """Adds a reply to a dialogue; raises ValueError for a value of the wrong type."""
    choices = list(objects(reply.get("choices"), "choices"))
    first = next((choice for choice in choices if choice.get("index") in (0, None)), None)
    message = first.get("message") if first else None
    log.alternatives(len(choices))
    if isinstance(message, dict):
        read_messages([{"role": "assistant", **stated(message)}], log)
    if isinstance(reply.get("usage"), dict):
        log.usage(usage_fields(reply["usage"]))
    log.finish = first.get("finish_reason") if first else None
    log.failure = reply.get("error")


def join_chunks(chunks: list[JsonObject]) -> JsonObject:
    """Returns the reply that chunks make: texts joined, calls joined by their index."""
    said: dict[str, str] = {}
    calls: list[JsonObject] = []
    reply: JsonObject = {"usage": None}
    finish: JsonValue = None
    for chunk in chunks:
        reply |= {key: chunk[key] for key in ("usage", "error") if chunk.get(key)}
        for choice in objects(chunk.get("choices"), "choices"):
            delta = choice.get("delta")
            if choice.get("index") not in (0, None) or not isinstance(delta, dict):
                continue
            finish = choice.get("finish_reason") or finish
            heard = as_object(delta.get(_AUDIO)).get("transcript")
            for key, text in (*((key, delta.get(key)) for key in _SAID), (_AUDIO, heard)):
                if isinstance(text, str):
                    said[key] = said.get(key, "") + text
            older = delta.get("function_call")
            pieces = [{"index": "function_call", "function": older}] if isinstance(older, dict) else []
            for piece in (*pieces, *objects(delta.get("tool_calls"), "tool_calls")):
                _add(_call_of(piece, calls), piece)
    spoken = {_AUDIO: {"transcript": said.pop(_AUDIO)}} if _AUDIO in said else {}
    message = {"role": "assistant", "content": None, "tool_calls": calls, **said, **spoken}
    return {**reply, "choices": [{"index": 0, "message": message, "finish_reason": finish}]}


def _call_of(piece: JsonObject, calls: list[JsonObject]) -> JsonObject:
    """Returns the call that a piece belongs to: the last of its index, unless it has another id."""
    index, call_id = piece.get("index"), piece.get("id")
    call = next((call for call in reversed(calls) if call["index"] == index), None)
    if call is None or (call_id and call.get("id") not in (None, call_id)):
        call = {"index": index}
        calls.append(call)
    return call


def _add(call: JsonObject, piece: JsonObject) -> None:
    """Adds a piece of a call: its id and name come once, its arguments in pieces."""
    call |= {key: piece[key] for key in ("id", "type") if piece.get(key)}
    given = piece.get("function")
    if isinstance(given, dict):
        function = call.setdefault("function", {"name": None, "arguments": ""})
        function["name"] = given.get("name") or function["name"]
        function["arguments"] += given.get("arguments") or ""
