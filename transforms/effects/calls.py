"""Compares the arguments of two calls of one tool."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct, field, structs

from turnwise.schemas.conversation import ToolCall
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.effects.equivalence import Prose, equivalent, pair_equivalent
from turnwise.transforms.matching.arguments import (
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
    """Two values that only a judge can compare, as text.

    Attributes:
        name: What they are values of: `reason of cancel_order`.
    """

    name: str
    expected: str
    actual: str


class ArgumentComparison(Struct, frozen=True):
    """Rules for comparing arguments, beside the default equivalence.

    Attributes:
        matchers: Tool or `*` -> parameter -> matcher.
        ordered: Tool or `*` -> parameters whose lists are compared in order.
        undecided: Result for a value that only a judge can compare: a directive, or prose.
        ignores_prose: Whether prose is not compared at all.
        free_tools: Names of the tools whose prose is not compared, unless it contradicts: hand-offs, whose
            texts are for a person.
        answers: What a judge said of values that only it can compare: whether they are the same.
    """

    matchers: Mapping[str, Mapping[str, ArgumentMatcher]] = field(default_factory=dict)
    ordered: Mapping[str, Sequence[str]] = field(default_factory=dict)
    undecided: bool = False
    ignores_prose: bool = False
    free_tools: frozenset[str | None] = frozenset()
    answers: Mapping[OpenPair, bool] = field(default_factory=dict)

    def differences(self, expected: ToolCall, actual: ToolCall) -> list[Difference]:
        """Returns the differences between the arguments of two calls of one tool.

        No arguments, null and `{}` are one thing. If the expected call lists `compare_args`, only those
        parameters are compared.
        """
        wanted, given = expected.args or {}, actual.args or {}
        if wanted == given:
            return []
        if expected.compare_args is not None:
            wanted = {name: wanted.get(name) for name in expected.compare_args}
            given = {name: value for name, value in given.items() if name in wanted}
        tool = expected.name or ""
        found = self._compare(tool, wanted, given)
        if not self.answers:
            return found
        apart = {difference.parameter for difference in found}
        strict = structs.replace(self, undecided=False)._compare(tool, wanted, given)
        return [d for d in strict if not self.answers.get(_open_pair(tool, d), d.parameter not in apart)]

    def open_pairs(self, expected: ToolCall, actual: ToolCall) -> list[OpenPair]:
        """Returns the arguments of two calls that only a judge can compare, where the case states any."""
        strict, lenient = (structs.replace(self, undecided=undecided) for undecided in (False, True))
        apart = {difference.parameter for difference in lenient.differences(expected, actual)}
        found = strict.differences(expected, actual)
        tool = expected.name or ""
        return [_open_pair(tool, d) for d in found if d.parameter not in apart and d.expected is not None]

    def not_compared(self, expected: ToolCall, actual: ToolCall) -> list[str]:
        """Returns the parameters of two calls that are equal only because their prose is not compared."""
        strict = structs.replace(self, undecided=False, ignores_prose=False, free_tools=frozenset())
        apart = {difference.parameter for difference in self.differences(expected, actual)}
        found = (difference.parameter for difference in strict.differences(expected, actual))
        wanted = expected.args or {}
        return [name for name in found if name not in apart and not is_directive(wanted.get(name))]

    def _prose(self, tool: str) -> Prose:
        if tool in self.free_tools:
            return "free"
        if self.ignores_prose:
            return "ignored"
        return "met" if self.undecided else "unmet"

    def _compare(self, tool: str, wanted: JsonObject, given: JsonObject) -> list[Difference]:
        matchers = {**self.matchers.get(ANY_TOOL, {}), **self.matchers.get(tool, {})}
        ordered = {*self.ordered.get(ANY_TOOL, ()), *self.ordered.get(tool, ())}
        free = {name for name in wanted if name not in matchers and name not in ordered}
        together = [group for group in _parallel_lists(wanted, free) if _all_lists(group, given)]
        prose = self._prose(tool)
        found = [diff for group in together for diff in _rows_differ(group, wanted, given, prose)]
        done = {name for group in together for name in group}
        for name in (name for name in (*wanted, *(n for n in given if n not in wanted)) if name not in done):
            want, value = wanted.get(name), given.get(name)
            met = self._is_met(want, value, name in given, matchers.get(name))
            if met is None and name in ordered and isinstance(want, list) and isinstance(value, list):
                met = len(want) == len(value) and all(
                    equivalent(one, other, prose, name, "names")
                    for one, other in zip(want, value, strict=True)
                )
            if not (equivalent(want, value, prose, name, "none") if met is None else met):
                found.append(Difference(name, want, value))
        return found

    def _is_met(
        self,
        want: JsonValue,
        value: JsonValue,
        is_given: bool,
        matcher: ArgumentMatcher | None,
    ) -> bool | None:
        """Returns whether a matcher or directive is met; None: there is none."""
        if matcher is not None and matcher.match == "ignore":
            return True
        if is_directive(want):
            verdict = value_matches(want, value) if is_given else want["$matchType"] == "ignore"
            return self.undecided if verdict is None else verdict
        if matcher is not None and is_given and want is not None:
            return matcher.matches(want, value)
        return None


def _open_pair(tool: str, difference: Difference) -> OpenPair:
    wanted = difference.expected
    text = directive_text(wanted) if is_directive(wanted) else plain_text(wanted)
    return OpenPair(f"{difference.parameter} of {tool}", text, plain_text(difference.actual))


def _parallel_lists(wanted: JsonObject, names: set[str]) -> list[list[str]]:
    """Groups lists of scalars of equal length (2 or more); entries at one index form a row."""
    by_length: dict[int, list[str]] = {}
    for name, value in wanted.items():
        if name in names and _is_plain_list(value) and len(value) > 1:
            by_length.setdefault(len(value), []).append(name)
    return [group for group in by_length.values() if len(group) > 1]


def _is_plain_list(value: JsonValue) -> bool:
    return isinstance(value, list) and not any(isinstance(item, dict | list) for item in value)


def _all_lists(group: Sequence[str], given: JsonObject) -> bool:
    lengths = {len(given[name]) if _is_plain_list(given.get(name)) else -1 for name in group}
    return len(lengths) == 1 and -1 not in lengths


def _rows_differ(
    group: Sequence[str], wanted: JsonObject, given: JsonObject, prose: Prose
) -> list[Difference]:
    rows = [dict(zip(group, row, strict=True)) for row in zip(*(wanted[n] for n in group), strict=True)]
    made = [dict(zip(group, row, strict=True)) for row in zip(*(given[n] for n in group), strict=True)]
    if len(rows) == len(made) and None not in pair_equivalent(rows, made, prose):
        return []
    alone = [
        Difference(n, wanted[n], given[n]) for n in group if not equivalent(wanted[n], given[n], prose, n)
    ]
    return alone or [Difference(" with ".join(group), rows, made)]
