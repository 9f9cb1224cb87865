"""Interaction logs of Dialogflow CX: one row a turn, by the documented columns."""

from collections.abc import Iterator, Sequence

from turnwise.schemas.conversation import Conversation
from turnwise.schemas.jsonio import json_structure
from turnwise.schemas.values import JsonObject, JsonValue
from turnwise.transforms.formats.base import EventReader, Format, register_format
from turnwise.transforms.formats.endings import End
from turnwise.transforms.formats.messages.dialogue import Dialogue
from turnwise.transforms.formats.messages.values import as_object, key_set, objects
from turnwise.transforms.formats.spellings import as_text
from turnwise.transforms.formats.unread import add_leap, snake

_STEPLESS = key_set(
    "conversation_success output_audio_text mixed_audio play_audio telephony_transfer_call "
    "knowledge_info_card response_type channel source"
)
_ACTIONS_WITHOUT_CALLS = key_set(
    "user_utterance agent_utterance playbook_invocation playbook_transition flow_invocation flow_transition "
    "status display_name start_time complete_time sub_execution_steps event tool_use llm_call "
    "intent_match flow_state_update stt tts"
)


def _plain(value: JsonValue) -> JsonObject:
    """Returns an object, or that of a JSON text, with its keys in snake_case."""
    found = json_structure(value) if isinstance(value, str) else value
    return {snake(key): item for key, item in as_object(found).items() if item is not None}


def _place(value: JsonObject) -> tuple[str, int]:
    name, position = as_text(value.get("conversation_name")), value.get("turn_position")
    try:
        index = int(position) if isinstance(position, int | str) else -1
    except ValueError:
        index = -1
    if not name or index < 0:
        raise ValueError("a row of Dialogflow CX needs conversation_name and turn_position")
    return name, index


def _join(session_id: str, values: Sequence[JsonObject]) -> Conversation:
    log, end = Dialogue(), End()
    leaps: list[tuple[int, int, int]] = []
    last = None
    for row in values:
        position = _place(row)[1]
        if last is not None and position > last + 1:
            leaps.append((len(log.turns), last, position))
        last = position
        result = _plain(_plain(row.get("response")).get("query_result"))
        _user(_plain(_plain(row.get("request")).get("query_input")), result, row, log)
        for action in _actions(result):
            _action(_plain(action), log)
        for message in objects(result.get("response_messages"), "responseMessages"):
            end = _message(_plain(message), log) or end
    first = values[0]
    turns = log.close(end)
    for place, before, position in leaps:
        add_leap(turns[min(place, len(turns) - 1)], before, position, first=1)
    return Conversation(
        conversation_id=session_id,
        source="dialogflow_cx",
        language=as_text(first.get("language_code")),
        start_time=as_text(first.get("request_time")),
        turns=turns,
        ended=end.ended,
        ended_detail=end.detail,
        meta={key: first[key] for key in ("project_id", "agent_id") if key in first},
    )


def _user(given: JsonObject, result: JsonObject, row: JsonObject, log: Dialogue) -> None:
    """Opens a turn with what the user did; the result of a tool that the client ran opens none."""
    time = row.get("request_time")
    answer = given.get("tool_call_result")
    if answer is not None:
        found = _plain(answer)
        error = _plain(found.get("error")).get("message")
        log.result(found.get("output_parameters"), None, found.get("action") or found.get("tool"), error)
    elif "text" in given:
        log.user(str(as_object(given["text"]).get("text") or ""), time)
    elif "audio" in given:
        log.user(str(result.get("transcript") or result.get("text") or ""), time)
    elif "dtmf" in given:
        log.user(str(as_object(given["dtmf"]).get("digits") or ""), time)
    elif "event" in given:
        log.user(f"<event>{as_object(given['event']).get('event')}</event>", time)
    else:
        log.user(str(result.get("transcript") or result.get("text") or ""), time)
        log.unread.part(next((key for key in given if key != "language_code"), "a request without input"))


def _actions(result: JsonObject) -> Iterator[JsonObject]:
    tracing = _plain(_plain(result.get("generative_info")).get("action_tracing_info"))
    found = list(objects(tracing.get("actions"), "actions"))
    if not found:
        for block in objects(result.get("trace_blocks"), "traceBlocks"):
            found += objects(block.get("actions"), "actions")
    yield from found


def _action(action: JsonObject, log: Dialogue) -> None:
    use = _plain(action.get("tool_use"))
    if use:
        name = as_text(use.get("action") or use.get("display_name") or use.get("tool"))
        tool = as_text(use.get("tool")) or ""
        log.call(name, use.get("input_action_parameters") or {}, None, tool)
        exception = _plain(_plain(action.get("status")).get("exception"))
        if use.get("output_action_parameters") is not None or exception:
            error = exception.get("error_message") or (True if exception else None)
            log.result(use.get("output_action_parameters"), None, name, error)
    for kind in action.keys() - _ACTIONS_WITHOUT_CALLS:
        log.unread.part(kind)


def _message(message: JsonObject, log: Dialogue) -> End | None:
    """Adds a response message; returns how the conversation ends, if it says so."""
    end = None
    for kind, held in message.items():
        if kind == "text":
            texts = as_object(held).get("text")
            log.agent("\n".join(str(text) for text in texts) if isinstance(texts, list) else str(texts or ""))
        elif kind == "tool_call":
            call = _plain(held)
            name = as_text(call.get("action") or call.get("tool"))
            log.call(name, call.get("input_parameters") or {}, None, as_text(call.get("tool")) or "")
        elif kind == "live_agent_handoff":
            end = End("hand_off", "live_agent_handoff")
        elif kind == "end_interaction":
            end = End("normally", "end_interaction")
        elif kind == "payload":
            log.turn.payloads = [*log.turn.payloads, as_object(held)]
        elif kind not in _STEPLESS:
            log.unread.part(kind)
    return end


register_format(
    Format(
        name="dialogflow_cx",
        help="interaction logs of Dialogflow CX (BigQuery rows)",
        keys=("conversation_name", "turn_position", "request", "response"),
        rank=86,
        recognises=lambda record: record.keys() >= {"conversation_name", "turn_position"},
        events=EventReader(place=_place, join=_join),
        time_keys=("request_time",),
        has_rubrics=False,
    )
)
