"""CES records as its tools export them, in the form of the API's own proto3 JSON."""

from turnwise.schemas.jsonio import JsonObject, JsonValue, dump_json

_STRUCTS = frozenset(
    ("args", "response", "variables", "updatedVariables", "updated_variables", "attributes", "payload")
)


def without_underscores(value: JsonValue) -> JsonValue:
    """Returns a record without the underscore that Python classes add to reserved names (`type_`)."""
    if isinstance(value, list):
        return [without_underscores(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        ("type" if key == "type_" and "type" not in value else key): (
            item if key in _STRUCTS else without_underscores(item)
        )
        for key, item in value.items()
    }


def wire_evaluation(value: JsonObject) -> bytes:
    """Returns an Evaluation as the API has it: an export holds statements in place of their names."""
    whole = without_underscores(value)
    for script in ("golden", "scenario"):
        inner = whole.get(script)
        for key, items in inner.items() if isinstance(inner, dict) else ():
            if isinstance(items, list):
                inner[key] = [_statement(each) for each in items]
    return dump_json(whole)


def _statement(item: JsonValue) -> JsonValue:
    """Returns the text of a statement; any other item unchanged."""
    criteria = (item.get("llmCriteria") or item.get("llm_criteria")) if isinstance(item, dict) else None
    return (criteria.get("prompt") or item) if isinstance(criteria, dict) else item
