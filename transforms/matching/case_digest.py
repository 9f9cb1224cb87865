"""Digests what an eval case expects, so that runs can be held against each other case by case."""

from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

import msgspec

from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import Expectation, ExpectedTurn, Rubric, ToolCall

_ENCODER = msgspec.json.Encoder(order="deterministic")
_BYTES = 8


def case_digest(case: EvalCase | None) -> str | None:
    """Returns 16 hexadecimal digits that are the same where the same is expected, in every run.

    Ids of cases, calls and rubrics, tags, names, and what the user is to say are no part of it, nor are turns
    of which nothing is expected.

    Args:
        case: The case with what the record itself expects; None: there is none.

    Returns:
        None if nothing is expected.
    """
    if case is None:
        return None
    content = _content(case)
    if content == _NOTHING:
        return None
    return blake2b(_encoded(content), digest_size=_BYTES).hexdigest()


def _content(case: EvalCase) -> tuple[Any, ...]:
    turns = [turn for turn in map(_turn, case.turns) if turn != _NO_TURN]
    return (
        turns,
        _calls(case.actions),
        _calls(case.user_actions),
        case.outputs,
        case.final_session_state,
        case.expectations and _expectations(case.expectations),
        case.evaluation_expectations,
        case.rubrics and _rubrics(case.rubrics),
        *(case.kind, case.dialect, case.task, case.user_goal, case.user_goal_enabled, case.thresholds),
        *(case.similarity_enabled, case.tool_correctness_enabled, case.step_tool_correctness_enabled),
    )


def _turn(turn: ExpectedTurn) -> tuple[Any, ...]:
    return (
        turn.response,
        _calls(turn.tool_calls),
        turn.intermediate_responses,
        turn.scripted_transfers,
        turn.expectations and _expectations(turn.expectations),
        turn.thresholds,
        turn.rubrics and _rubrics(turn.rubrics),
        turn.adk_text,
    )


def _calls(calls: Iterable[ToolCall] | None) -> list[Any] | None:
    return None if calls is None else [(c.name, c.args, c.resource, c.compare_args) for c in calls]


def _rubrics(rubrics: Iterable[Rubric]) -> list[Any]:
    return [(rubric.text, rubric.type) for rubric in rubrics]


def _expectations(expectations: Iterable[Expectation]) -> list[Any]:
    found = []
    for own in expectations:
        call, answer = own.tool_call, own.tool_response
        parts: list[Any] = [own.kind, own.text, own.target_agent, own.variables, own.comparison, own.skip]
        parts += [own.parameter_threshold, None if call is None else _calls([call])]
        parts += [None if answer is None else (answer.name, answer.response, answer.error, answer.resource)]
        found.append(parts)
    return found


def _encoded(content: tuple[Any, ...]) -> bytes:
    """Returns a text; that of numbers and letters that JSON has no room for is Python's."""
    try:
        return _ENCODER.encode(content)
    except (ValueError, OverflowError, TypeError):
        return repr(content).encode("utf-8", "backslashreplace")


_NO_TURN = _turn(ExpectedTurn())
_NOTHING = _content(EvalCase(eval_id=""))
