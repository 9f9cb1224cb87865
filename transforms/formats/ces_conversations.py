"""CES conversations as canonical conversations."""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import pairwise
from typing import Literal

from turnwise.schemas import conversation as canonical
from turnwise.schemas.ces import conversation as ces
from turnwise.schemas.ces.conversation import SessionOutput, Span
from turnwise.schemas.conversation import Turn
from turnwise.schemas.jsonio import JsonObject, JsonValue, grouped
from turnwise.schemas.proto.scalars import duration_nanos, timestamp_nanos
from turnwise.transforms.formats import endings
from turnwise.transforms.formats.canonical import check_calls
from turnwise.transforms.formats.fields import MISSING, UNREAD, Unread, add_leap, gaps
from turnwise.transforms.formats.identity import OF_CES
from turnwise.transforms.formats.messages.kinds import as_object, decoded, key_set, objects_in, stated
from turnwise.transforms.formats.registry import EventReader, register_built_in
from turnwise.transforms.text.dates import rfc3339, time_seconds

_SPAN_TYPES: dict[str, Literal["TOOL", "LLM", "USER_CALLBACK", "GUARDRAIL"]] = {
    "Tool": "TOOL",
    "LLM": "LLM",
    "Callback": "USER_CALLBACK",
    "Guardrail": "GUARDRAIL",
}
_SPAN_NAMES = {"Tool": "name", "LLM": "model", "Callback": "stage", "Guardrail": "name"}
_MS = 1_000_000
_READ_KEYS = endings.spelt(*ces.Chunk.model_fields) - {"blob", "image"}
_NAMELESS = ("user", "agent", "model", "")
"""Roles that name no agent."""
_HOLDER_KEYS = endings.spelt("chunks", "messages", "root_span")
_BESIDE = key_set("evaluation eval_id eval_set_id tools")
_RECORD_KEYS = endings.spelt(*ces.CesConversation.model_fields) | _BESIDE
_CELLS = endings.spelt("turns", "messages", "start_time", "end_time")
_NO_CALLS = "the trace shows {} tool calls, and the messages hold {}"
_NO_SUCH_CALL = "the trace shows a call of {!r}, which no message holds"


def _conversation(given: JsonObject) -> canonical.Conversation:
    """Converts a CES Conversation leniently; beyond CES: `evaluation`, `tools`, `ended`, `ended_detail`."""
    value: JsonObject = {}
    for key, item in given.items():
        value[key] = item
        if isinstance(item, str) and key in _CELLS:
            # A cell of a table holds a list as a JSON text, and a time as BigQuery's exports write it.
            is_list = key in ("turns", "messages")
            seconds = time_seconds(item) if " " in item and not is_list else None
            value[key] = decoded(item) if is_list else item if seconds is None else rfc3339(seconds)
    message = ces.CesConversation.from_value(value, lenient=True)
    turns = message.turns or ([ces.ConversationTurn(messages=message.messages)] if message.messages else [])
    logged = value.get("turns") or ([{"messages": value["messages"]}] if value.get("messages") else [])
    made = [_logged_turn(i, turn, raw) for i, (turn, raw) in enumerate(zip(turns, logged, strict=True))]
    Unread().keys(value, _RECORD_KEYS).add_to_all(made)
    if message.turn_count > len(message.turns) and message.turns:
        gap = f"turnCount is {message.turn_count}, and the number of turns {len(message.turns)}"
        gaps(MISSING, [gap]).add_to(made[-1])
    check_calls(made)
    end = endings.record_end(value)
    if end == endings.UNKNOWN and made:
        end = _session_end(made[-1], turns[-1].root_span)
    whole = canonical.Conversation(message.name, "ces", start_time=message.start_time, turns=made)
    whole.app_version, whole.language = message.app_version or None, message.language_code or None
    whole.ended, whole.ended_detail = end.ended, end.detail
    whole.meta = {"deployment": message.deployment} if message.deployment else {}
    whole.tools = endings.declared_tools(value.get("tools"))
    return whole


def _logged_turn(index: int, message: ces.ConversationTurn, raw: JsonObject) -> Turn:
    turn, asked = Turn(turn_index=index), list[str]()
    for part in message.messages:
        _add_message(turn, part, asked)
    turn.user = "\n".join(asked) or None
    turn.agent = "\n".join(turn.agent_messages) or None
    if message.messages and message.messages[0].event_time:
        turn.timestamp = message.messages[0].event_time
    _add_trace(turn, message)
    unread = Unread().keys(raw, _HOLDER_KEYS)
    for logged in raw.get("messages") or ():
        unread.keys(logged, _HOLDER_KEYS)
        by_agent, chunks = logged.get("role") != "user", logged.get("chunks") or ()
        has_text = any(chunk.get("text") for chunk in chunks)
        for chunk in chunks:
            if chunk.keys() <= _READ_KEYS and chunk:
                continue
            held = [name for name, item in chunk.items() if item is not None]
            for name in held or ["an empty chunk"]:
                if name not in _READ_KEYS:
                    # A picture beside a text hides no words.
                    unread.part(name, by_agent and not (has_text and name == "image"))
    # Calls that the trace shows and the messages do not; a tool has several names.
    traced = [span.name for span in turn.spans if span.type == "TOOL"]
    if len(traced) > len(turn.tool_calls):
        unread.add(UNREAD, _NO_CALLS.format(len(traced), len(turn.tool_calls)), calls=True)
        return unread.add_to(turn)
    calls = [chunk.tool_call for part in message.messages for chunk in part.chunks if chunk.tool_call]
    left = [set({**_names(call), "id": call.tool or None}.values()) - {None} for call in calls]
    for name in traced:
        called = next((names for names in left if name is None or not names or name in names), None)
        if called is None:
            unread.add(UNREAD, _NO_SUCH_CALL.format(str(name)[:60]), calls=True)
        else:
            left.remove(called)
    return unread.add_to(turn)


def message_text(message: ces.ConversationMessage) -> str:
    """Returns the text of a message's chunks."""
    return "".join(chunk.text or chunk.transcript or "" for chunk in message.chunks)


def _add_message(turn: Turn, message: ces.ConversationMessage, asked: list[str]) -> None:
    text = message_text(message)
    agent = "" if message.role in _NAMELESS else message.role.rpartition("/")[2]
    if text and message.role == "user":
        asked.append(text)
    elif text:
        turn.agent_messages.append(text)
        if agent or turn.speakers:
            unknown = [""] * (len(turn.agent_messages) - 1 - len(turn.speakers))
            turn.speakers += [*unknown, agent]
    for chunk in message.chunks:
        if chunk.tool_call is not None:
            turn.tool_calls.append(tool_call(chunk.tool_call))
            turn.tool_calls[-1].agent = agent or None
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


def _names(message: ces.CesToolCall | ces.CesToolResponse) -> JsonObject:
    """Returns what a call or a response is called: the fields of the canonical ones."""
    toolset = message.toolset_tool
    name: str | None = (message.tool or message.display_name).rsplit("/", 1)[-1] or None
    resource = message.tool if message.tool and "/" in message.tool else None
    if toolset is not None:
        name, resource = toolset.tool_id, f"{toolset.toolset}/tools/{toolset.tool_id}"
    display_name = message.display_name or None
    return {"name": name, "resource": resource, "id": message.id or None, "display_name": display_name}


def tool_call(message: ces.CesToolCall) -> canonical.ToolCall:
    """Converts a ToolCall."""
    return canonical.ToolCall(**_names(message), args=message.args)


def tool_response(message: ces.CesToolResponse) -> canonical.ToolResponse:
    """Converts a ToolResponse; the key `error` of its answer marks it as failed."""
    answer = message.response
    error = str(answer["error"]) if answer and answer.get("error") else None
    return canonical.ToolResponse(**_names(message), response=answer, error=error)


def _add_trace(turn: canonical.Turn, message: ces.ConversationTurn) -> None:
    """Adds times and tokens from a turn's trace, or else the latency by the times of its messages."""
    root, messages = message.root_span, message.messages
    elapsed = None if root is None else _nanos(root)
    if elapsed is None or elapsed < 0:
        asked = next((m.event_time for m in messages if m.role == "user" and m.event_time), None)
        answered = next((m.event_time for m in messages[::-1] if m.role != "user" and m.event_time), None)
        if asked is not None and answered is not None:
            elapsed = timestamp_nanos(answered) - timestamp_nanos(asked)
    turn.latency_ms = elapsed / _MS if elapsed is not None and elapsed >= 0 else None
    if root is None or not root.child_spans:
        return  # A root alone says nothing of models and tools, not that there were none.
    spans = [span for span in _descendants(root) if span.name in _SPAN_TYPES]
    resources = {call.name: call.resource for call in turn.tool_calls}
    for span in spans:
        name = (span.attributes or {}).get(_SPAN_NAMES[span.name])
        name = name if isinstance(name, str) else None
        resource = resources.get(name) if span.name == "Tool" else None
        times, seconds = (span.start_time, span.end_time), (_nanos(span) or 0) / 1e9
        turn.spans.append(canonical.TimedSpan(_SPAN_TYPES[span.name], name, resource, *times, seconds))
    turn.model_ms = endings.length(sum(_nanos(span) or 0 for span in spans if span.name == "LLM") / _MS)
    turn.tool_ms = endings.length(sum(_nanos(span) or 0 for span in spans if span.name == "Tool") / _MS)
    models = [span.attributes or {} for span in spans if span.name == "LLM"]
    turn.inference_calls = len(models)
    reports: list[canonical.Usage] = []
    for model in models:
        stated_counts = [model.get(f"{side} token count") for side in ("input", "output")]
        sent, got = (int(count) if isinstance(count, int | float) else None for count in stated_counts)
        reports.append(canonical.Usage(sent, got, model=endings.as_text(model.get("model"))))
    counts = [n for report in reports for n in (report.input_tokens, report.output_tokens) if n is not None]
    if counts and min(counts) >= 0:
        turn.usage = reduce(canonical.Usage.plus, reports)


def _descendants(span: ces.Span) -> Iterator[ces.Span]:
    for child in span.child_spans:
        yield child
        yield from _descendants(child)


def _nanos(span: ces.Span) -> int | None:
    if span.duration is not None:
        return duration_nanos(span.duration)
    if span.start_time is not None and span.end_time is not None:
        return timestamp_nanos(span.end_time) - timestamp_nanos(span.start_time)
    return None


_LARGEST_INDEX = 2**31 - 1
_PAYLOAD_KEYS = endings.spelt(*SessionOutput.model_fields) - {"tool_calls", "toolCalls"}
_OUTPUT_KEYS = (SessionOutput.model_fields.keys() | {"turnCompleted", "diagnosticInfo"}) - {"turn_index"}
_ENTRY_KEYS = key_set(
    "labels jsonPayload resource httpRequest operation sourceLocation split errorGroups apphub "
    "apphubDestination apphubSource otel"
)
_NO_DETAILS = "the log entry has no diagnosticInfo.messages, which hold the calls"


def _entry_session(value: JsonObject) -> tuple[str, int]:
    """Returns session id and 0-based turn index (-1: unknown) of a log entry; raises ValueError for none."""
    payload, labels = _payload(value), as_object(value.get("labels"))
    named = endings.text_of(labels, "session_id") or endings.text_of(value, "session")
    session = named or endings.text_of(payload, "sessionId") or endings.text_of(payload, "session_id")
    if session is None:
        raise ValueError("a session log entry needs labels.session_id (or session, sessionId)")
    return session, (_stated_index(payload) or 0) - 1


def _stated_index(payload: JsonObject) -> int | None:
    """Returns the 1-based turn index of an output, 0 where it states none; None: it is no such number."""
    stated = payload.get("turnIndex") or payload.get("turn_index") or 0
    try:
        index = int(stated)
    except (TypeError, ValueError, OverflowError):
        return None
    return index if 0 <= index <= _LARGEST_INDEX else None


def _payload(value: JsonObject) -> JsonObject:
    payload = value.get("jsonPayload", value)
    return payload if isinstance(payload, dict) else {}


def _joined(session_id: str, entries: Sequence[JsonObject]) -> canonical.Conversation:
    """Joins the log entries of one session, in turn order, into a conversation.

    The last entry of a turn with diagnostics defines the whole turn; without one, the texts of its entries
    are the agent's messages.
    """
    turns = grouped((_entry_session(entry)[1], entry) for entry in entries)
    labels = {key: item for entry in entries for key, item in as_object(entry.get("labels")).items()}
    made: list[Turn] = []
    for before, index in pairwise((-1, *sorted(turns))):
        made.append(_entry_turn(len(made), turns[index]))
        if index > before + 1:
            add_leap(made[-1], before + 1, index + 1, first=1)
    check_calls(made)
    ends = (_end_metadata(_payload(entry)) for entry in reversed(entries))
    end = _session_end(made[-1] if made else None, metadata=next((e for e in ends if e is not None), None))
    whole = canonical.Conversation(session_id, "ces", turns=made, ended=end.ended, ended_detail=end.detail)
    whole.language = endings.text_of(labels, "language_code")
    times = (entry["timestamp"] for entry in entries if isinstance(entry.get("timestamp"), str))
    whole.start_time = next(times, None)
    return whole


def _entry_turn(index: int, entries: Sequence[JsonObject]) -> canonical.Turn:
    payloads = [_payload(entry) for entry in entries]
    given = ({key: p[key] for key in p if key in _OUTPUT_KEYS} for p in payloads)
    outputs = [SessionOutput.from_value(output, lenient=True) for output in given]
    pairs = reversed([(o.diagnostic_info, p) for o, p in zip(outputs, payloads, strict=True)])
    details, payload = next(((d, p) for d, p in pairs if d is not None), (None, {}))
    unread = Unread()
    if details is not None and details.messages:
        logged = ces.ConversationTurn(messages=details.messages, root_span=details.root_span)
        turn = _logged_turn(index, logged, payload.get("diagnosticInfo") or payload["diagnostic_info"])
    else:
        texts = [output.text for output in outputs if output.text]
        turn = canonical.Turn(turn_index=index, agent="\n".join(texts) or None, agent_messages=texts)
        if details is not None:
            _add_trace(turn, ces.ConversationTurn(root_span=details.root_span))
        unread.add(UNREAD, _NO_DETAILS, calls=True)
    for entry, payload in zip(entries, payloads, strict=True):
        known = _PAYLOAD_KEYS if "jsonPayload" in entry else _PAYLOAD_KEYS | _ENTRY_KEYS
        # Calls for tools of the client may be among those of the turn's messages.
        holder = as_object(payload.get("toolCalls") or payload.get("tool_calls"))
        held = holder.get("toolCalls") or holder.get("tool_calls")
        if isinstance(held, list) and all(isinstance(call, dict) for call in held):
            named = (call.get("tool") or call.get("displayName") or call.get("display_name") for call in held)
            wanted = Counter(str(name).rsplit("/", 1)[-1] for name in named)
            if not wanted - Counter(str(call.name) for call in turn.tool_calls):
                known |= {"toolCalls", "tool_calls"}
        unread.keys(payload, known)
        if "jsonPayload" in entry:
            unread.keys(entry, _ENTRY_KEYS)
        if _stated_index(payload) is None:
            unread.add(MISSING, "a turnIndex that is no number of a turn", calls=True, words=True)
    return unread.add_to(turn)


_STRUCTS = key_set("args response variables updatedVariables updated_variables attributes payload")


def without_underscores(value: JsonValue) -> JsonValue:
    """Returns a record without the underscore that Python classes add to reserved names (`type_`)."""
    if isinstance(value, list):
        return [without_underscores(item) for item in value]
    if not isinstance(value, dict):
        return value
    inner = {key: item if key in _STRUCTS else without_underscores(item) for key, item in value.items()}
    if "type" in inner or "type_" not in inner:
        return inner
    return {"type" if key == "type_" else key: item for key, item in inner.items()}


def _session_end(
    last: Turn | None, root: Span | None = None, metadata: JsonObject | None = None
) -> endings.End:
    """Returns how a session ended.

    A session that its agent ended (CES's `EndSession`) came to its end or was handed over to a person. A last
    turn with an error in its root span and without an answer broke off.
    """
    if last is None:
        return endings.UNKNOWN
    calls = (call.args or {} for call in reversed(last.tool_calls) if call.name == "end_session")
    args = next(calls, metadata)
    if args is not None:
        is_escalated = args.get("session_escalated") in (True, "true", "True")
        return endings.stated_end("hand_off" if is_escalated else "normally", args.get("reason"))
    error = (root.attributes or {}).get("error") if root is not None else None
    return endings.error_end(error) if error and not last.agent else endings.UNKNOWN


def _end_metadata(output: JsonObject) -> JsonObject | None:
    """Returns the metadata of the `EndSession` in a SessionOutput; None: it is no such output."""
    end = stated(output).get("endSession", output.get("end_session"))
    metadata = end.get("metadata") if isinstance(end, dict) else None
    return None if end is None else metadata if isinstance(metadata, dict) else {}


_TURN, _DIAGNOSIS = endings.spelt("turn_index"), endings.spelt("diagnostic_info")


def _is_session_output(record: JsonObject) -> bool:
    labels = record.get("labels")
    logged = "jsonPayload" in record and isinstance(labels, dict) and "session_id" in labels
    return logged or bool(record.keys() & _TURN and record.keys() & _DIAGNOSIS)


def _is_conversation(record: JsonObject) -> bool:
    turns = record.get("turns")
    holders = [record, *turns] if isinstance(turns, list) else [record]
    messages = (item for held in holders for item in objects_in(as_object(held).get("messages")))
    has_chunks = any("chunks" in message for message in messages)
    return has_chunks or "/conversations/" in endings.name_of(record)


# For example {"labels": {"session_id": "s"}, "jsonPayload": {"turnIndex": 1, "text": "Hello"}}
register_built_in(
    "ces_session_output", 120, "CES session log entries, as Cloud Logging stores them", _is_session_output,
    ("jsonPayload", "labels"), other_keys=(("turnIndex", "diagnosticInfo"),), source="ces",
    places=(("labels", OF_CES), ("", OF_CES)),
    events=EventReader(locate=_entry_session, join=_joined, own_id=lambda value: value.get("insertId"),
                       is_end=lambda value: _end_metadata(_payload(value)) is not None),
)  # fmt: skip
# For example {"name": ".../conversations/c", "turns": [{"messages": [{"role": "user", "chunks": [...]}]}]}
register_built_in(
    "ces_conversation", 130, "CES Conversation (proto3 JSON)", _is_conversation,
    ("name", "startTime", "turns"), source="ces", places=(("", OF_CES), ("labels", OF_CES)),
    read_log=lambda value, record, settings: [_conversation(without_underscores(value))],
)  # fmt: skip
