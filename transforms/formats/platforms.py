"""Traces of Amazon Bedrock Agents: one record a step, by the documented schema."""

from collections.abc import Sequence

from turnwise.schemas.conversation import Conversation
from turnwise.schemas.jsonio import JsonObject
from turnwise.transforms.formats.messages.dialogue import Dialogue
from turnwise.transforms.formats.messages.messages_base import MISSING_HISTORY
from turnwise.transforms.formats.messages.values import as_object, decoded, stated
from turnwise.transforms.formats.platforms.bedrock_calls import add_calls
from turnwise.transforms.formats.registry import EventReader, Format, register_format
from turnwise.transforms.formats.spellings import as_text

_STEPLESS = ("modelInvocationInput", "rationale", "modelInvocationOutput", "invocationInput", "observation")
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


def _place(value: JsonObject) -> tuple[str, int]:
    return str(_whole(value).get("sessionId") or ""), -1


def _join(session_id: str, values: Sequence[JsonObject]) -> Conversation:
    parts = [_whole(value) for value in values]
    log, is_over, inner = Dialogue(), True, 0
    for part in parts:
        if part.get("collaboratorName"):
            inner += 1
            continue
        trace = as_object(part.get("trace"))
        if is_over and _POST in trace and log.turns:
            _post_process(as_object(trace[_POST]), log)
            continue
        if is_over:
            log.open()
            log.failure = None
            log.turn.timestamp = part.get("eventTime")
            log.unread.add(MISSING_HISTORY, _NO_USER)
        is_over = _step(trace, log)
    if inner:
        log.general.add("SubAgent", f"{inner} steps of collaborators are left out")
    end = log.end({})
    first = parts[0]
    return Conversation(
        conversation_id=session_id,
        source="bedrock_agents",
        app_version=as_text(first.get("agentVersion")),
        start_time=as_text(first.get("eventTime")),
        turns=log.close(end),
        ended=end.ended,
        ended_detail=end.detail,
        meta={key: first[key] for key in ("agentId", "agentAliasId") if key in first},
    )


def _post_process(step: JsonObject, log: Dialogue) -> None:
    """Puts the text of the last step in the place of the final response."""
    output = as_object(as_object(step.get("modelInvocationOutput")).get("parsedResponse"))
    if output.get("text"):
        log.turn.agent_messages = log.turn.agent_messages[:-1]
        log.agent(str(output["text"]))
        log.finish = "stop"


def _step(trace: JsonObject, log: Dialogue) -> bool:
    """Adds a step; returns whether it ends the turn."""
    is_over = False
    for kind, held in stated(trace).items():
        step = as_object(held)
        if kind == "failureTrace":
            log.failure = step.get("failureReason") or "failureTrace"
            is_over = True
        elif kind in ("orchestrationTrace", "routingClassifierTrace"):
            add_calls(as_object(step.get("invocationInput")), log)
            is_over = _observation(as_object(step.get("observation")), log)
            output = as_object(as_object(step.get("modelInvocationOutput")).get("metadata"))
            usage = as_object(output.get("usage"))
            log.usage({"input_tokens": usage.get("inputTokens"), "output_tokens": usage.get("outputTokens")})
            for name in step.keys() - set(_STEPLESS):
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


register_format(
    Format(
        name="bedrock_agents",
        help="traces of Amazon Bedrock Agents",
        keys=("sessionId", "agentId", "eventTime", "trace"),
        rank=88,
        recognises=_fits,
        events=EventReader(place=_place, join=_join),
        time_keys=("eventTime",),
        has_rubrics=False,
    )
)
