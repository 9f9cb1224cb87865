"""CES records as its tools export them, in the form of the API's own proto3 JSON."""

from turnwise.schemas.jsonio import dump_json
from turnwise.schemas.values import JsonObject, JsonValue

_STRUCTS = frozenset(
    ("args", "response", "variables", "updatedVariables", "updated_variables", "attributes", "payload")
)
_EXPECTATIONS = ("evaluationExpectations", "evaluation_expectations")


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
    """Returns an Evaluation as the API has it: an export holds its statements, not their names."""
    whole = without_underscores(value)
    for script in ("golden", "scenario"):
        inner = whole.get(script)
        for key in _EXPECTATIONS if isinstance(inner, dict) else ():
            if isinstance(inner.get(key), list):
                inner[key] = [_statement(each) for each in inner[key]]
    return dump_json(whole)


def _statement(expectation: JsonValue) -> JsonValue:
    if not isinstance(expectation, dict):
        return expectation
    criteria = expectation.get("llmCriteria", expectation.get("llm_criteria"))
    prompt = criteria.get("prompt") if isinstance(criteria, dict) else None
    return prompt or expectation.get("displayName", expectation.get("display_name", expectation))
