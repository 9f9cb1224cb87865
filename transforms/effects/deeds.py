"""Calls with whoever makes them: the agent or the user."""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import Literal, NamedTuple

from turnwise.schemas.conversation import ToolCall
from turnwise.schemas.values import JsonObject, JsonValue
from turnwise.transforms.effects.equivalence import alike, key_of
from turnwise.transforms.effects.inferred import flips, words_of
from turnwise.transforms.effects.tool_catalog import ToolCatalog, called_tool

By = Literal["agent", "user"]
_STATES = ("on", "off", "enabled", "disabled", "active", "inactive")
_NAMES_OF_STATES = frozenset(("state", "status", "value", "on", "off", "to", "enable", "enabled", "active"))


class Deed(NamedTuple):
    """A call, and who makes it or is expected to."""

    call: ToolCall
    by: By


def deeds(by: By, calls: Iterable[ToolCall]) -> list[Deed]:
    """Returns the calls of one side."""
    return [Deed(call, by) for call in calls]


def once(calls: Sequence[ToolCall], catalog: ToolCatalog) -> list[ToolCall]:
    """Returns calls without the repetitions of idempotent ones."""
    seen: set[Hashable] = set()
    kept = []
    for call in calls:
        if catalog.effect_of(call).idempotent:
            key = call_key(call)
            if key in seen:
                continue
            seen.add(key)
        kept.append(call)
    return kept


def call_key(call: ToolCall) -> Hashable:
    """Returns what two calls share only if they are the same; the order of lists may matter."""
    return call.name, call.resource, _in_order(call.args or {})


def _in_order(value: JsonValue) -> Hashable:
    if isinstance(value, dict):
        return frozenset((name, _in_order(item)) for name, item in value.items())
    if isinstance(value, list):
        return tuple(map(_in_order, value))
    return key_of(value)


def without_flips_back(made: Sequence[Deed], catalog: ToolCatalog) -> tuple[list[Deed], list[Deed]]:
    """Takes out pairs of calls of which the second undoes the first: a light that is toggled twice.

    Each side's own calls undo each other before those of the two sides do.

    Returns:
        What is left, and what was taken out.
    """
    if len(made) < 2:
        return list(made), []
    keys = [call_key(deed.call) if _is_flip(deed.call, catalog) else None for deed in made]
    if not any(keys):
        return list(made), []
    counts = Counter((key, deed.by) for key, deed in zip(keys, made, strict=True) if key is not None)
    left = {pair: count % 2 for pair, count in counts.items()}
    for key in {key for key, _ in counts if left.get((key, "agent")) and left.get((key, "user"))}:
        left[key, "agent"] = left[key, "user"] = 0
    kept: list[Deed] = []
    undone: list[Deed] = []
    for key, deed in zip(keys, made, strict=True):
        stays = key is None or left[key, deed.by] > 0
        if key is not None:
            left[key, deed.by] -= 1
        (kept if stays else undone).append(deed)
    return kept, undone


def _is_flip(call: ToolCall, catalog: ToolCatalog) -> bool:
    """Tells whether a call turns a state round; one with an argument that states the new one sets it."""
    if not flips(called_tool(call)) or _states_target(call.args or {}):
        return False
    tool = catalog.effect_of(call)
    return tool.effect == "write" and not tool.idempotent


def _states_target(args: JsonObject) -> bool:
    names = {word for name in args for word in words_of(name)}
    return bool(names & _NAMES_OF_STATES) or any(
        isinstance(value, bool) or any(alike(state, value) for state in _STATES) for value in args.values()
    )
