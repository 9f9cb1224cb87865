"""Shortens a conversation or a case to an example."""

from collections.abc import Sequence

from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import Conversation, ToolCall, ToolResponse
from turnwise.schemas.jsonio import JsonObject
from turnwise.transforms.effects.changes import call_text, value_text
from turnwise.transforms.matching.calls import pair_responses

_TURNS, _CALLS = 2, 3
_MORE = "..."


def conversation_example(conversation: Conversation) -> JsonObject:
    """Returns the first two turns of a conversation, each with at most three calls, as short texts.

    Returns:
        `kind`, `id`, `app_version`, `turns` (number) and `lines`: who, and what they said or called.
    """
    lines: list[list[str]] = []
    for turn in conversation.turns[:_TURNS]:
        if turn.user is not None:
            lines.append(["user", value_text(turn.user)])
        lines += _calls(turn.tool_calls, turn.tool_responses)
        if turn.agent:
            lines.append(["agent", value_text(turn.agent)])
    return {
        "kind": "conversation",
        "id": conversation.conversation_id,
        "app_version": conversation.app_version,
        "turns": len(conversation.turns),
        "lines": _ended(lines, len(conversation.turns)),
    }


def case_example(case: EvalCase) -> JsonObject:
    """Returns the first two turns of an eval case in the same form."""
    lines: list[list[str]] = [["task", value_text(case.task)]] if case.task else []
    for turn in case.turns[:_TURNS]:
        if turn.user is not None:
            lines.append(["user", value_text(turn.user)])
        lines += _calls(turn.tool_calls or (), ())
        if turn.response:
            lines.append(["agent", value_text(turn.response)])
    if not case.turns:
        lines += _calls(case.actions or (), ())
    lines = _ended(lines, len(case.turns))
    return {"kind": case.kind, "id": case.eval_id, "turns": len(case.turns), "lines": lines}


def _ended(lines: list[list[str]], turns: int) -> list[list[str]]:
    return [*lines, [_MORE, f"{turns - _TURNS} more turns"]] if turns > _TURNS else lines


def _calls(calls: Sequence[ToolCall], responses: Sequence[ToolResponse]) -> list[list[str]]:
    paired = pair_responses(list(calls), list(responses))
    lines = [
        ["calls", call_text(call) + (f" -> {_answer(response)}" if response else "")]
        for call, response in zip(calls[:_CALLS], paired, strict=False)
    ]
    return [*lines, [_MORE, f"{len(calls) - _CALLS} more calls"]] if len(calls) > _CALLS else lines


def _answer(response: ToolResponse) -> str:
    return f"error {value_text(response.error)}" if response.error else value_text(response.response)
