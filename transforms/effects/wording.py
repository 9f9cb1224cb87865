"""Calls and their differences, in words a reviewer can read."""

import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from schemas.conversation import ToolCall
from schemas.values import JsonObject, JsonValue
from transforms.effects.calls import Comparison
from transforms.effects.pairing import Matching, Wrong

T = TypeVar("T")
MOST_LISTED = 50
_LONGEST_VALUE = 160
_SHOWN = 3


def value_text(value: JsonValue) -> str:
    """Returns a value in one line, a long one without its end."""
    if value is None:
        return "nothing"
    try:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        text = repr(value)
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_VALUE else f"{line[: _LONGEST_VALUE - 1]}…"


def call_text(call: ToolCall) -> str:
    """Returns a call as `tool(parameter: value, ...)`."""
    arguments = (f"{name}: {value_text(value)}" for name, value in (call.args or {}).items())
    return f"{call.name}({', '.join(arguments)})"


def listed(calls: Sequence[ToolCall]) -> list[str]:
    """Returns the texts of calls; of very many the first, and how many more there are."""
    more = [f"and {len(calls) - MOST_LISTED} more"] if len(calls) > MOST_LISTED else []
    return [*map(call_text, calls[:MOST_LISTED]), *more]


def wrong_details(wrong: Sequence[Wrong], compare: Comparison) -> list[JsonObject]:
    """Returns what differs between expected calls and those made in their place; of very many the first."""
    return [
        {
            "expected": call_text(each.expected),
            "actual": call_text(each.actual),
            "arguments": [d._asdict() for d in compare.differences(each.expected, each.actual)],
        }
        for each in wrong[:MOST_LISTED]
    ]


def summary(matching: Matching, compare: Comparison) -> str:
    """Returns what happened in one or a few sentences."""
    wanted = len(matching.matched) + len(matching.missing) + len(matching.wrong)
    if not (matching.missing or matching.extra or matching.wrong):
        return (
            f"{_changes(wanted)} made, and no other."
            if wanted
            else "Nothing was to be changed, and nothing was."
        )
    parts = [f"{len(matching.matched)} of {_changes(wanted)} made." if wanted else "No change was expected."]
    parts += _sentence("Missing", matching.missing, call_text)
    parts += _sentence("Not expected", matching.extra, call_text)
    parts += _sentence("Wrong arguments", matching.wrong, partial(_wrong_text, compare))
    return " ".join(parts)


def _changes(number: int) -> str:
    return f"{number} expected change{'s' * (number != 1)}"


def _sentence(head: str, things: Sequence[T], text: Callable[[T], str]) -> list[str]:
    more = f"; and {len(things) - _SHOWN} more" if len(things) > _SHOWN else ""
    return [f"{head}: {'; '.join(map(text, things[:_SHOWN]))}{more}."] if things else []


def _wrong_text(compare: Comparison, wrong: Wrong) -> str:
    found = (
        f"{d.parameter} is {value_text(d.actual)} instead of {value_text(d.expected)}"
        for d in compare.differences(wrong.expected, wrong.actual)
    )
    return f"{wrong.actual.name}: {', '.join(found)}"
