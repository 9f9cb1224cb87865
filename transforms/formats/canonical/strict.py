"""Reads canonical eval cases strictly; unknown keys are errors."""

from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import Expectation, ToolCall
from turnwise.schemas.jsonio import JsonObject
from turnwise.transforms.formats.fields import known_fields, unknown_fields
from turnwise.transforms.formats.problems import canonical
from turnwise.transforms.matching.calls import check_directives

_WHAT = "not an eval case"
_NEAR = 0.5
_HOLDERS = {
    "tool_call": "tool_call",
    "tool_response": "tool_response",
    "mock_tool_response": "tool_response",
    "agent_response": "text",
    "agent_transfer": "target_agent",
    "updated_variables": "variables",
}


def strict_case(value: JsonObject) -> EvalCase:
    """Returns an eval case; null counts as absent.

    Raises:
        ValueError: An unknown field, a value of a wrong type or out of its range, an expectation without what
            it expects, or a wrong regular expression; one line with the path.
    """
    unknown = next(unknown_fields(value, EvalCase), None)
    if unknown is not None:
        raise ValueError(f"{_WHAT}: {unknown.problem(_NEAR)}")
    case = canonical(EvalCase, known_fields(value, EvalCase), _WHAT, strict=True)
    expectations = [*case.expectations, *(e for turn in case.turns for e in turn.expectations)]
    for expectation in expectations:
        holder = _HOLDERS.get(expectation.kind)
        is_stated = holder is None or expectation.wire is not None or getattr(expectation, holder) is not None
        if not is_stated:
            raise ValueError(f"{_WHAT}: an expectation of the kind {expectation.kind} needs {holder}")
    for call in _calls(case, expectations):
        check_directives(call.args or {})
    texts = (*case.outputs, *case.evaluation_expectations, *(rubric.text for rubric in case.rubrics))
    if not all(map(str.strip, texts)):
        raise ValueError(f"{_WHAT}: {case.eval_id} expects an empty text")
    if not _expects_something(case):
        raise ValueError(f"{_WHAT}: {case.eval_id} expects nothing")
    return case


def _expects_something(case: EvalCase) -> bool:
    of_turns = (
        turn.response or turn.tool_calls is not None or turn.expectations or turn.rubrics
        for turn in case.turns
    )
    of_whole = (
        case.task,
        case.outputs,
        case.expectations,
        case.evaluation_expectations,
        case.rubrics,
        case.user_actions,
        case.final_session_state,
    )
    return any(of_turns) or case.actions is not None or any(of_whole)


def _calls(case: EvalCase, expectations: list[Expectation]) -> list[ToolCall]:
    stated = [call for turn in case.turns for call in turn.tool_calls or ()]
    made = [e.tool_call for e in expectations if e.tool_call is not None]
    return [*stated, *made, *(case.actions or ())]
