"""Checks requests and evaluations against the limits of the API and the rules of a run."""

import orjson

from turnwise.pipeline.service.errors import ServiceError, field_errors, invalid
from turnwise.schemas.ces.results import Evaluation
from turnwise.schemas.config import CesConfig
from turnwise.schemas.jsonio import JsonObject, dump_json
from turnwise.transforms.formats.ces_cases import eval_case

MAX_BYTES = 4 * 1024 * 1024
"""Size of a request's JSON, and of an evaluation's."""

_MOST_TURNS = 100
_MOST_TAGS = 100
_LONGEST_LIST = 10_000
_MOST_VALUES = 100_000


def check_lists(request: bytes | JsonObject) -> None:
    """Raises ServiceError if a request holds too many values, which would delay other requests.

    Args:
        request: JSON, parsed or not. Invalid JSON is not checked here.
    """
    try:
        value = orjson.loads(request) if isinstance(request, bytes) else request
    except orjson.JSONDecodeError:
        return
    count, waiting = 0, [value]
    while waiting:
        one = waiting.pop()
        inside = one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()
        if isinstance(one, list) and len(one) > _LONGEST_LIST:
            raise ServiceError("INVALID_ARGUMENT", f"a list holds more than {_LONGEST_LIST} entries")
        count += len(inside)
        if count > _MOST_VALUES:
            raise ServiceError("INVALID_ARGUMENT", f"the request holds more than {_MOST_VALUES} values")
        waiting.extend(inside)


def check_content(content: JsonObject) -> None:
    """Raises ServiceError if the content of an evaluation after a request is not valid."""
    if not content.get("displayName", "").strip():
        raise invalid("evaluation.displayName", "is required")
    if "golden" not in content and "scenario" not in content:
        raise invalid("evaluation", "golden or scenario is required")
    if len(content.get("tags", ())) > _MOST_TAGS:
        raise invalid("evaluation.tags", f"must have at most {_MOST_TAGS} entries")
    if len(content.get("golden", {}).get("turns", ())) > _MOST_TURNS:
        raise invalid("evaluation.golden.turns", f"must have at most {_MOST_TURNS} entries")
    if not 0 <= content.get("scenario", {}).get("maxTurns", 0) <= _MOST_TURNS:
        raise invalid("evaluation.scenario.maxTurns", f"must lie between 0 and {_MOST_TURNS}")
    text = dump_json(content)
    if len(text) > MAX_BYTES:
        raise invalid("evaluation", f"is larger than {MAX_BYTES // 1024 // 1024} MiB")
    with field_errors("evaluation"):
        Evaluation.from_value(content)
        eval_case(text, CesConfig())
