"""Calls with their actor (agent or user), without repetitions and without pairs that undo each other."""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import Literal, NamedTuple

from turnwise.schemas.conversation import ToolCall
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.effects.catalog import is_toggle, words_of
from turnwise.transforms.effects.equivalence import equivalent, key_of
from turnwise.transforms.effects.prose import may_be_reworded
from turnwise.transforms.effects.tool_catalog import ToolCatalog, called_tool

Actor = Literal["agent", "user"]
_STATES = ("on", "off", "enabled", "disabled", "active", "inactive")
_NAMES_OF_STATES = frozenset(("state", "status", "value", "on", "off", "to", "enable", "enabled", "active"))


class ActorCall(NamedTuple):
    """A call and the actor that makes it, or is expected to make it."""

    call: ToolCall
    actor: Actor


def calls_by(actor: Actor, calls: Iterable[ToolCall]) -> list[ActorCall]:
    """Returns calls with their actor."""
    return [ActorCall(call, actor) for call in calls]


def without_repeats(calls: Sequence[ToolCall], catalog: ToolCatalog) -> list[ToolCall]:
    """Returns calls without repetitions of idempotent calls."""
    seen: set[Hashable] = set()
    distinct = []
    for call in calls:
        if catalog.effect_of(call).idempotent:
            key = call_key(call, catalog.effect_of(call).effect == "handoff")
            if key in seen:
                continue
            seen.add(key)
        distinct.append(call)
    return distinct


def call_key(call: ToolCall, is_handoff: bool = False) -> Hashable:
    """Returns a key that only equal calls share; lists are compared in order, prose of hand-offs is not."""
    return call.name, call.resource, _in_order(call.args or {}, is_handoff)


def _in_order(value: JsonValue, is_handoff: bool) -> Hashable:
    if isinstance(value, dict):
        return frozenset((name, _in_order(item, is_handoff)) for name, item in value.items())
    if isinstance(value, list):
        return tuple(_in_order(item, is_handoff) for item in value)
    return "prose" if is_handoff and may_be_reworded(value) else key_of(value)


def without_undone(
    made: Sequence[ActorCall], catalog: ToolCatalog
) -> tuple[list[ActorCall], list[ActorCall]]:
    """Removes pairs of calls of which the second undoes the first, such as two toggles of a light.

    Calls of one actor are paired with each other first, then calls of different actors.

    Returns:
        The remaining calls, and the removed ones.
    """
    if len(made) < 2:
        return list(made), []
    keys = [call_key(item.call) if _is_toggle(item.call, catalog) else None for item in made]
    if not any(keys):
        return list(made), []
    counts = Counter((key, item.actor) for key, item in zip(keys, made, strict=True) if key is not None)
    left = {pair: count % 2 for pair, count in counts.items()}
    for key in {key for key, _ in counts if left.get((key, "agent")) and left.get((key, "user"))}:
        left[key, "agent"] = left[key, "user"] = 0
    distinct: list[ActorCall] = []
    undone: list[ActorCall] = []
    for key, item in zip(keys, made, strict=True):
        stays = key is None or left[key, item.actor] > 0
        if key is not None:
            left[key, item.actor] -= 1
        (distinct if stays else undone).append(item)
    return distinct, undone


def _is_toggle(call: ToolCall, catalog: ToolCatalog) -> bool:
    """Returns whether a call toggles a state; a call with an argument for the new state sets it instead."""
    if not is_toggle(called_tool(call)) or _states_target(call.args or {}):
        return False
    tool = catalog.effect_of(call)
    return tool.effect == "write" and not tool.idempotent


def _states_target(args: JsonObject) -> bool:
    names = {word for name in args for word in words_of(name)}
    return bool(names & _NAMES_OF_STATES) or any(
        isinstance(value, bool) or any(equivalent(state, value) for state in _STATES)
        for value in args.values()
    )
