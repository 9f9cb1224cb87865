"""Messages of Vercel's AI SDK: UI messages (versions 4 and later) and model messages."""

from typing import NamedTuple

from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.endings import as_text, failure_mark
from turnwise.transforms.formats.fields import UNREAD
from turnwise.transforms.formats.messages import kinds
from turnwise.transforms.formats.messages.anthropic import as_blocks
from turnwise.transforms.formats.messages.dialogue import Dialogue
from turnwise.transforms.formats.messages.messages_base import Dialect, register_dialect
from turnwise.transforms.formats.messages.streams import (
    as_object,
    decoded,
    first_of,
    joined_texts,
    key_set,
    listed,
    objects,
    objects_in,
    text_at,
)

_OWN = ("tool-call", "tool-result", "tool-error", "tool-invocation", "dynamic-tool", "tool-approval-request")
_RESULTS = kinds.part_types(kinds.VERCEL_PARTS, kinds.RESULT)
_APPROVAL = "approvalId"
_ASKED, _REPLIED, _REFUSED = "tool-approval-request", "tool-approval-response", "approval refused"
_DONE = ("output-available", "result", "output-error", "output-denied")
KEYS = key_set(
    "id role parts content toolInvocations createdAt metadata annotations data providerOptions "
    "providerMetadata experimental_attachments reasoning revisionId"
)


def _parts(message: JsonObject) -> list[JsonObject]:
    return objects_in(message.get("parts") or message.get("content"))


def _fits(message: JsonObject) -> bool:
    if "role" not in message:
        return False
    typed = [part for part in _parts(message) if isinstance(part.get("type"), str)]
    own = any(p["type"] in _OWN or (p["type"].startswith("tool-") and "toolCallId" in p) for p in typed)
    ui = isinstance(message.get("parts"), list) and any("text" in p or "-" in p["type"] for p in typed)
    return own or isinstance(message.get("toolInvocations"), list) or ui


def read_messages(messages: list[JsonValue], log: Dialogue) -> None:
    """Adds messages to a dialogue, in order; raises ValueError for a value of the wrong type."""
    approvals = _Approvals(messages)
    for message in objects(messages, "messages"):
        role = kinds.role_of(message.get("role"))
        if role == kinds.SYSTEM:
            continue
        parts = _given(message)
        if role == kinds.USER:
            texts = [text_at(part, "text") for part in parts if part.get("type") == "text"]
            log.user(joined_texts(texts), message.get("createdAt"))
            parts = [part for part in parts if part.get("type") != "text"]
        elif role not in (kinds.AGENT, kinds.TOOL):
            log.unread.role(message.get("role"))
        for part in parts:
            if part.get("type") in (_ASKED, _REPLIED):
                approvals.read(part, log)
            else:
                _read(part, log, role != kinds.USER)
        if role == kinds.AGENT:
            log.said(message)
        log.unread.keys(message, KEYS, role != kinds.USER)


class _Approvals:
    """Requests for the approval of calls, and the answers to them, in model messages."""

    def __init__(self, messages: list[JsonValue]) -> None:
        parts = [part for message in objects_in(messages) for part in _parts(message)]
        self._calls = {_id(p, _APPROVAL): _id(p) for p in parts if p.get("type") == _ASKED}
        self._names = {_id(p): p.get("toolName") for p in parts if p.get("type") == "tool-call"}
        self._replied = {_id(p, _APPROVAL) for p in parts if p.get("type") == _REPLIED}
        self._done = {_id(p) for p in parts if p.get("type") in _RESULTS}

    def read(self, part: JsonObject, log: Dialogue) -> None:
        """Adds that a call without a result was refused, or that it waits."""
        approval, kind, approved = _id(part, _APPROVAL), part.get("type"), part.get("approved")
        call = self._calls.get(approval, approval)
        if call in self._done:
            return
        if kind == _REPLIED and approved is False:
            log.result(None, call, None, part.get("reason") or _REFUSED)
        elif (kind == _REPLIED and approved is not True) or approval not in self._replied:
            log.not_done(self._names.get(call), kind)


def _id(part: JsonObject, key: str = "toolCallId") -> str | None:
    return as_text(part.get(key))


def _given(message: JsonObject) -> list[JsonObject]:
    """Returns the parts of a message; version 4 holds its text and calls beside each other."""
    content, parts = message.get("content"), list(objects(message.get("parts"), "parts"))
    said = parts or as_blocks(content)
    called = list(objects(message.get("toolInvocations"), "toolInvocations"))
    inside = [_both_of(part).get("toolCallId") for part in parts]
    beside = [call for call in called if call.get("toolCallId") not in inside]
    files = listed(message.get("experimental_attachments"), "experimental_attachments")
    calls = [{"type": "tool-invocation", "toolInvocation": call} for call in beside]
    return [*calls, *said, *({"type": "file"} for _ in files)]


def _both_of(part: JsonObject) -> JsonObject:
    """Returns what holds the id of a part's call: the part, or in version 4 its invocation."""
    inner = part.get("toolInvocation")
    return inner if isinstance(inner, dict) else part


def _read(part: JsonObject, log: Dialogue, by_agent: bool) -> None:
    kind = str(part.get("type"))
    if kind == "text":
        log.agent(text_at(part, "text"))
        if part.get("state") == "streaming":
            log.unread.add(UNREAD, "a text was not all there when the message was stored", words=True)
    elif kind == "tool-call":
        log.call(part.get("toolName"), first_of(part, ("input", "args")), part.get("toolCallId"))
    elif kind in _RESULTS:
        _result(part, log)
    elif (call := stated_call(part)) is not None:
        log.call(call.name, call.args, call.id)
        if call.state is None:
            log.result(call.result, call.id, call.name, call.error)
        elif call.state:
            log.not_done(call.name, call.state)
    elif kind.startswith("data-"):
        log.turn.payloads = [*log.turn.payloads, {key: part[key] for key in ("type", "data") if key in part}]
    else:
        log.unread.part(kind, by_agent)


class StatedCall(NamedTuple):
    """A call with its state; "": it states none, None: it is done, with this result or error."""

    name: str | None
    args: JsonValue
    id: str | None
    state: str | None
    result: JsonValue
    error: JsonValue


def stated_call(part: JsonObject) -> StatedCall | None:
    """Returns the call that a part holds together with its result; None: it is no such part.

    For example `{"type": "tool-find", "toolCallId": "1", "state": "output-available", "input": {"id": 5},
    "output": "Bonn"}`.
    """
    kind, held = str(part.get("type")), _both_of(part)
    if kind == "tool-invocation" and held is part:
        return None
    if kind not in ("tool-invocation", "dynamic-tool") and not (
        kind.startswith("tool-") and "toolCallId" in part and kind not in (*_RESULTS, "tool-call")
    ):
        return None
    state, approval = held.get("state"), as_object(held.get("approval"))
    error = (
        held.get("errorText") or (state in ("output-error", "output-denied") and state) or failure_mark(held)
    )
    if state == "approval-responded" and approval.get("approved") is False:
        error = approval.get("reason") or _REFUSED
    is_done = error or (state in _DONE and not held.get("preliminary"))
    return StatedCall(
        as_text(held.get("toolName", kind.removeprefix("tool-"))),
        first_of(held, ("input", "args", "rawInput")),
        as_text(held.get("toolCallId")),
        None if is_done else "preliminary" if state in _DONE else as_text(state) or "",
        decoded(first_of(held, ("output", "result"))),
        error,
    )


def _result(part: JsonObject, log: Dialogue) -> None:
    """Adds a result: a value with its type, or as older versions hold it."""
    output = part.get("output")
    value, error = first_of(part, ("output", "result")), failure_mark(part)
    kind = output.get("type") if isinstance(output, dict) else None
    if isinstance(output, dict) and isinstance(kind, str):
        is_denied = kind == "execution-denied"
        if is_denied or output.keys() & {"value", "reason"}:
            value = output.get("value")
        if is_denied or (kind.startswith("error") and "value" in output):
            error = value if isinstance(value, str) else output.get("reason") or True
    log.result(decoded(value), part.get("toolCallId"), part.get("toolName"), error)


# For example {"role": "user", "parts": [{"type": "text", "text": "Hi"}]}
register_dialect(
    Dialect(
        name="vercel_messages",
        keys=(("messages", "trigger", "messageId"),),
        help="UI messages and model messages of Vercel's AI SDK",
        fits=_fits,
        read=read_messages,
    )
)
