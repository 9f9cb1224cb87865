"""What was changed in a conversation: the calls with an effect that succeeded."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from turnwise.schemas.conversation import ToolCall, ToolResponse, Turn
from turnwise.transforms.effects.failures import changed_nothing, has_failed
from turnwise.transforms.effects.handoffs import recorded_handoffs
from turnwise.transforms.effects.tool_catalog import ToolCatalog, called_tool
from turnwise.transforms.matching.responses import pair_responses


class AppliedChanges(NamedTuple):
    """Calls of tools that write or hand over.

    Attributes:
        succeeded: Those that had an effect, in order.
        failed: Those whose answer is an error.
        idle: Those whose answer is that all was so before.
    """

    succeeded: list[ToolCall]
    failed: list[ToolCall]
    idle: list[ToolCall]


def agents_work(
    turns: Sequence[Turn], catalog: ToolCatalog, wanted: Sequence[ToolCall] = ()
) -> AppliedChanges:
    """Returns what the agent did in some turns, hand-offs without a call included.

    Args:
        turns: The recorded turns.
        catalog: What the tools do.
        wanted: The expected calls, by which such hand-offs are named.
    """
    done = _work([(turn.tool_calls, turn.tool_responses) for turn in turns], catalog)
    for turn in turns:
        if turn.transfers:
            done.succeeded.extend(changes(recorded_handoffs(turn, catalog, wanted), catalog))
    return done


def users_work(turns: Iterable[Turn], catalog: ToolCatalog) -> AppliedChanges:
    """Returns what the user did with tools of their own."""
    return _work([(turn.user_tool_calls, turn.user_tool_responses) for turn in turns], catalog)


def _work(turns: Sequence[tuple[list[ToolCall], list[ToolResponse]]], catalog: ToolCatalog) -> AppliedChanges:
    done = AppliedChanges([], [], [])
    for calls, responses in turns:
        if any(catalog.effect_of(call).effect != "read" for call in calls):
            for call, response in zip(calls, pair_responses(calls, responses), strict=True):
                if catalog.effect_of(call).effect != "read":
                    _part(done, call, response).append(call)
    return done


def _part(done: AppliedChanges, call: ToolCall, response: ToolResponse | None) -> list[ToolCall]:
    if has_failed(response, called_tool(call)):
        return done.failed
    return done.idle if changed_nothing(response) else done.succeeded


def changes(calls: Iterable[ToolCall], catalog: ToolCatalog) -> list[ToolCall]:
    """Returns those of some expected calls that are to change something."""
    return [call for call in calls if catalog.effect_of(call).effect != "read"]
