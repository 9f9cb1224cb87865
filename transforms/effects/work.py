"""What was to be changed in a conversation and what was, by the agent and by the user."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from turnwise.schemas.conversation import ToolCall, Turn
from turnwise.transforms.effects.applied import AppliedChanges, agents_work, changes, users_work
from turnwise.transforms.effects.calls import ArgumentComparison
from turnwise.transforms.effects.deeds import By, Deed, call_key, deeds, once, without_flips_back
from turnwise.transforms.effects.pairing import Matching, match_calls, match_rest, match_same
from turnwise.transforms.effects.tool_catalog import ToolCatalog, called_tool


class Expected(NamedTuple):
    """What a case wants.

    Attributes:
        by_agent: Calls that the agent is to make; None: nothing is stated of its calls.
        by_user: Calls that the user is to make.
        optional: Calls that the agent may make.
    """

    by_agent: Sequence[ToolCall] | None
    by_user: Sequence[ToolCall] = ()
    optional: Sequence[ToolCall] = ()


class Work(NamedTuple):
    """What was to be changed, what may be, and what was.

    Attributes:
        idle: Calls that found all as it was to be.
        undone: Calls that undid each other.
        failed: Calls whose answer is an error.
        counts_extra: Whether a call of the agent that nothing expects counts.
        guesses: Tool -> its effect, where that is guessed.
    """

    expected: list[Deed]
    optional: list[Deed]
    actual: list[Deed]
    idle: list[Deed]
    undone: list[Deed]
    failed: list[ToolCall]
    counts_extra: bool
    guesses: dict[str, str]


def work_of(expected: Expected, turns: Sequence[Turn], catalog: ToolCatalog) -> Work:
    """Gathers the calls that change something.

    Of the user's calls, and of the agent's where nothing is stated of them, only those of tools that count
    otherwise: one that is expected, or that the agent called.
    """
    wanted, _ = without_flips_back(
        [
            *_expected("agent", expected.by_agent or (), catalog),
            *_expected("user", expected.by_user, catalog),
        ],
        catalog,
    )
    names, agents = {deed.call.name for deed in wanted}, agents_work(turns, catalog, expected.by_agent or ())
    if expected.by_agent is None:
        agents = _of_tools(names, agents)
    names.update(call.name for call in agents.succeeded)
    users = (
        _of_tools(names, users_work(turns, catalog)) if any(t.user_tool_calls for t in turns) else _NOTHING
    )
    made = [*deeds("agent", once(agents.succeeded, catalog)), *deeds("user", once(users.succeeded, catalog))]
    made, undone = without_flips_back(made, catalog)
    called = (call for turn in turns for call in turn.tool_calls)
    return Work(
        wanted,
        deeds("agent", expected.optional),
        made,
        [*deeds("agent", once(agents.idle, catalog)), *deeds("user", once(users.idle, catalog))],
        undone,
        [*agents.failed, *users.failed],
        expected.by_agent is not None,
        catalog.guesses(
            map(called_tool, (*(expected.by_agent or ()), *expected.by_user, *called, *users.succeeded))
        ),
    )


_NOTHING = AppliedChanges([], [], [])


def _expected(by: By, calls: Iterable[ToolCall], catalog: ToolCatalog) -> list[Deed]:
    return deeds(by, once(changes(calls, catalog), catalog))


def _of_tools(names: set[str | None], done: AppliedChanges) -> AppliedChanges:
    return AppliedChanges(*([call for call in calls if call.name in names] for calls in done))


def match_work(work: Work, catalog: ToolCatalog, compare: ArgumentComparison) -> Matching:
    """Pairs what was expected with what was done, by whomever.

    A call that found all as it was to be is no change, and does what is missing else. A call of the user
    counts only in place of an expected one.
    """
    if not work.expected and not work.actual:
        return Matching([], [], [], [])
    matching = match_same(work.expected, work.actual, compare)
    if matching.missing and work.idle:
        found = match_same(matching.missing, work.idle, compare)
        matching.matched.extend(found.matched)
        matching.missing[:] = found.missing
    _drop_repetitions(matching, catalog, compare)
    if not work.counts_extra:
        matching.extra[:] = [deed for deed in matching.extra if deed.by == "user"]
    match_rest(matching, compare)
    matching.extra[:] = [deed for deed in matching.extra if deed.by == "agent"]
    if work.optional:
        matching.extra[:] = match_calls(work.optional, matching.extra, compare).extra
    return matching


def _drop_repetitions(matching: Matching, catalog: ToolCatalog, compare: ArgumentComparison) -> None:
    """Takes out what the other side did, or was to do, as well, where that counts once (idempotent calls)."""
    pairs = matching.matched
    if pairs and matching.extra:
        matching.extra[:] = [
            deed for deed in matching.extra if not any(_repeats(deed, pair.actual, catalog) for pair in pairs)
        ]
    if pairs and matching.missing:
        matching.missing[:] = [
            deed
            for deed in matching.missing
            if not any(
                _repeats(deed, pair.expected, catalog)
                and not compare.differences(deed.call, pair.actual.call)
                for pair in pairs
            )
        ]


def _repeats(deed: Deed, other: Deed, catalog: ToolCatalog) -> bool:
    return (
        deed.by != other.by
        and deed.call.name == other.call.name
        and catalog.effect_of(deed.call).idempotent
        and call_key(deed.call) == call_key(other.call)
    )
