"""Explains failed scores for reviewers."""

import json
from collections.abc import Callable, Sequence
from functools import partial
from unicodedata import normalize

from turnwise.schemas.conversation import ToolCall
from turnwise.schemas.jsonio import JsonValue
from turnwise.schemas.score import Score
from turnwise.transforms.effects.changes import call_text, clipped_value, value_text
from turnwise.transforms.matching.sample import MISSING_TURN, TurnPair

_MOST_CALLS = 5
_MOST_MOVED = 3


def calls_text(calls: Sequence[ToolCall]) -> str:
    """Returns the first five calls with their arguments, truncated."""
    return _joined(_texts(calls, _plain), len(calls))


def calls_apart(first: Sequence[ToolCall], second: Sequence[ToolCall]) -> tuple[str, str]:
    """Returns the texts of two lists of calls; arguments are JSON where two calls would look alike."""
    wanted, made = _texts(first, _plain), _texts(second, _plain)
    if not _are_apart(wanted, made):
        forms = (partial(_exact, is_ascii=False), partial(_exact, is_ascii=True))
        exact = ((_texts(first, form), _texts(second, form)) for form in forms)
        wanted, made = next((both for both in exact if _are_apart(*both)), (wanted, made))
    return _joined(wanted, len(first)), _joined(made, len(second))


def _texts(calls: Sequence[ToolCall], form: Callable[[ToolCall], str]) -> list[str]:
    return [form(call) for call in calls[:_MOST_CALLS]]


def _are_apart(first: Sequence[str], second: Sequence[str]) -> bool:
    """Returns whether no text looks like one of the others."""
    seen = {normalize("NFKC", text) for text in first}
    return seen.isdisjoint([normalize("NFKC", text) for text in second])


def _plain(call: ToolCall) -> str:
    return value_text(call_text(call))


def _exact(call: ToolCall, is_ascii: bool) -> str:
    return clipped_value(f"{call.name}({json.dumps(call.args, ensure_ascii=is_ascii, default=repr)})")


def _joined(texts: Sequence[str], calls: int) -> str:
    more = f"; and {calls - _MOST_CALLS} more" if calls > _MOST_CALLS else ""
    return "; ".join(texts) + more or "none"


def words_text(text: str | None) -> str:
    """Returns a text in quotation marks, truncated."""
    return f"“{value_text(text)}”" if text and text.strip() else "nothing"


def why_unpaired(pair: TurnPair) -> str:
    """Returns the content of a missing or an extra turn."""
    if pair.label == MISSING_TURN and pair.expected is not None:
        want = pair.expected
        holds = _turn_text(want.user, want.tool_calls or (), want.response)
        return f"Turn {pair.index} is missing. Expected: {holds}."
    turn = pair.actual
    holds = _turn_text(turn.user, turn.tool_calls, turn.agent) if turn else "nothing"
    return f"Turn {pair.index} was not expected. It holds: {holds}."


def _turn_text(user: str | None, calls: Sequence[ToolCall], answer: str | None) -> str:
    said = [(who, text) for who, text in (("user", user), ("agent", answer)) if text and text.strip()]
    parts = [f"{who} {words_text(text)}" for who, text in said]
    if calls:
        parts.append(f"calls {calls_text(calls)}")
    return ", ".join(parts) or "nothing"


def why_overall(turns: Sequence[tuple[int, Score]]) -> str | None:
    """Returns the number of failed turns, the moved calls and the first reason; None: no turn failed."""
    failed = [(index, score) for index, score in turns if score.outcome == "FAIL"]
    if not failed:
        return None
    index, first = failed[0]
    why, place = first.explanation or "", f"Turn {index}"
    parts = [f"{len(failed)} of {len(turns)} fail.", *_moved_calls(turns)]
    return " ".join([*parts, why if why.startswith(place) else f"{place}: {why}"])


def _moved_calls(turns: Sequence[tuple[int, Score]]) -> list[str]:
    """Returns a sentence for each of the first three calls that another turn expects."""
    calls = [(index, _calls_in(score, "missing"), _calls_in(score, "extra")) for index, score in turns]
    made: dict[str, list[int]] = {}
    for index, _, extra in calls:
        for call in extra:
            made.setdefault(call, []).append(index)
    moved = [
        (call, index, made[call].pop(0)) for index, missing, _ in calls for call in missing if made.get(call)
    ]
    return [
        f"{call} is expected in turn {index} and made in turn {other}."
        for call, index, other in moved[:_MOST_MOVED]
    ]


def _calls_in(score: Score, key: str) -> list[str]:
    """Returns the texts of calls with their arguments in the details of a score."""
    entries: JsonValue = (score.details or {}).get(key)
    listed = entries if isinstance(entries, list) else []
    return [entry for entry in listed if isinstance(entry, str) and "(" in entry]
