"""Traces of Amazon Bedrock Agents: one record a step, by the documented schema."""

from collections.abc import Sequence

from turnwise.schemas.conversation import Conversation
from turnwise.schemas.jsonio import JsonObject, JsonValue, json_structure
from turnwise.transforms.formats.endings import UNKNOWN, End, as_text
from turnwise.transforms.formats.fields import NO_ANSWER, UNREAD, add_leap
from turnwise.transforms.formats.messages.dialogue import Dialogue
from turnwise.transforms.formats.messages.kinds import snake
from turnwise.transforms.formats.messages.messages_base import MISSING_HISTORY
from turnwise.transforms.formats.messages.streams import as_object, decoded, key_set, objects, stated
from turnwise.transforms.formats.registry import EventReader, Format, register_format

_STEP_KEYS = key_set("modelInvocationInput rationale modelInvocationOutput invocationInput observation")
_POST = "postProcessingTrace"
_NO_USER = "traces of Bedrock Agents hold what the user said only inside of prompts, which are not read"


def _whole(value: JsonObject) -> JsonObject:
    """Returns a trace part: the record, or what an event of the response stream holds under `trace`."""
    inner = value.get("trace")
    return inner if isinstance(inner, dict) and "trace" in inner and "sessionId" in inner else value


def _fits(record: JsonObject) -> bool:
    part = _whole(record)
    kinds = as_object(part.get("trace"))
    return "sessionId" in part and any(kind.endswith("Trace") for kind in kinds)


def _join_bedrock(session_id: str, values: Sequence[JsonObject]) -> Conversation:
    parts = [_whole(value) for value in values]
    log, is_over, inner = Dialogue(), True, 0
    for part in parts:
        if part.get("collaboratorName"):
            inner += 1
            continue
        trace = as_object(part.get("trace"))
        if is_over and _POST in trace and log.turns:
            # Its text takes the place of the final response.
            output = as_object(as_object(trace[_POST]).get("modelInvocationOutput"))
            text = as_object(output.get("parsedResponse")).get("text")
            if text:
                log.turn.agent_messages = log.turn.agent_messages[:-1]
                log.agent(str(text))
                log.finish = "stop"
            continue
        if is_over:
            log.open()
            log.failure = None
            log.turn.timestamp = part.get("eventTime")
            log.unread.add(MISSING_HISTORY, _NO_USER)
        is_over = _step(trace, log)
    if inner:
        log.general.add("SubAgent", f"{inner} steps of collaborators are left out")
    first = parts[0]
    return log.conversation(
        session_id,
        "bedrock_agents",
        start_time=as_text(first.get("eventTime")),
        meta={key: first[key] for key in ("agentId", "agentAliasId") if key in first},
    )


def _step(trace: JsonObject, log: Dialogue) -> bool:
    """Adds a step; returns whether it ends the turn."""
    is_over = False
    for kind, held in stated(trace).items():
        step = as_object(held)
        if kind == "failureTrace":
            log.failure = step.get("failureReason") or "failureTrace"
            is_over = True
        elif kind in ("orchestrationTrace", "routingClassifierTrace"):
            _add_calls(as_object(step.get("invocationInput")), log)
            is_over = _observation(as_object(step.get("observation")), log)
            output = as_object(as_object(step.get("modelInvocationOutput")).get("metadata"))
            log.usage(output.get("usage"))
            for name in sorted(step.keys() - _STEP_KEYS):
                log.unread.part(name)
        elif kind == "guardrailTrace" and step.get("action") == "INTERVENED":
            log.failure = "guardrail_intervened"
        elif kind == "customOrchestrationTrace":
            log.unread.part(kind)
    return is_over


def _observation(given: JsonObject, log: Dialogue) -> bool:
    """Adds a result or the answer; returns whether it is the answer."""
    is_over = False
    for kind, held in stated(given).items():
        step = as_object(held)
        if kind in ("finalResponse", "repromptResponse"):
            log.agent(str(step.get("text") or ""))
            log.finish, is_over = "stop", kind == "finalResponse"
        elif kind == "actionGroupInvocationOutput":
            log.result(decoded(step.get("text")))
        elif kind == "knowledgeBaseLookupOutput":
            log.result(step.get("retrievedReferences"), None, "knowledge_base")
        elif kind == "codeInterpreterInvocationOutput":
            log.result(step.get("executionOutput"), None, "code_interpreter", step.get("executionError"))
        elif kind == "agentCollaboratorInvocationOutput":
            text = as_object(step.get("output")).get("text")
            log.result(text, None, step.get("agentCollaboratorName"))
        elif isinstance(held, dict):
            log.unread.part(kind)
    return is_over


# For example {"sessionId": "s", "trace": {"orchestrationTrace": {"observation": {"finalResponse": {...}}}}}
register_format(
    Format(
        name="bedrock_agents",
        help="traces of Amazon Bedrock Agents",
        keys=("sessionId", "agentId", "eventTime", "trace"),
        rank=88,
        recognises=_fits,
        events=EventReader(
            place=lambda value: (str(_whole(value).get("sessionId") or ""), -1), join=_join_bedrock
        ),
        time_keys=("eventTime",),
        has_rubrics=False,
    )
)


def _place(value: JsonObject) -> tuple[str, int]:
    name, position = as_text(value.get("conversation_name")), value.get("turn_position")
    try:
        index = int(position) if isinstance(position, int | str) else -1
    except ValueError:
        index = -1
    if not name or index < 0:
        raise ValueError("a row of Dialogflow CX needs conversation_name and turn_position")
    return name, index


def _join_dialogflow(session_id: str, values: Sequence[JsonObject]) -> Conversation:
    log, end = Dialogue(), UNKNOWN
    leaps: list[tuple[int, int, int]] = []
    last: int | None = None
    for row in values:
        position = _place(row)[1]
        before = last or 0
        if position > before + 1 or position == last:
            leaps.append((len(log.turns), before, position))
        last = position
        end = _add_row(row, log) or end
    first = values[0]
    made = log.conversation(
        session_id,
        "dialogflow_cx",
        end,
        language=as_text(first.get("language_code")),
        start_time=as_text(first.get("request_time")),
        meta={key: first[key] for key in ("project_id", "agent_id") if key in first},
    )
    for place, before, position in leaps:
        add_leap(made.turns[min(place, len(made.turns) - 1)], before, position, first=1)
    return made


# For example {"conversation_name": "c", "turn_position": 1, "request": {...}, "response": {...}}
register_format(
    Format(
        name="dialogflow_cx",
        help="interaction logs of Dialogflow CX (BigQuery rows)",
        keys=("conversation_name", "turn_position", "request", "response"),
        rank=86,
        recognises=lambda record: record.keys() >= {"conversation_name", "turn_position"},
        events=EventReader(place=_place, join=_join_dialogflow),
        time_keys=("request_time",),
        has_rubrics=False,
    )
)


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


def _add_row(row: JsonObject, log: Dialogue) -> End | None:
    """Adds a row; returns how the conversation ends, if the row says so."""
    response = _plain(row.get("response"))
    result = _plain(response.get("query_result"))
    given = _plain(_plain(row.get("request")).get("query_input"))
    heard = str(result.get("transcript") or result.get("text") or "")
    if "tool_call_result" in given:  # of a tool that the client ran
        answer = _plain(given["tool_call_result"])
        error = _plain(answer.get("error")).get("message")
        log.result(answer.get("output_parameters"), None, answer.get("action") or answer.get("tool"), error)
    else:
        asked = {
            "text": as_object(given.get("text")).get("text"),
            "audio": heard,
            "dtmf": as_object(given.get("dtmf")).get("digits"),
            "event": f"<event>{as_object(given.get('event')).get('event')}</event>",
        }
        kind = next((name for name in asked if name in given), None)
        log.user(str(asked[kind] or "") if kind else heard, row.get("request_time"))
        if kind is None:
            unknown = next((key for key in given if key != "language_code"), "a request without input")
            log.unread.part(unknown)
    tracing = _plain(_plain(result.get("generative_info")).get("action_tracing_info"))
    actions = list(objects(tracing.get("actions"), "actions"))
    for block in () if actions else objects(result.get("trace_blocks"), "traceBlocks"):
        actions += objects(block.get("actions"), "actions")
    for action in actions:
        _action(_plain(action), log)
    messages = objects(result.get("response_messages"), "responseMessages")
    ends = [_message(_plain(message), log) for message in messages]
    if not response:
        log.unread.add(NO_ANSWER, "a row holds no response", calls=True, words=True)
    elif row.get("partial_responses"):
        log.unread.add(UNREAD, "partial_responses are not read", words=True)
    return next((end for end in reversed(ends) if end), None)


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
    for kind in sorted(action.keys() - _ACTIONS_WITHOUT_CALLS):
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


def _add_calls(given: JsonObject, log: Dialogue) -> None:
    """Adds the calls of an invocation, each under the kind of what it calls."""
    for kind, held in given.items():
        step = as_object(held)
        if kind == "actionGroupInvocationInput":
            name = step.get("function") or f"{step.get('verb')} {step.get('apiPath')}".strip()
            parameters = list(objects(step.get("parameters"), "parameters"))
            for fields in as_object(as_object(step.get("requestBody")).get("content")).values():
                parameters += objects(fields, "requestBody.content")
            args = {str(parameter.get("name")): _typed(parameter) for parameter in parameters}
            log.call(name, args, step.get("invocationId"), str(step.get("actionGroupName") or ""))
        elif kind == "knowledgeBaseLookupInput":
            base = str(step.get("knowledgeBaseId") or "")
            log.call("knowledge_base", {"text": step.get("text")}, None, base)
        elif kind == "codeInterpreterInvocationInput":
            log.call("code_interpreter", {"code": step.get("code")})
        elif kind == "agentCollaboratorInvocationInput":
            log.call(step.get("agentCollaboratorName"), {"input": as_object(step.get("input")).get("text")})
        elif isinstance(held, dict):
            log.unread.part(kind)


def _typed(parameter: JsonObject) -> JsonValue:
    value, kind = parameter.get("value"), parameter.get("type")
    if not isinstance(value, str) or kind not in ("integer", "number", "boolean", "array", "object"):
        return value
    if kind == "boolean":
        return {"true": True, "false": False}.get(value.lower(), value)
    try:
        return int(value) if kind == "integer" else float(value) if kind == "number" else decoded(value)
    except ValueError:
        return value
