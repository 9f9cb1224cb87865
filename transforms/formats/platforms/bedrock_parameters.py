"""Parameters of calls in traces of Amazon Bedrock Agents."""

from turnwise.schemas.values import JsonObject, JsonValue
from turnwise.transforms.formats.messages.values import as_object, decoded, objects


def call_arguments(step: JsonObject) -> JsonObject:
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
