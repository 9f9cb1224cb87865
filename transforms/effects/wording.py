"""Renders calls and their differences as text for explanations and details."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from math import isfinite
from typing import TypeVar

from turnwise.schemas.conversation import ToolCall
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.effects.actor_calls import ActorCall
from turnwise.transforms.effects.calls import ArgumentComparison, OpenPair
from turnwise.transforms.effects.pairing import Matching, Pair
from turnwise.transforms.text.lines import single_spaced

T = TypeVar("T")
MOST_LISTED = 50
_LONGEST_VALUE = 160
_SHOWN = 3
_encode = json.JSONEncoder(ensure_ascii=False).encode


def value_text(value: JsonValue) -> str:
    """Returns a value in one line, at most 160 characters."""
    text = value if isinstance(value, str) else _as_text(value)
    return clipped_value(single_spaced(text, _LONGEST_VALUE))


def _as_text(value: JsonValue) -> str:
    if value is None:
        return "nothing"
    kind = type(value)
    if kind is bool:
        return "true" if value else "false"
    is_plain = kind is int or (kind is float and isfinite(value))
    try:
        return str(value) if is_plain else _encode(value)
    except (TypeError, ValueError):
        return repr(value)


def clipped_value(text: str) -> str:
    """Returns the first 160 characters of a text, with a mark if it is longer."""
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 1]}…"


def call_text(call: ToolCall) -> str:
    """Returns a call as `tool(parameter: value, ...)`."""
    arguments = (f"{name}: {value_text(value)}" for name, value in (call.args or {}).items())
    return f"{call.name}({', '.join(arguments)})"


def texts(made: Iterable[ActorCall]) -> list[str]:
    """Returns the texts of calls."""
    return [call_text(item.call) for item in made]


def listed(items: Sequence[str]) -> list[str]:
    """Returns the first 50 items and, if there are more, their number."""
    more = [f"and {len(items) - MOST_LISTED} more"] if len(items) > MOST_LISTED else []
    return [*items[:MOST_LISTED], *more]


def wrong_details(wrong: Sequence[Pair], compare: ArgumentComparison) -> list[JsonObject]:
    """Returns the differences of the first 50 wrong pairs."""
    return [
        {
            "expected": call_text(each.expected.call),
            "actual": call_text(each.actual.call),
            "arguments": [d._asdict() for d in compare.differences(each.expected.call, each.actual.call)],
        }
        for each in wrong[:MOST_LISTED]
    ]


def not_compared(matching: Matching, compare: ArgumentComparison) -> list[str]:
    """Returns the arguments whose wording differs and was not compared, as `parameter of tool`, each once."""
    names = (
        f"{name} of {pair.expected.call.name}"
        for pair in (*matching.matched, *matching.wrong)
        if pair.expected.call.args != pair.actual.call.args
        for name in compare.not_compared(pair.expected.call, pair.actual.call)
    )
    return list(dict.fromkeys(names))


def open_pairs(matching: Matching, compare: ArgumentComparison) -> tuple[OpenPair, ...]:
    """Returns the values of matched calls that only a judge can compare."""
    pairs = (
        pair
        for each in matching.matched
        if each.expected.call.args != each.actual.call.args
        for pair in compare.open_pairs(each.expected.call, each.actual.call)
    )
    return tuple(dict.fromkeys(pairs))


def by_other_actor(matching: Matching) -> list[JsonObject]:
    """Returns the changes that were expected of one actor and made, rightly or wrongly, by the other."""
    return [
        {
            "call": call_text(pair.actual.call),
            "expected_of": pair.expected.actor,
            "made_by": pair.actual.actor,
        }
        for pair in (*matching.matched, *matching.wrong)
        if pair.expected.actor != pair.actual.actor
    ][:MOST_LISTED]


def summary(
    matching: Matching,
    compare: ArgumentComparison,
    notes: Mapping[str, Sequence[ActorCall]],
    undone: Sequence[ActorCall],
    skipped: Sequence[str] = (),
) -> str:
    """Summarises a matching in one or a few sentences.

    Args:
        matching: The matched, missing, extra and wrong calls.
        compare: Rules for comparing their arguments.
        notes: Heads of sentences about calls that do not count, with the calls.
        undone: Calls that undid each other.
        skipped: Arguments whose wording was not compared.
    """
    wanted = len(matching.matched) + len(matching.missing) + len(matching.wrong)
    if matching.missing or matching.extra or matching.wrong or any(notes.values()):
        parts = [
            f"{len(matching.matched)} of {_changes(wanted)} made." if wanted else "No change was expected."
        ]
    else:
        made = f"{_changes(wanted)} made, and no other."
        parts = [made if wanted else "Nothing was to be changed, and nothing was."]
    parts += _sentence("Missing", matching.missing, _text)
    parts += _sentence("Not expected", matching.extra, _text)
    parts += _sentence("Wrong arguments", matching.wrong, partial(_wrong_text, compare))
    for head, calls in notes.items():
        parts += _sentence(head, calls, _text)
    parts += _sentence("Done and undone", undone, _text)
    parts += _sentence("Wording not compared", skipped, str)
    for made_by, other in (("agent", "user"), ("user", "agent")):
        others = [
            pair.actual
            for pair in matching.matched
            if (pair.actual.actor, pair.expected.actor) == (made_by, other)
        ]
        parts += _sentence(f"By the {made_by} in place of the {other}", others, _text)
    return " ".join(parts)


def _text(item: ActorCall) -> str:
    return call_text(item.call)


def _changes(number: int) -> str:
    return f"{number} expected change{'s' * (number != 1)}"


def _sentence(head: str, things: Sequence[T], text: Callable[[T], str]) -> list[str]:
    more = f"; and {len(things) - _SHOWN} more" if len(things) > _SHOWN else ""
    return [f"{head}: {'; '.join(map(text, things[:_SHOWN]))}{more}."] if things else []


def _wrong_text(compare: ArgumentComparison, wrong: Pair) -> str:
    found = (
        f"{d.parameter} is {value_text(d.actual)} instead of {value_text(d.expected)}"
        for d in compare.differences(wrong.expected.call, wrong.actual.call)
    )
    return f"{wrong.actual.call.name}: {', '.join(found)}"
