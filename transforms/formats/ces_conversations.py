"""CES conversations as canonical conversations."""

from collections.abc import Iterator, Sequence
from typing import Literal

from turnwise.schemas import conversation as canonical
from turnwise.schemas.ces import conversation as ces
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.schemas.proto.message import Message
from turnwise.schemas.proto.scalars import duration_nanos, timestamp_nanos
from turnwise.transforms.formats.ces.end import session_end
from turnwise.transforms.formats.endings import UNKNOWN, record_end
from turnwise.transforms.formats.spellings import length, spelt
from turnwise.transforms.formats.tool_declarations import declared_tools
from turnwise.transforms.formats.unread import MISSING, UNREAD, Unread, check_calls, gaps

_SPAN_TYPES: dict[str, Literal["TOOL", "LLM", "USER_CALLBACK", "GUARDRAIL"]] = {
    "Tool": "TOOL",
    "LLM": "LLM",
    "Callback": "USER_CALLBACK",
    "Guardrail": "GUARDRAIL",
}
_SPAN_NAMES = {"Tool": "name", "LLM": "model", "Callback": "stage", "Guardrail": "name"}
_MS = 1_000_000


def spellings(model: type[Message]) -> frozenset[str]:
    """Returns the fields of a message, in both spellings."""
    fields = model.model_fields.items()
    return frozenset(spelling for name, field in fields for spelling in (name, field.alias or name))


_READ_KEYS = spellings(ces.Chunk) - {"blob", "image"}
_HOLDER_KEYS = spelt("chunks", "messages", "root_span")
_RECORD_KEYS = spellings(ces.CesConversation) | {"evaluation", "eval_id", "eval_set_id", "tools"}
_NO_CALLS = "the trace shows {} tool calls, and the messages hold {}"
_NO_SUCH_CALL = "the trace shows a call of {!r}, which no message holds"


def conversation(value: JsonObject) -> canonical.Conversation:
    """Converts a CES Conversation, read leniently.

    `evaluation`, `tools` and how it ended (`ended`, `ended_detail`), no CES fields, are read too.
    """
    message = ces.CesConversation.from_value(value, lenient=True)
    turns = message.turns or ([ces.ConversationTurn(messages=message.messages)] if message.messages else [])
    made = [
        logged_turn(index, turn, raw)
        for index, (turn, raw) in enumerate(zip(turns, _raw_turns(value), strict=True))
    ]
    Unread().keys(value, _RECORD_KEYS).add_to_all(made)
    if message.turn_count > len(message.turns) and message.turns:
        said = f"turnCount is {message.turn_count}, and the number of turns {len(message.turns)}"
        gaps(MISSING, [said]).add_to(made[-1])
    check_calls(made)
    end = record_end(value)
    if end == UNKNOWN and made:
        end = session_end(made[-1], turns[-1].root_span)
    return canonical.Conversation(
        conversation_id=message.name,
        source="ces",
        app_version=message.app_version or None,
        language=message.language_code or None,
        eval_id=label(value, "evaluation") or label(value, "eval_id"),
        eval_set_id=label(value, "eval_set_id"),
        start_time=message.start_time,
        turns=made,
        ended=end.ended,
        ended_detail=end.detail,
        meta={"deployment": message.deployment} if message.deployment else {},
        tools=declared_tools(value.get("tools")),
    )


def _raw_turns(value: JsonObject) -> list[JsonObject]:
    return value.get("turns") or ([{"messages": value["messages"]}] if value.get("messages") else [])


def _unread(raw: JsonObject) -> Unread:
    unread = Unread().keys(raw, _HOLDER_KEYS)
    for message in raw.get("messages") or ():
        unread.keys(message, _HOLDER_KEYS)
        by_agent, chunks = message.get("role") != "user", message.get("chunks") or ()
        has_text = any(chunk.get("text") for chunk in chunks)
        for chunk in chunks:
            if chunk.keys() <= _READ_KEYS and chunk:
                continue
            held = [name for name, item in chunk.items() if item is not None]
            for name in held or ["an empty chunk"]:
                if name not in _READ_KEYS:
                    # A picture beside a text hides no words.
                    unread.part(name, by_agent and not (has_text and name == "image"))
    return unread


def logged_turn(index: int, message: ces.ConversationTurn, raw: JsonObject) -> canonical.Turn:
    """Converts a turn, and adds the unread parts of its raw form."""
    turn = canonical.Turn(turn_index=index)
    said: list[str] = []
    for part in message.messages:
        _add_message(turn, part, said)
    turn.user = "\n".join(said) if said else None
    turn.agent = "\n".join(turn.agent_messages) or None
    if message.messages and message.messages[0].event_time:
        turn.timestamp = message.messages[0].event_time
    add_trace(turn, message)
    unread = _unread(raw)
    _check_trace(turn, message, unread)
    return unread.add_to(turn)


def _check_trace(turn: canonical.Turn, message: ces.ConversationTurn, unread: Unread) -> None:
    """Adds the calls that the trace shows and the messages do not; a tool has several names."""
    traced = [span.name for span in turn.spans if span.type == "TOOL"]
    if not traced:
        return
    if len(traced) > len(turn.tool_calls):
        unread.add(UNREAD, _NO_CALLS.format(len(traced), len(turn.tool_calls)), calls=True)
        return
    calls = [chunk.tool_call for part in message.messages for chunk in part.chunks if chunk.tool_call]
    left = [_names_of(call) for call in calls]
    for name in traced:
        found = next((names for names in left if name is None or not names or name in names), None)
        if found is None:
            unread.add(UNREAD, _NO_SUCH_CALL.format(str(name)[:60]), calls=True)
        else:
            left.remove(found)


def _names_of(call: ces.CesToolCall) -> set[str | None]:
    """Returns the names of a called tool that may occur in a trace."""
    name, resource = _tool_names(call)
    return {name, resource, call.display_name or None, call.tool or None} - {None}


def message_text(message: ces.ConversationMessage) -> str:
    """Returns the text of a message's chunks."""
    return "".join(chunk.text or chunk.transcript or "" for chunk in message.chunks)


def _add_message(turn: canonical.Turn, message: ces.ConversationMessage, said: list[str]) -> None:
    text = message_text(message)
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
        if changed := chunk.updated_variables or chunk.default_variables:
            by_agent = message.role != "user" and chunk.default_variables is None
            kept = [name for name in turn.given_variables if name not in changed]
            turn.given_variables = kept if by_agent else [*kept, *changed]
            turn.variables |= changed


def _tool_names(message: ces.CesToolCall | ces.CesToolResponse) -> tuple[str | None, str | None]:
    toolset = message.toolset_tool
    if toolset is not None:
        return toolset.tool_id, f"{toolset.toolset}/tools/{toolset.tool_id}"
    name = (message.tool or message.display_name).rsplit("/", 1)[-1] or None
    return name, message.tool if message.tool and "/" in message.tool else None


def tool_call(message: ces.CesToolCall) -> canonical.ToolCall:
    """Converts a ToolCall."""
    name, resource = _tool_names(message)
    return canonical.ToolCall(
        name=name,
        resource=resource,
        id=message.id or None,
        args=message.args,
        display_name=message.display_name or None,
    )


def tool_response(message: ces.CesToolResponse) -> canonical.ToolResponse:
    """Converts a ToolResponse; the key `error` of its answer marks it as failed."""
    name, resource = _tool_names(message)
    answer = message.response
    error = str(answer["error"]) if answer and answer.get("error") else None
    return canonical.ToolResponse(
        name=name,
        resource=resource,
        id=message.id or None,
        response=answer,
        error=error,
        display_name=message.display_name or None,
    )


def add_trace(turn: canonical.Turn, message: ces.ConversationTurn) -> None:
    """Adds times and tokens from a turn's trace, or else the latency by the times of its messages."""
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
    stated = [count for pair in counts for count in pair if count is not None]
    if not stated or min(stated) < 0:
        return None
    return canonical.Usage(
        input_tokens=sum(pair[0] or 0 for pair in counts), output_tokens=sum(pair[1] or 0 for pair in counts)
    )


def _count(attributes: JsonObject, key: str) -> int | None:
    value = attributes.get(key)
    return int(value) if isinstance(value, int | float) else None


def label(labels: JsonObject, name: str) -> str | None:
    """Returns a non-empty text of a record; None: there is none."""
    value: JsonValue = labels.get(name)
    return value if isinstance(value, str) and value else None
