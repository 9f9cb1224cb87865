"""Figures of tools, and which expected call an actual one stands for, from transcripts."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msgspec import Struct, field

from turnwise.schemas.report import ToolFigure
from turnwise.transforms.decisions.report.collect import AnyRow, CollectedRuns, VersionKey, turns_of
from turnwise.transforms.matching.calls import parameter_score
from turnwise.transforms.reporting.curves import quantile

_MOST_WRONG = 5


class CallPair(NamedTuple):
    """An expected call and the call that was made instead.

    Attributes:
        expected: Place among the expected calls; None: the call was not expected.
        actual: Place among the made calls; None: the call is missing.
        wrong: Names of arguments that are missing or do not match.
    """

    expected: int | None
    actual: int | None
    wrong: tuple[str, ...]


def call_pairs(expected: Sequence[AnyRow], actual: Sequence[AnyRow]) -> list[CallPair]:
    """Pairs the calls of one turn by tool, those with the fewest wrong arguments first, then in order.

    Directives of a case (`$matchType`) are followed.
    """
    free = dict(enumerate(actual))
    found: dict[int, CallPair] = {}
    ranked = sorted(
        (len(wrong), i, j, wrong)
        for i, want in enumerate(expected)
        for j, call in free.items()
        if (wrong := _wrong(want, call)) is not None
    )
    for _, i, j, wrong in ranked:
        if i not in found and j in free:
            found[i] = CallPair(i, j, wrong)
            del free[j]
    pairs = [found.get(i, CallPair(i, None, ())) for i in range(len(expected))]
    return [*pairs, *(CallPair(None, j, ()) for j in free)]


def _wrong(expected: AnyRow, actual: AnyRow) -> tuple[str, ...] | None:
    """Returns the wrong arguments; None: another tool."""
    if expected.get("name") != actual.get("name"):
        return None
    wanted, given = expected.get("args"), actual.get("args")
    if not isinstance(wanted, dict) or not isinstance(given, dict | None):
        return ()
    try:
        return parameter_score(wanted, given).wrong
    except ValueError:
        return ()


def expected_calls(turn: AnyRow) -> list[AnyRow] | None:
    """Returns the calls that are expected of a turn; None: not stated."""
    expected = turn.get("expected")
    return expected.get("tool_calls") if isinstance(expected, dict) else None


class _Tool(Struct):
    calls: int = 0
    errors: int = 0
    seconds: list[float] = field(default_factory=list)
    effects: Counter[str] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)

    def add(self, call: AnyRow) -> None:
        self.calls += 1
        self.errors += bool(call.get("error"))
        seconds = call.get("seconds")
        if isinstance(seconds, int | float):
            self.seconds.append(seconds)
        self.effects[call.get("effect") or "unknown"] += 1


def tool_figures(collected: CollectedRuns) -> list[ToolFigure]:
    """Returns the figures of every tool that was called, by name and version."""
    places = {version: place for place, version in enumerate(collected.versions)}
    tools: dict[tuple[str, VersionKey], _Tool] = {}
    for entry in collected.entries:
        for turn in turns_of(entry.row):
            for call in turn.get("tool_calls") or ():
                tools.setdefault((call.get("name") or "", entry.version), _Tool()).add(call)
            for name, argument in _wrong_arguments(turn):
                tools[name, entry.version].wrong[argument] += 1
    ranked = sorted((name, places[version], tool) for (name, version), tool in tools.items())
    return [_figure(*one) for one in ranked]


def _wrong_arguments(turn: AnyRow) -> Iterator[tuple[str, str]]:
    made = turn.get("tool_calls") or []
    for pair in call_pairs(expected_calls(turn) or [], made):
        if pair.actual is not None:
            yield from ((made[pair.actual].get("name") or "", name) for name in pair.wrong)


def _figure(name: str, version: int, tool: _Tool) -> ToolFigure:
    seconds = sorted(tool.seconds)
    return ToolFigure(
        name,
        version,
        tool.calls,
        tool.errors,
        quantile(seconds, 0.5) if seconds else None,
        quantile(seconds, 0.95) if seconds else None,
        dict(tool.effects),
        tool.wrong.most_common(_MOST_WRONG),
    )
