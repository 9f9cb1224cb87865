"""Calls in traces of Amazon Bedrock Agents."""

from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.messages.dialogue import Dialogue
from turnwise.transforms.formats.messages.values import as_object, decoded, objects


def add_calls(given: JsonObject, log: Dialogue) -> None:
    """Adds the calls of an invocation, each under the kind of what it calls."""
    for kind, held in given.items():
        step = as_object(held)
        call_id = step.get("invocationId")
        if kind == "actionGroupInvocationInput":
            path = f"{step.get('verb')} {step.get('apiPath')}".strip()
            log.call(
                step.get("function") or path,
                _arguments(step),
                call_id,
                str(step.get("actionGroupName") or ""),
            )
        elif kind == "knowledgeBaseLookupInput":
            log.call(
                "knowledge_base", {"text": step.get("text")}, None, str(step.get("knowledgeBaseId") or "")
            )
        elif kind == "codeInterpreterInvocationInput":
            log.call("code_interpreter", {"code": step.get("code")})
        elif kind == "agentCollaboratorInvocationInput":
            log.call(step.get("agentCollaboratorName"), {"input": as_object(step.get("input")).get("text")})
        elif isinstance(held, dict):
            log.unread.part(kind)


def _arguments(step: JsonObject) -> JsonObject:
    """Returns the parameters of a call, and those in the body of a request, by name."""
    found = list(objects(step.get("parameters"), "parameters"))
    for fields in as_object(as_object(step.get("requestBody")).get("content")).values():
        found += objects(fields, "requestBody.content")
    return {str(each.get("name")): _typed(each) for each in found}


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
