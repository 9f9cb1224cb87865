"""Collects and matches the expected and the made changes of a conversation, by agent and user."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from turnwise.schemas.conversation import ToolCall, ToolResponse, Turn
from turnwise.transforms.effects.actor_calls import (
    Actor,
    ActorCall,
    call_key,
    calls_by,
    without_repeats,
    without_undone,
)
from turnwise.transforms.effects.calls import ArgumentComparison
from turnwise.transforms.effects.failures import changed_nothing, has_failed
from turnwise.transforms.effects.handoffs import recorded_handoffs
from turnwise.transforms.effects.pairing import Matching, match_calls, match_rest, match_same
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
    if has_failed(response, called_tool(call), call.args):
        return applied.failed
    return applied.no_ops if changed_nothing(response) else applied.succeeded


def changing_calls(calls: Iterable[ToolCall], catalog: ToolCatalog) -> list[ToolCall]:
    """Returns the calls whose tools write or hand over."""
    return [call for call in calls if catalog.effect_of(call).effect != "read"]


class ExpectedCalls(NamedTuple):
    """Expected calls of a case.

    Attributes:
        by_agent: Required calls of the agent; None: not stated.
        by_user: Required calls of the user.
        optional: Optional calls of the agent.
    """

    by_agent: Sequence[ToolCall] | None
    by_user: Sequence[ToolCall] = ()
    optional: Sequence[ToolCall] = ()


class Changes(NamedTuple):
    """Expected, optional and made changes.

    Attributes:
        idle: Calls that had nothing to change.
        undone: Calls that undid each other.
        failed: Calls whose response is an error.
        counts_extra: Whether unexpected calls of the agent count.
        guesses: Tool -> its effect, for inferred effects.
    """

    expected: list[ActorCall]
    optional: list[ActorCall]
    actual: list[ActorCall]
    no_ops: list[ActorCall]
    undone: list[ActorCall]
    failed: list[ToolCall]
    counts_extra: bool
    guesses: dict[str, str]


def changes_of(expected: ExpectedCalls, turns: Sequence[Turn], catalog: ToolCatalog) -> Changes:
    """Collects the calls that change something.

    Calls of the user, and calls of the agent if none are stated for it, count only if their tool is expected
    or was called by the agent.
    """
    by_agent = expected.by_agent or ()
    wanted = [*_expected("agent", by_agent, catalog), *_expected("user", expected.by_user, catalog)]
    wanted, _ = without_undone(wanted, catalog)
    names, agents = {item.call.name for item in wanted}, agent_changes(turns, catalog, by_agent)
    if expected.by_agent is None:
        agents = _of_tools(names, agents)
    names.update(call.name for call in agents.succeeded)
    users = _NOTHING
    if any(turn.user_tool_calls for turn in turns):
        users = _of_tools(names, user_changes(turns, catalog))
    made, undone = without_undone(_distinct(agents.succeeded, users.succeeded, catalog), catalog)
    called = (call for turn in turns for call in turn.tool_calls)
    return Changes(
        wanted,
        calls_by("agent", expected.optional),
        made,
        _distinct(agents.no_ops, users.no_ops, catalog),
        undone,
        [*agents.failed, *users.failed],
        expected.by_agent is not None,
        catalog.guesses(map(called_tool, (*by_agent, *expected.by_user, *called, *users.succeeded))),
    )


_NOTHING = AppliedChanges([], [], [])


def _distinct(
    by_agent: Sequence[ToolCall], by_user: Sequence[ToolCall], catalog: ToolCatalog
) -> list[ActorCall]:
    agents, users = without_repeats(by_agent, catalog), without_repeats(by_user, catalog)
    return [*calls_by("agent", agents), *calls_by("user", users)]


def _expected(by: Actor, calls: Iterable[ToolCall], catalog: ToolCatalog) -> list[ActorCall]:
    return calls_by(by, without_repeats(changing_calls(calls, catalog), catalog))


def _of_tools(names: set[str | None], done: AppliedChanges) -> AppliedChanges:
    return AppliedChanges(*([call for call in calls if call.name in names] for calls in done))


def match_changes(work: Changes, catalog: ToolCatalog, compare: ArgumentComparison) -> Matching:
    """Pairs expected with made changes of both actors.

    A call without effect (`no_ops`) is no change, but can match an expected one that is missing otherwise. A
    call of the user counts only if it matches an expected one.
    """
    if not work.expected and not work.actual:
        return Matching([], [], [], [])
    matching = match_same(work.expected, work.actual, compare)
    if matching.missing and work.no_ops:
        found = match_same(matching.missing, work.no_ops, compare)
        matching.matched.extend(found.matched)
        matching.missing[:] = found.missing
    _drop_repetitions(matching, catalog, compare)
    if not work.counts_extra:
        matching.extra[:] = [item for item in matching.extra if item.actor == "user"]
    match_rest(matching, compare)
    matching.extra[:] = [item for item in matching.extra if item.actor == "agent"]
    if work.optional:
        matching.extra[:] = match_calls(work.optional, matching.extra, compare).extra
    return matching


def _drop_repetitions(matching: Matching, catalog: ToolCatalog, compare: ArgumentComparison) -> None:
    """Removes idempotent extra and missing calls that a matched call of the other actor repeats."""
    pairs = matching.matched
    if pairs and matching.extra:
        matching.extra[:] = [
            item for item in matching.extra if not any(_repeats(item, pair.actual, catalog) for pair in pairs)
        ]
    if pairs and matching.missing:
        matching.missing[:] = [
            item
            for item in matching.missing
            if not any(
                _repeats(item, pair.expected, catalog)
                and not compare.differences(item.call, pair.actual.call)
                for pair in pairs
            )
        ]


def _repeats(item: ActorCall, other: ActorCall, catalog: ToolCatalog) -> bool:
    return (
        item.actor != other.actor
        and item.call.name == other.call.name
        and catalog.effect_of(item.call).idempotent
        and call_key(item.call) == call_key(other.call)
    )
