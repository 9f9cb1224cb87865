"""Reads canonical eval cases strictly: what nobody knows is a mistake of the writer."""

from difflib import get_close_matches
from functools import cache
from typing import Any

import msgspec

from schemas.case import EvalCase
from schemas.conversation import Expectation, ToolCall
from schemas.values import JsonObject, JsonValue
from transforms.arguments import check_directives
from transforms.formats.problems import canonical

_WHAT = "not an eval case"
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
    case = canonical(EvalCase, _known(value, EvalCase, ""), _WHAT, strict=True)
    expectations = [*case.expectations, *(e for turn in case.turns for e in turn.expectations)]
    for expectation in expectations:
        holder = _HOLDERS.get(expectation.kind)
        if holder is not None and getattr(expectation, holder) is None:
            raise ValueError(f"{_WHAT}: an expectation of the kind {expectation.kind} needs {holder}")
    for call in _calls(case, expectations):
        check_directives(call.args or {})
    if not _expects_something(case):
        raise ValueError(f"{_WHAT}: {case.eval_id} expects nothing")
    return case


def _expects_something(case: EvalCase) -> bool:
    """Tells whether a case states anything that a conversation can be held against."""
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


def _known(value: JsonValue, kind: Any, path: str) -> JsonValue:
    """Returns a value without the nulls of its models; raises ValueError for a field that no model has."""
    if isinstance(value, list):
        inner = _element(kind)
        return [_known(item, inner, f"{path}{i}.") for i, item in enumerate(value)] if inner else value
    model = _model(kind)
    if model is None or not isinstance(value, dict):
        return value
    fields = {field.name: field.type for field in msgspec.structs.fields(model)}
    for name in value.keys() - fields.keys():
        near = get_close_matches(name, fields, n=1, cutoff=0.5)
        hint = f" (did you mean {near[0]}?)" if near else ""
        raise ValueError(f"{_WHAT}: {path}{name}: unknown field{hint}")
    given = ((name, item) for name, item in value.items() if item is not None)
    return {name: _known(item, fields[name], f"{path}{name}.") for name, item in given}


@cache
def _model(kind: Any) -> type[msgspec.Struct] | None:
    """Returns the model that a type stands for, if any; None stands beside it at most."""
    choices = getattr(kind, "__args__", (kind,)) if not isinstance(kind, type) else (kind,)
    models = [c for c in choices if isinstance(c, type) and issubclass(c, msgspec.Struct)]
    return models[0] if models else None


@cache
def _element(kind: Any) -> Any:
    """Returns the type of a list's elements if they are models."""
    choices = (kind, *getattr(kind, "__args__", ()))
    inner = [c.__args__[0] for c in choices if getattr(c, "__origin__", None) is list]
    return inner[0] if inner and _model(inner[0]) else None
