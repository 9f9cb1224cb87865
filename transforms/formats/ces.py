"""CES conversations and session logs as canonical conversations."""

from collections.abc import Iterator, Sequence
from typing import Literal

from turnwise.schemas import conversation as canonical
from turnwise.schemas.ces import conversations as ces
from turnwise.schemas.ces.sessions import SessionOutput
from turnwise.schemas.proto.scalars import duration_nanos, timestamp_nanos
from turnwise.schemas.values import JsonObject, JsonValue
from turnwise.transforms.formats.ces_end import end_metadata, session_end
from turnwise.transforms.formats.endings import UNKNOWN, record_end
from turnwise.transforms.formats.spellings import length
from turnwise.transforms.formats.tool_declarations import declared_tools
from turnwise.transforms.formats.unread import UNREAD, Unread, check_calls

_SPAN_TYPES: dict[str, Literal["TOOL", "LLM", "USER_CALLBACK", "GUARDRAIL"]] = {
    "Tool": "TOOL",
    "LLM": "LLM",
    "Callback": "USER_CALLBACK",
    "Guardrail": "GUARDRAIL",
}
_SPAN_NAMES = {"Tool": "name", "LLM": "model", "Callback": "stage", "Guardrail": "name"}
_MS = 1_000_000
_READ_KEYS = frozenset(
    spelling
    for name, field in ces.Chunk.model_fields.items()
    if name not in ("blob", "image")
    for spelling in (name, field.alias or name)
)
_HOLDER_KEYS = frozenset(("chunks", "messages"))
_NO_DETAILS = "the log entry has no diagnosticInfo.messages, which hold the calls"
_NO_CALLS = "the trace shows tool calls that no message holds"


def conversation(value: JsonObject) -> canonical.Conversation:
    """Converts a CES Conversation, read leniently.

    `evaluation`, `tools` and how it ended (`ended`, `ended_detail`), no CES fields, are read too.
    """
    message = ces.Conversation.from_value(value, lenient=True)
    turns = message.turns or ([ces.ConversationTurn(messages=message.messages)] if message.messages else [])
    made = [
        _turn(index, turn, raw)
        for index, (turn, raw) in enumerate(zip(turns, _raw_turns(value), strict=True))
    ]
    check_calls(made)
    end = record_end(value)
    if end == UNKNOWN and made:
        end = session_end(made[-1], turns[-1].root_span)
    return canonical.Conversation(
        conversation_id=message.name,
        source="ces",
        app_version=message.app_version or None,
        language=message.language_code or None,
        eval_id=_label(value, "evaluation") or _label(value, "eval_id"),
        eval_set_id=_label(value, "eval_set_id"),
        start_time=message.start_time,
        turns=made,
        ended=end.ended,
        ended_detail=end.detail,
        meta={"deployment": message.deployment} if message.deployment else {},
        tools=declared_tools(value.get("tools")),
    )


def _raw_turns(value: JsonObject) -> list[JsonObject]:
    """Returns the turns of a conversation as they were logged; they are known to be valid."""
    return value.get("turns") or ([{"messages": value["messages"]}] if value.get("messages") else [])


def _unread(raw: JsonObject) -> Unread:
    """Returns what is not understood of the messages of a logged turn."""
    unread = Unread()
    unread.keys(raw, _HOLDER_KEYS)
    for message in raw.get("messages") or ():
        unread.keys(message, _HOLDER_KEYS)
        by_agent = message.get("role") != "user"
        for chunk in message.get("chunks") or ():
            if chunk.keys() <= _READ_KEYS and chunk:
                continue
            held = [name for name, item in chunk.items() if item is not None]
            for name in held or ["an empty chunk"]:
                if name not in _READ_KEYS:
                    unread.part(name, by_agent)
    return unread


def _turn(index: int, message: ces.ConversationTurn, raw: JsonObject) -> canonical.Turn:
    turn = canonical.Turn(turn_index=index)
    said: list[str] = []
    for part in message.messages:
        _add_message(turn, part, said)
    turn.user = "\n".join(said) if said else None
    turn.agent = "\n".join(turn.agent_messages) or None
    if message.messages and message.messages[0].event_time:
        turn.timestamp = message.messages[0].event_time
    _add_trace(turn, message)
    unread = _unread(raw)
    if not turn.tool_calls and any(span.type == "TOOL" for span in turn.spans):
        unread.add(UNREAD, _NO_CALLS, calls=True)
    return unread.add_to(turn)


def _add_message(turn: canonical.Turn, message: ces.ConversationMessage, said: list[str]) -> None:
    text = "".join(chunk.text or chunk.transcript or "" for chunk in message.chunks)
    if text:
        (said if message.role == "user" else turn.agent_messages).append(text)
    for chunk in message.chunks:
        if chunk.tool_call is not None:
            turn.tool_calls.append(tool_call(chunk.tool_call))
        elif chunk.tool_response is not None:
            turn.tool_responses.append(tool_response(chunk.tool_response))
        elif chunk.agent_transfer is not None:
            turn.transfers.append(chunk.agent_transfer.target_agent)
        elif chunk.payload is not None and message.role != "user":
            turn.payloads.append(chunk.payload)
        turn.variables |= chunk.updated_variables or chunk.default_variables or {}


def _tool_names(message: ces.ToolCall | ces.ToolResponse) -> tuple[str | None, str | None]:
    """Returns the short name and the resource name of a tool."""
    toolset = message.toolset_tool
    if toolset is not None:
        return toolset.tool_id, f"{toolset.toolset}/tools/{toolset.tool_id}"
    name = (message.tool or message.display_name).rsplit("/", 1)[-1] or None
    return name, message.tool if message.tool and "/" in message.tool else None


def tool_call(message: ces.ToolCall) -> canonical.ToolCall:
    """Converts a ToolCall."""
    name, resource = _tool_names(message)
    return canonical.ToolCall(name=name, resource=resource, id=message.id or None, args=message.args)


def tool_response(message: ces.ToolResponse) -> canonical.ToolResponse:
    """Converts a ToolResponse; the key `error` of its answer marks it as failed."""
    name, resource = _tool_names(message)
    answer = message.response
    error = str(answer["error"]) if answer and answer.get("error") is not None else None
    return canonical.ToolResponse(
        name=name, resource=resource, id=message.id or None, response=answer, error=error
    )


def _add_trace(turn: canonical.Turn, message: ces.ConversationTurn) -> None:
    root = message.root_span
    if root is None:
        turn.latency_ms = _elapsed_ms(message.messages)
        return
    is_timed = _is_timed(root) and _nanos(root) >= 0
    turn.latency_ms = _nanos(root) / _MS if is_timed else _elapsed_ms(message.messages)
    spans = [span for span in _descendants(root) if span.name in _SPAN_TYPES]
    resources = {call.name: call.resource for call in turn.tool_calls}
    turn.spans = [_span(span, resources) for span in spans]
    turn.model_ms = length(sum(_nanos(span) for span in spans if span.name == "LLM") / _MS)
    turn.tool_ms = length(sum(_nanos(span) for span in spans if span.name == "Tool") / _MS)
    models = [span.attributes or {} for span in spans if span.name == "LLM"]
    turn.inference_calls = len(models)
    turn.usage = _usage(models)


def _descendants(span: ces.Span) -> Iterator[ces.Span]:
    for child in span.child_spans:
        yield child
        yield from _descendants(child)


def _is_timed(span: ces.Span) -> bool:
    return span.duration is not None or (span.start_time is not None and span.end_time is not None)


def _nanos(span: ces.Span) -> int:
    if span.duration is not None:
        return duration_nanos(span.duration)
    if span.start_time is not None and span.end_time is not None:
        return timestamp_nanos(span.end_time) - timestamp_nanos(span.start_time)
    return 0


def _elapsed_ms(messages: Sequence[ces.ConversationMessage]) -> float | None:
    """Returns the time between the first user message and the last message, where both have one."""
    asked = next((m.event_time for m in messages if m.role == "user" and m.event_time), None)
    answered = next((m.event_time for m in reversed(messages) if m.role != "user" and m.event_time), None)
    if asked is None or answered is None:
        return None
    elapsed = (timestamp_nanos(answered) - timestamp_nanos(asked)) / _MS
    return elapsed if elapsed >= 0 else None


def _span(span: ces.Span, resources: dict[str | None, str | None]) -> canonical.TimedSpan:
    name = (span.attributes or {}).get(_SPAN_NAMES[span.name])
    name = name if isinstance(name, str) else None
    return canonical.TimedSpan(
        type=_SPAN_TYPES[span.name],
        name=name,
        resource=resources.get(name) if span.name == "Tool" else None,
        start_time=span.start_time,
        end_time=span.end_time,
        seconds=_nanos(span) / 1e9,
    )


def _usage(models: Sequence[JsonObject]) -> canonical.Usage | None:
    counts = [(_count(m, "input token count"), _count(m, "output token count")) for m in models]
    if not any(count is not None for pair in counts for count in pair):
        return None
    return canonical.Usage(
        input_tokens=sum(pair[0] or 0 for pair in counts), output_tokens=sum(pair[1] or 0 for pair in counts)
    )


def _count(attributes: JsonObject, key: str) -> int | None:
    value = attributes.get(key)
    return int(value) if isinstance(value, int | float) else None


def entry_session(value: JsonObject) -> tuple[str, int]:
    """Returns session id and 1-based turn index of a log entry; raises ValueError without a session."""
    payload, labels = _payload(value), value.get("labels") or {}
    named = (
        labels.get("session_id"),
        value.get("session"),
        payload.get("sessionId"),
        payload.get("session_id"),
    )
    session = next((name for name in named if isinstance(name, str) and name), None)
    if session is None:
        raise ValueError("a session log entry needs labels.session_id (or session, sessionId)")
    return session, int(payload.get("turnIndex") or payload.get("turn_index") or 0)


def ends_session(value: JsonObject) -> bool:
    """Tells whether a log entry says that its session ended."""
    return end_metadata(_payload(value)) is not None


def _payload(value: JsonObject) -> JsonObject:
    payload = value.get("jsonPayload", value)
    return payload if isinstance(payload, dict) else {}


def joined_conversation(session_id: str, entries: Sequence[JsonObject]) -> canonical.Conversation:
    """Joins the log entries of one session, in turn order, into a conversation.

    The last entry of a turn that carries diagnostics tells the whole turn; without one, the texts of the
    turn's entries are what the agent said.
    """
    turns: dict[int, list[JsonObject]] = {}
    for entry in entries:
        turns.setdefault(entry_session(entry)[1], []).append(entry)
    labels: JsonObject = {}
    for entry in entries:
        labels |= entry.get("labels") or {}
    made = [_entry_turn(i, [_payload(e) for e in turns[index]]) for i, index in enumerate(sorted(turns))]
    check_calls(made)
    ends = (end_metadata(_payload(entry)) for entry in reversed(entries))
    end = session_end(made[-1] if made else None, metadata=next((e for e in ends if e is not None), None))
    return canonical.Conversation(
        conversation_id=session_id,
        source="ces",
        app_version=_label(labels, "app_version"),
        language=_label(labels, "language_code"),
        eval_id=_label(labels, "evaluation") or _label(labels, "eval_id"),
        eval_set_id=_label(labels, "eval_set_id"),
        start_time=next((e["timestamp"] for e in entries if isinstance(e.get("timestamp"), str)), None),
        turns=made,
        ended=end.ended,
        ended_detail=end.detail,
    )


def _label(labels: JsonObject, name: str) -> str | None:
    value: JsonValue = labels.get(name)
    return value if isinstance(value, str) and value else None


def _entry_turn(index: int, payloads: Sequence[JsonObject]) -> canonical.Turn:
    known = SessionOutput.model_fields.keys() | {"turnIndex", "turnCompleted", "diagnosticInfo"}
    outputs = [
        SessionOutput.from_value({k: v for k, v in p.items() if k in known}, lenient=True) for p in payloads
    ]
    found = ((o.diagnostic_info, p) for o, p in zip(reversed(outputs), reversed(payloads), strict=True))
    details, payload = next(((d, p) for d, p in found if d is not None), (None, {}))
    if details is not None and details.messages:
        logged = ces.ConversationTurn(messages=details.messages, root_span=details.root_span)
        return _turn(index, logged, payload.get("diagnosticInfo") or payload["diagnostic_info"])
    texts = [output.text for output in outputs if output.text]
    turn = canonical.Turn(turn_index=index, agent="\n".join(texts) or None, agent_messages=texts)
    if details is not None:
        _add_trace(turn, ces.ConversationTurn(root_span=details.root_span))
    unread = Unread()
    unread.add(UNREAD, _NO_DETAILS, calls=True)
    return unread.add_to(turn)
