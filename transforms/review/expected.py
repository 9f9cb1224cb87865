"""What a case expects of a whole conversation, and single expectations, as they stand in transcripts."""

from collections.abc import Sequence

from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import Expectation
from turnwise.schemas.rows import ExpectedPart
from turnwise.transforms.effects.changes import call_text, value_text
from turnwise.transforms.review.calls import CallEffects, expected_calls


def expected_of_whole(case: EvalCase, effects: CallEffects) -> ExpectedPart | None:
    """Returns what is expected of a conversation as a whole; None: nothing."""
    part = ExpectedPart()
    if case.actions is not None:
        part["tool_calls"] = expected_calls(case.actions, effects)
    if case.user_actions:
        part["user_tool_calls"] = expected_calls(case.user_actions, effects)
    if case.outputs:
        part["texts"] = case.outputs
    if case.expectations:
        add_expectations(part, case.expectations, effects)
    if case.final_session_state:
        part["variables"] = {**part.get("variables", {}), **case.final_session_state}
    rubrics = [
        *(rubric.text for rubric in case.rubrics),
        *case.evaluation_expectations,
    ]
    if rubrics:
        part["rubrics"] = rubrics
    if case.task:
        part["task"] = case.task
    doubts = [doubt for doubt in (case.unread, case.not_found) if doubt]
    if doubts:
        part["other"] = [*part.get("other", ()), *doubts]
    return part or None


def add_expectations(part: ExpectedPart, expectations: Sequence[Expectation], effects: CallEffects) -> None:
    """Adds single expectations; calls and texts that a turn states already are not repeated."""
    states_calls = "tool_calls" in part
    for each in expectations:
        if each.skip:
            part["other"] = [*part.get("other", ()), f"skipped: {_told(each)}"]
        elif each.kind == "tool_call" and each.tool_call:
            if not states_calls:
                calls = expected_calls([each.tool_call], effects)
                part["tool_calls"] = [*part.get("tool_calls", ()), *calls]
        elif each.kind == "no_tool_calls":
            part.setdefault("tool_calls", [])
        elif each.kind != "mock_tool_response":
            _add_other(part, each)


def _add_other(part: ExpectedPart, expectation: Expectation) -> None:
    """Adds an expectation that is not of calls."""
    if expectation.kind == "agent_response" and expectation.text is not None:
        if expectation.text != part.get("response"):
            part["texts"] = [*part.get("texts", ()), expectation.text]
    elif expectation.kind == "agent_transfer" and expectation.target_agent:
        if expectation.target_agent not in part.get("transfers", ()):
            part["transfers"] = [*part.get("transfers", ()), expectation.target_agent]
    elif expectation.kind == "updated_variables":
        part["variables"] = {**part.get("variables", {}), **(expectation.variables or {})}
    else:
        part["other"] = [*part.get("other", ()), _told(expectation)]


def _told(expectation: Expectation) -> str:
    """Returns a single expectation in one line."""
    if expectation.tool_call is not None:
        return f"{expectation.kind}: {call_text(expectation.tool_call)}"
    response = expectation.tool_response
    if response is not None:
        return f"{expectation.kind}: {response.name}: {value_text(response.response)}"
    value = expectation.text or expectation.target_agent or expectation.variables
    return f"{expectation.kind}: {value_text(value)}" if value else expectation.kind
