"""Hand-offs that are recorded or expected without a call of a tool, as the calls that they amount to."""

from collections.abc import Iterable, Sequence

from turnwise.schemas.conversation import ExpectedTurn, ToolCall, Turn
from turnwise.transforms.effects.tool_catalog import ToolCatalog
from turnwise.transforms.matching.expectations import same_agent

_TOOL, _PARAMETER = "transfer_to_agent", "agent_name"


def recorded_handoffs(turn: Turn, catalog: ToolCatalog, wanted: Iterable[ToolCall] = ()) -> list[ToolCall]:
    """Returns the hand-offs of a turn that none of its calls shows.

    Args:
        turn: The recorded turn.
        catalog: What the tools do.
        wanted: Expected calls; a hand-off to the agent that one of them names is that call.
    """
    agents = _without_called(turn.transfers, turn.tool_calls, catalog)
    return [_as_wanted(_call(agent), wanted, catalog) for agent in agents]


def expected_handoffs(turn: ExpectedTurn, catalog: ToolCatalog) -> tuple[list[ToolCall], list[ToolCall]]:
    """Returns the hand-offs that a golden turn expects beside its calls, and those that may be."""
    found = [each for each in turn.expectations if each.kind == "agent_transfer"]
    wanted = [each.target_agent or "" for each in found if not each.skip]
    free = [*(each.target_agent or "" for each in found if each.skip), *turn.scripted_transfers]
    must = _without_called(wanted, turn.tool_calls or (), catalog)
    return [_call(agent) for agent in must], [_call(agent) for agent in free]


def _call(agent: str) -> ToolCall:
    return ToolCall(_TOOL, {_PARAMETER: agent.rsplit("/", 1)[-1]})


def _as_wanted(made: ToolCall, wanted: Iterable[ToolCall], catalog: ToolCatalog) -> ToolCall:
    """Returns the expected call that hands over to the same agent and says no more than that."""
    agent = (made.args or {})[_PARAMETER]
    return next(
        (c for c in wanted if len(c.args or ()) == 1 and _names(c, agent) and _hands_over(c, catalog)), made
    )


def _without_called(agents: Sequence[str], calls: Sequence[ToolCall], catalog: ToolCatalog) -> list[str]:
    """Takes out what calls show: of each, the agent that it names, or else one that none names."""
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
