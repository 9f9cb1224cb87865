"""Says what is wrong with the calls of a turn or a conversation, by its first difference."""

import json
from collections.abc import Sequence
from typing import NamedTuple
from unicodedata import normalize

from turnwise.schemas.conversation import ToolCall
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.effects.changes import call_text, value_text
from turnwise.transforms.effects.equivalence import ArgumentComparison, Difference
from turnwise.transforms.matching.calls import arguments_match
from turnwise.transforms.matching.sample import Sample
from turnwise.transforms.review.calls import DESTRUCTIVE
from turnwise.transforms.review.problems import ReviewProblem

_LONGEST = 70
_MISSING, _WRONG, _EXTRA = "missing", "wrong arguments", "not expected"
_COMPARE = ArgumentComparison()


class CallProblem(NamedTuple):
    """What is wrong with the calls of a turn.

    Attributes:
        kind: `missing`, `wrong arguments`, `not expected` or `destructive`.
        tool: Name of the tool.
        text: The problem in one line.
    """

    kind: str
    tool: str
    text: str


def call_problem(problem: ReviewProblem, sample: Sample) -> CallProblem | None:
    """Returns what is wrong with the calls; None: the failed score does not rest on expected calls."""
    if problem.score is None:
        return None
    details = problem.score.details or {}
    if problem.term == DESTRUCTIVE:
        return _told(DESTRUCTIVE, details[DESTRUCTIVE], "destructive and not expected: ")
    if not problem.compares_calls or problem.score.label is not None:
        return None
    return _by_details(details) or _by_calls(*_calls_at(problem.turn, sample), details)


def _told(kind: str, calls: Sequence[JsonValue], head: str) -> CallProblem:
    more = f" and {len(calls) - 1} more" if len(calls) > 1 else ""
    return CallProblem(kind, str(calls[0]).partition("(")[0], f"{head}{calls[0]}{more}")


def _by_details(details: JsonObject) -> CallProblem | None:
    """Returns the problem where the details hold the texts of calls."""
    if "wrong_arguments" not in details:
        return None
    missing, wrong, extra = (_entries(details, key) for key in ("missing", "wrong_arguments", "extra"))
    if missing:
        return _told(_MISSING, missing, "missing ")
    if wrong and isinstance(wrong[0], dict) and isinstance(wrong[0].get("expected"), str):
        tool = wrong[0]["expected"].partition("(")[0]
        differences = [Difference(**each) for each in wrong[0]["arguments"]]
        return CallProblem(_WRONG, tool, _differing(tool, differences) or f"called {wrong[0]['actual']}")
    return _told(_EXTRA, extra, "not expected: ") if extra else None


def _entries(details: JsonObject, key: str) -> list[JsonValue]:
    """Returns a list of the details; empty: there is none."""
    found = details.get(key)
    return found if isinstance(found, list) else []


def _differing(tool: str, differences: Sequence[Difference]) -> str:
    """Returns the arguments that differ; "": none does."""
    parts = [
        f"{d.parameter} is {actual} instead of {expected}"
        for d in differences
        for actual, expected in [_told_apart(d.actual, d.expected)]
    ]
    return f"{tool}: {', '.join(parts)}" if parts else ""


def _told_apart(actual: JsonValue, expected: JsonValue) -> tuple[str, str]:
    """Returns the texts of two values; as JSON, or in ASCII alone, if their plain texts are alike."""
    texts = value_text(actual), value_text(expected)
    if "" in texts or normalize("NFKC", texts[0]) == normalize("NFKC", texts[1]):
        first, second = _json(actual, False), _json(expected, False)
        is_seen = normalize("NFKC", first) != normalize("NFKC", second)
        texts = (first, second) if is_seen else (_json(actual, True), _json(expected, True))
    return texts


def _json(value: JsonValue, is_ascii: bool) -> str:
    text = json.dumps(value, ensure_ascii=is_ascii, default=repr)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _exact_differences(want: ToolCall, made: ToolCall) -> list[Difference]:
    """Returns the arguments that are not equal, however little; an absent one is None."""
    wanted, given = want.args or {}, made.args or {}
    names = [*wanted, *(name for name in given if name not in wanted)]
    pairs = ((name, wanted.get(name), given.get(name)) for name in names)
    return [Difference(*pair) for pair in pairs if pair[1] != pair[2]]


def _calls_at(turn: int | None, sample: Sample) -> tuple[Sequence[ToolCall], Sequence[ToolCall]]:
    """Returns the expected and the made calls of a turn, or of the whole conversation."""
    if turn is None:
        wanted = sample.eval_case.actions if sample.eval_case else None
        return wanted or [], [call for each in sample.conversation.turns for call in each.tool_calls]
    pair = next(pair for pair in sample.pairs if pair.index == turn)
    wanted = pair.expected.tool_calls if pair.expected else None
    return wanted or [], pair.actual.tool_calls if pair.actual else []


def _by_calls(
    wanted: Sequence[ToolCall], made: Sequence[ToolCall], details: JsonObject
) -> CallProblem | None:
    """Returns the first difference: a tool not called, one called with other arguments, one not expected.

    Args:
        wanted: Expected calls.
        made: Calls that were made.
        details: `missing` and `extra` are the names of the calls that the criterion did not pair, if present.
    """
    called, asked = {call.name for call in made}, {call.name for call in wanted}
    named = _entries(details, "missing") if "missing" in details else asked
    unpaired = [call for call in wanted if call.name in named]
    missing = next((call for call in unpaired if call.name not in called), None)
    if missing is not None:
        return CallProblem(_MISSING, missing.name or "", f"missing {call_text(missing)}")
    for want in unpaired:
        same = [call for call in made if call.name == want.name]
        if not any(arguments_match(want.args, call.args, {}) is not False for call in same):
            differences = _COMPARE.differences(want, same[0])
            differences = differences or _exact_differences(want, same[0])
            text = _differing(want.name or "", differences) or f"called {call_text(same[0])}"
            return CallProblem(_WRONG, want.name or "", text)
    extra = next((call for call in made if call.name not in asked), None)
    return CallProblem(_EXTRA, extra.name or "", f"not expected: {call_text(extra)}") if extra else None
