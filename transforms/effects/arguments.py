"""Compares the arguments of two calls of one tool, by the rules of a config and the answers of a judge."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

from msgspec import Struct, field, structs

from turnwise.schemas.conversation import ToolCall
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.effects.equivalence import Prose, are_equal, equivalent, pair_equivalent
from turnwise.transforms.effects.prose import order_of
from turnwise.transforms.matching.calls import (
    ArgumentMatcher,
    directive_text,
    is_directive,
    plain_text,
    value_matches,
)

ANY_TOOL = "*"


class Difference(NamedTuple):
    """A parameter whose values differ, or several parallel lists whose rows differ."""

    parameter: str
    expected: JsonValue
    actual: JsonValue


class OpenPair(NamedTuple):
    """Two values (`name` says of what: `reason of cancel_order`) that only a judge can compare, as text."""

    name: str
    expected: str
    actual: str


class ArgumentComparison(Struct, frozen=True):
    """Rules for comparing arguments, beside the default equivalence.

    Attributes:
        matchers: Tool or `*` -> parameter -> matcher.
        ordered: Tool or `*` -> parameters whose lists are compared in order.
        unclear: Result for a value that only a judge can compare: a directive, or prose.
        ignores_prose: Whether prose is not compared at all.
        free_tools: Names of the tools whose prose is not compared, unless it contradicts: hand-offs, whose
            texts are for a person.
        answers: What a judge said of values that only it can compare: whether they are the same.
    """

    matchers: Mapping[str, Mapping[str, ArgumentMatcher]] = field(default_factory=dict)
    ordered: Mapping[str, Sequence[str]] = field(default_factory=dict)
    unclear: bool = False
    ignores_prose: bool = False
    free_tools: frozenset[str | None] = frozenset()
    answers: Mapping[OpenPair, bool] = field(default_factory=dict)

    def differences(self, expected: ToolCall, actual: ToolCall) -> list[Difference]:
        """Returns the differences between the arguments of two calls of one tool.

        No arguments, null and `{}` are one thing. If the expected call lists `compare_args`, only those
        parameters are compared.
        """
        wanted, given = expected.args or {}, actual.args or {}
        if are_equal(wanted, given):
            return []
        if expected.compare_args is not None:
            wanted = {name: wanted.get(name) for name in expected.compare_args}
            given = {name: value for name, value in given.items() if name in wanted}
        tool = expected.name or ""
        differences = self._compare(tool, wanted, given)
        if not self.answers:
            return differences
        apart = {difference.parameter for difference in differences}
        strict = structs.replace(self, unclear=False)._compare(tool, wanted, given)
        return [d for d in strict if not self.answers.get(_open_pair(tool, d), d.parameter not in apart)]

    def open_pairs(self, expected: ToolCall, actual: ToolCall) -> list[OpenPair]:
        """Returns the arguments of two calls that only a judge can compare, where the case states any."""
        strict, lenient = (structs.replace(self, unclear=unclear) for unclear in (False, True))
        apart = {difference.parameter for difference in lenient.differences(expected, actual)}
        open_ones = [d for d in strict.differences(expected, actual) if d.parameter not in apart]
        return [_open_pair(expected.name or "", d) for d in open_ones if d.expected is not None]

    def not_compared(self, expected: ToolCall, actual: ToolCall) -> list[str]:
        """Returns the parameters of two calls that are equal only because their prose is not compared."""
        strict = structs.replace(self, unclear=False, ignores_prose=False, free_tools=frozenset())
        apart = {difference.parameter for difference in self.differences(expected, actual)}
        names = (difference.parameter for difference in strict.differences(expected, actual))
        wanted = expected.args or {}
        return [name for name in names if name not in apart and not is_directive(wanted.get(name))]

    def _compare(self, tool: str, wanted: JsonObject, given: JsonObject) -> list[Difference]:
        matchers = {**self.matchers.get(ANY_TOOL, {}), **self.matchers.get(tool, {})}
        ordered = {*self.ordered.get(ANY_TOOL, ()), *self.ordered.get(tool, ())}
        free = {name for name in wanted if name not in matchers and name not in ordered}
        together = _parallel_lists(wanted, given, free)
        prose: Prose = "ignored" if self.ignores_prose else "met" if self.unclear else "unmet"
        prose = "free" if tool in self.free_tools else prose
        differences = [diff for group in together for diff in _rows_differ(group, wanted, given, prose)]
        done = {name for group in together for name in group}
        for name in (name for name in (*wanted, *(n for n in given if n not in wanted)) if name not in done):
            want, value = wanted.get(name), given.get(name)
            met = self._is_met(want, value, name in given, matchers.get(name))
            if met is None and name in ordered and isinstance(want, list) and isinstance(value, list):
                met = len(want) == len(value) and all(
                    equivalent(*pair, prose, name, "names") for pair in zip(want, value, strict=True)
                )
            if not (equivalent(want, value, prose, name, "none") if met is None else met):
                differences.append(Difference(name, want, value))
        return differences

    def _is_met(
        self, want: JsonValue, value: JsonValue, is_given: bool, matcher: ArgumentMatcher | None
    ) -> bool | None:
        """Returns whether a matcher or directive is met; None: there is none."""
        if matcher is not None and matcher.match == "ignore":
            return True
        if is_directive(want):
            verdict = value_matches(want, value) if is_given else want["$matchType"] == "ignore"
            return self.unclear if verdict is None else verdict
        if matcher is not None and is_given and want is not None:
            return matcher.matches(want, value)
        return None


def _open_pair(tool: str, difference: Difference) -> OpenPair:
    wanted = difference.expected
    text = directive_text(wanted) if is_directive(wanted) else plain_text(wanted)
    return OpenPair(f"{difference.parameter} of {tool}", text, plain_text(difference.actual))


def _parallel_lists(wanted: JsonObject, given: JsonObject, names: set[str]) -> list[list[str]]:
    """Groups lists of scalars of equal length (2 or more) on both sides; entries at one index form a row."""
    by_length: dict[int, list[str]] = {}
    for name, value in wanted.items():
        size = _size_of_list(value)
        if name in names and size > 1 and order_of(name, value) != "fixed":
            by_length.setdefault(size, []).append(name)
    groups = [group for group in by_length.values() if len(group) > 1]
    sizes = [{_size_of_list(given.get(name)) for name in group} for group in groups]
    return [group for group, of in zip(groups, sizes, strict=True) if len(of) == 1 and -1 not in of]


def _size_of_list(value: JsonValue) -> int:
    """Returns the length of a list of scalars; -1: the value is none."""
    is_list = isinstance(value, list) and not any(isinstance(item, dict | list) for item in value)
    return len(value) if is_list else -1


def _rows_differ(
    group: Sequence[str], wanted: JsonObject, given: JsonObject, prose: Prose
) -> list[Difference]:
    rows = [dict(zip(group, row, strict=True)) for row in zip(*(wanted[n] for n in group), strict=True)]
    made = [dict(zip(group, row, strict=True)) for row in zip(*(given[n] for n in group), strict=True)]
    if len(rows) == len(made):
        if prose == "unmet" and any(order_of(name, ()) == "open" for name in group):
            is_same = all(map(partial(equivalent, prose=prose), rows, made))
        else:
            is_same = None not in pair_equivalent(rows, made, prose)
        if is_same:
            return []
    apart = [name for name in group if not equivalent(wanted[name], given[name], prose, name)]
    alone = [Difference(name, wanted[name], given[name]) for name in apart]
    return alone or [Difference(" with ".join(group), rows, made)]
