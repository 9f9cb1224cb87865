"""Simulations in the YAML files of the CES command line, as eval cases."""

from collections.abc import Iterator

from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import Record
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.messages.values import as_object, listed, objects
from turnwise.transforms.formats.registry import Format, ReadSettings, register_format
from turnwise.transforms.formats.spellings import as_text


def _is_simulations(record: JsonObject) -> bool:
    cases = record.get("evals")
    return isinstance(cases, list) and any(isinstance(case, dict) and "steps" in case for case in cases)


def _simulations(value: JsonValue, record: Record, settings: ReadSettings) -> list[EvalCase]:
    return list(_scenarios(value))


def _scenarios(value: JsonObject) -> Iterator[EvalCase]:
    for place, case in enumerate(objects(value["evals"], "evals")):
        name = as_text(case.get("name"))
        if not name:
            raise ValueError(f"evals.{place}: it has no name")
        steps = list(objects(case.get("steps"), "steps"))
        yield EvalCase(
            name,
            kind="scenario",
            dialect="ces",
            display_name=name,
            tags=listed(case.get("tags"), "tags"),
            task="\n".join(str(step["goal"]) for step in steps if step.get("goal")),
            evaluation_expectations=[
                *(str(step["success_criteria"]) for step in steps if step.get("success_criteria")),
                *(str(each) for each in listed(case.get("expectations"), "expectations")),
            ],
            user_behaviors=[
                str(step["response_guide"]).strip() for step in steps if "response_guide" in step
            ],
            session_state=as_object(case.get("session_parameters")),
        )


register_format(
    Format(
        name="ces_simulations",
        keys=("evals",),
        help="simulations of the CES command line (YAML)",
        rank=104,
        recognises=_is_simulations,
        read_cases=_simulations,
    )
)
