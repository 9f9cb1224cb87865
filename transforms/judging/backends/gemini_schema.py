"""The JSON schema of an answer, as Gemini needs it."""

from turnwise.schemas.jsonio import JsonObject, JsonValue


def in_order(value: JsonValue) -> JsonValue:
    """Returns a JSON schema that states the order of properties; without it, some models sort them."""
    if isinstance(value, list):
        return [in_order(each) for each in value]
    if not isinstance(value, dict):
        return value
    properties = value.get("properties")
    order: JsonObject = {}
    if value.get("type") == "object" and isinstance(properties, dict):
        order["propertyOrdering"] = list(properties)
    return {**{key: in_order(each) for key, each in value.items()}, **order}
