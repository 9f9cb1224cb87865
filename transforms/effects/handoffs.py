"""Converts hand-offs that are recorded or expected without a tool call into equivalent calls."""

from collections.abc import Iterable, Sequence

from turnwise.schemas.conversation import ExpectedTurn, ToolCall, Turn
from turnwise.transforms.effects.tool_catalog import ToolCatalog
from turnwise.transforms.matching.expectations import same_agent

_TOOL, _PARAMETER = "transfer_to_agent", "agent_name"


def recorded_handoffs(turn: Turn, catalog: ToolCatalog, wanted: Iterable[ToolCall] = ()) -> list[ToolCall]:
    """Returns the hand-offs of a turn that have no call of their own.

    Args:
        turn: The recorded turn.
        catalog: Effects of the tools.
        wanted: Expected calls; a hand-off to an agent that one of them names becomes that call.
    """
    agents = _without_called(turn.transfers, turn.tool_calls, catalog)
    return [_as_wanted(_call(agent), wanted, catalog) for agent in agents]


def expected_handoffs(turn: ExpectedTurn, catalog: ToolCatalog) -> tuple[list[ToolCall], list[ToolCall]]:
    """Returns the required and the optional hand-offs of a golden turn, beside its calls."""
    found = [each for each in turn.expectations if each.kind == "agent_transfer"]
    wanted = [each.target_agent or "" for each in found if not each.skip]
    free = [*(each.target_agent or "" for each in found if each.skip), *turn.scripted_transfers]
    must = _without_called(wanted, turn.tool_calls or (), catalog)
    return [_call(agent) for agent in must], [_call(agent) for agent in free]


def _call(agent: str) -> ToolCall:
    return ToolCall(_TOOL, {_PARAMETER: agent.rsplit("/", 1)[-1]})


def _as_wanted(made: ToolCall, wanted: Iterable[ToolCall], catalog: ToolCatalog) -> ToolCall:
    """Returns the expected call that hands over to the same agent and has no other argument, else `made`."""
    agent = (made.args or {})[_PARAMETER]
    return next(
        (c for c in wanted if len(c.args or ()) == 1 and _names(c, agent) and _hands_over(c, catalog)), made
    )


def _without_called(agents: Sequence[str], calls: Sequence[ToolCall], catalog: ToolCatalog) -> list[str]:
    """Removes agents for which there is a call: the named agent, else one agent per unnamed hand-off."""
    left = list(agents)
    unnamed = 0
    for call in calls if left else ():
        if not _hands_over(call, catalog):
            continue
        named = next((agent for agent in left if _names(call, agent)), None)
        if named is not None:
            left.remove(named)
        elif not (call.name == _TOOL and (call.args or {}).get(_PARAMETER)):
            unnamed += 1
    return left[unnamed:]


def _hands_over(call: ToolCall, catalog: ToolCatalog) -> bool:
    return catalog.effect_of(call).effect == "handoff"


def _names(call: ToolCall, agent: object) -> bool:
    return any(
        isinstance(value, str) and same_agent(value, str(agent)) for value in (call.args or {}).values()
    )
