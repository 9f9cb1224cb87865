"""Finds the calls of a conversation that changed something."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from turnwise.schemas.conversation import ToolCall, ToolResponse, Turn
from turnwise.transforms.effects.failures import changed_nothing, has_failed
from turnwise.transforms.effects.handoffs import recorded_handoffs
from turnwise.transforms.effects.tool_catalog import ToolCatalog, called_tool
from turnwise.transforms.matching.responses import pair_responses


class AppliedChanges(NamedTuple):
    """Calls of tools that write or hand over, by their outcome.

    Attributes:
        succeeded: Calls that had an effect, in order.
        failed: Calls whose response is an error.
        no_ops: Calls whose response states that nothing had to change.
    """

    succeeded: list[ToolCall]
    failed: list[ToolCall]
    no_ops: list[ToolCall]


def agent_changes(
    turns: Sequence[Turn], catalog: ToolCatalog, wanted: Sequence[ToolCall] = ()
) -> AppliedChanges:
    """Returns the changes that the agent made in some turns, including hand-offs without a call.

    Args:
        turns: The recorded turns.
        catalog: Effects of the tools.
        wanted: Expected calls; a hand-off without a call takes its name and arguments from a matching one.
    """
    applied = _applied([(turn.tool_calls, turn.tool_responses) for turn in turns], catalog)
    for turn in turns:
        if turn.transfers:
            applied.succeeded.extend(changing_calls(recorded_handoffs(turn, catalog, wanted), catalog))
    return applied


def user_changes(turns: Iterable[Turn], catalog: ToolCatalog) -> AppliedChanges:
    """Returns the changes that the user made with their own tools."""
    return _applied([(turn.user_tool_calls, turn.user_tool_responses) for turn in turns], catalog)


def _applied(
    turns: Sequence[tuple[list[ToolCall], list[ToolResponse]]], catalog: ToolCatalog
) -> AppliedChanges:
    applied = AppliedChanges([], [], [])
    for calls, responses in turns:
        if any(catalog.effect_of(call).effect != "read" for call in calls):
            for call, response in zip(calls, pair_responses(calls, responses), strict=True):
                if catalog.effect_of(call).effect != "read":
                    _list_for(applied, call, response).append(call)
    return applied


def _list_for(applied: AppliedChanges, call: ToolCall, response: ToolResponse | None) -> list[ToolCall]:
    if has_failed(response, called_tool(call)):
        return applied.failed
    return applied.no_ops if changed_nothing(response) else applied.succeeded


def changing_calls(calls: Iterable[ToolCall], catalog: ToolCatalog) -> list[ToolCall]:
    """Returns the calls whose tools write or hand over."""
    return [call for call in calls if catalog.effect_of(call).effect != "read"]
