"""Traces of Amazon Bedrock Agents: one record a step, by the documented schema."""

from collections.abc import Sequence

from turnwise.schemas.conversation import Conversation
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.endings import as_text
from turnwise.transforms.formats.messages.dialogue import Dialogue
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
            locate=lambda value: (str(_whole(value).get("sessionId") or ""), -1), join=_join_bedrock
        ),
        time_keys=("eventTime",),
        has_rubrics=False,
    )
)


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
