"""What one row of a Dialogflow CX interaction log says and does."""

from collections.abc import Iterator

from turnwise.schemas.jsonio import JsonObject, JsonValue, json_structure
from turnwise.transforms.formats.endings import End
from turnwise.transforms.formats.messages.dialogue import Dialogue
from turnwise.transforms.formats.messages.values import as_object, key_set, objects
from turnwise.transforms.formats.spellings import as_text
from turnwise.transforms.formats.unread import NO_ANSWER, UNREAD, snake

_STEPLESS = key_set(
    "conversation_success output_audio_text mixed_audio play_audio telephony_transfer_call "
    "knowledge_info_card response_type channel source"
)
_ACTIONS_WITHOUT_CALLS = key_set(
    "user_utterance agent_utterance playbook_invocation playbook_transition flow_invocation flow_transition "
    "status display_name start_time complete_time sub_execution_steps event tool_use llm_call "
    "intent_match flow_state_update stt tts"
)


def plain(value: JsonValue) -> JsonObject:
    """Returns an object, or that of a JSON text, with its keys in snake_case."""
    found = json_structure(value) if isinstance(value, str) else value
    return {snake(key): item for key, item in as_object(found).items() if item is not None}


def add_row(row: JsonObject, log: Dialogue) -> End | None:
    """Adds a row; returns how the conversation ends, if the row says so."""
    response = plain(row.get("response"))
    result = plain(response.get("query_result"))
    _user(plain(plain(row.get("request")).get("query_input")), result, row, log)
    for action in _actions(result):
        _action(plain(action), log)
    ends = [_message(plain(one), log) for one in objects(result.get("response_messages"), "responseMessages")]
    if not response:
        log.unread.add(NO_ANSWER, "a row holds no response", calls=True, words=True)
    elif row.get("partial_responses"):
        log.unread.add(UNREAD, "partial_responses are not read", words=True)
    return next((end for end in reversed(ends) if end), None)


def _user(given: JsonObject, result: JsonObject, row: JsonObject, log: Dialogue) -> None:
    """Opens a turn with what the user did; the result of a tool that the client ran opens none."""
    time = row.get("request_time")
    answer = given.get("tool_call_result")
    if answer is not None:
        found = plain(answer)
        error = plain(found.get("error")).get("message")
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
    tracing = plain(plain(result.get("generative_info")).get("action_tracing_info"))
    found = list(objects(tracing.get("actions"), "actions"))
    if not found:
        for block in objects(result.get("trace_blocks"), "traceBlocks"):
            found += objects(block.get("actions"), "actions")
    yield from found


def _action(action: JsonObject, log: Dialogue) -> None:
    use = plain(action.get("tool_use"))
    if use:
        name = as_text(use.get("action") or use.get("display_name") or use.get("tool"))
        tool = as_text(use.get("tool")) or ""
        log.call(name, use.get("input_action_parameters") or {}, None, tool)
        exception = plain(plain(action.get("status")).get("exception"))
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
            call = plain(held)
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
