"""Which evaluations the service accepts: those that a run would, named, and within the API's limits."""

from pipeline.serve.errors import invalid, refused_field
from schemas.ces.cases import Evaluation
from schemas.config import CesConfig
from schemas.values import JsonObject
from transforms.formats.ces_cases import eval_case
from transforms.wire import dump_json

MAX_BYTES = 4 * 1024 * 1024
"""Size of a request's JSON, and of an evaluation's."""

_MOST_TURNS = 100


def check_content(content: JsonObject) -> None:
    """Raises ServiceError if an evaluation cannot be stored: its content as it would be after the request."""
    if not content.get("displayName", "").strip():
        raise invalid("evaluation.displayName", "is required")
    if "golden" not in content and "scenario" not in content:
        raise invalid("evaluation", "golden or scenario is required")
    if len(content.get("golden", {}).get("turns", ())) > _MOST_TURNS:
        raise invalid("evaluation.golden.turns", f"at most {_MOST_TURNS} are possible")
    if not 0 <= content.get("scenario", {}).get("maxTurns", 0) <= _MOST_TURNS:
        raise invalid("evaluation.scenario.maxTurns", f"must lie between 0 and {_MOST_TURNS}")
    text = dump_json(content)
    if len(text) > MAX_BYTES:
        raise invalid("evaluation", f"is larger than {MAX_BYTES // 1024 // 1024} MiB")
    with refused_field("evaluation"):
        Evaluation.from_value(content)
        eval_case(text, CesConfig())
