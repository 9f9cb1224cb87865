"""Compares values of arguments and of session state by meaning, independent of spelling."""

import re
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Literal, NamedTuple

from msgspec import Struct, field, structs

from turnwise.schemas.conversation import ToolCall
from turnwise.schemas.jsonio import JsonObject, JsonValue, json_structure
from turnwise.transforms.effects.prose import (
    compare_structured,
    compare_texts,
    contradicts,
    have_same_words,
    is_in_order,
    is_structured,
    is_version,
    may_be_reworded,
)
from turnwise.transforms.effects.prose_values import likeness_of_moments, with_digits
from turnwise.transforms.matching.alignment import count_matches, equal_matches
from turnwise.transforms.matching.calls import (
    ArgumentMatcher,
    directive_text,
    is_directive,
    plain_text,
    value_matches,
)
from turnwise.transforms.text.cleaning import Amount, amount, plain, same_amount
from turnwise.transforms.text.dates import DateReading, are_swapped, epoch_date, read_dates, same_date

_MOST_PAIRS = 20_000
_NODE_LENGTH = 4
_LONGEST_MOMENT = 48
_LETTERS, _DIGITS_OF_A_CODE = 3, 7
_TRUTHS = {"true": True, "yes": True, "false": False, "no": False}
Prose = Literal["unmet", "met", "ignored", "free"]
"""How prose counts that only a judge can compare: as different or as the same. Ignored: any prose is equal to
any other, but not commands, code and the like; free: these too."""
FurtherKeys = Literal["free", "names", "none"]
"""Which keys beside the expected ones are ignored: all, those of short texts, or none."""


def equivalent(
    expected: JsonValue,
    actual: JsonValue,
    prose: Prose = "unmet",
    name: str = "",
    further: FurtherKeys = "free",
) -> bool:
    """Returns whether two values mean the same.

    Numbers are compared by value (`"5"`, `5`, `5.0`, `"$5.00"`; a leading zero makes a text an identifier),
    dates and times by instant, other texts without regard to case, white space and width, `"true"` and
    `"yes"` as true, lists without regard to order, objects by the expected keys, JSON texts by their value.
    Empty values (null, false, an empty text, list or object) equal an absent value. Prose is compared by
    `compare_texts`.

    Args:
        expected: The expected value.
        actual: The value that was passed or stored.
        prose: How prose counts that only a judge can compare.
        name: Name of the parameter; "": unknown.
        further: Which keys of objects that are not expected leave it unclear, unless they are empty.
    """
    if type(expected) is type(actual) and expected == actual:
        return True
    left, right = _structure(expected), _structure(actual)
    if is_empty(left) or is_empty(right):
        return _nothing_equals(left, right, prose)
    if isinstance(left, dict) and isinstance(right, dict):
        keys = dict.fromkeys(left)
        if prose == "unmet" and further != "free":
            # It may change what is written; a name beside those of an entry describes the entry.
            keys |= {key: None for key, value in right.items() if further == "none" or not _is_name(value)}
        inside: FurtherKeys = further if further == "free" else "none"
        return all(equivalent(left.get(key), right.get(key), prose, key, inside) for key in keys)
    if isinstance(left, list) and isinstance(right, list):
        further = further if further == "free" else "names"
        if is_in_order(name):
            pairs = zip(left, right, strict=False)
            return len(left) == len(right) and all(equivalent(*pair, prose, name, further) for pair in pairs)
        return len(left) == len(right) and None not in pair_equivalent(left, right, prose, name, further)
    if isinstance(left, dict | list) or isinstance(right, dict | list):
        return False
    return _scalars_equivalent(left, right, prose, name)


def _is_name(value: JsonValue) -> bool:
    return isinstance(value, str) and _structure(value) is value and not may_be_reworded(value)


def is_empty(value: JsonValue) -> bool:
    """Returns whether a value is empty: null, false, an empty text or list, or an object of such values."""
    if isinstance(value, dict):
        return all(map(is_empty, value.values()))
    return value is None or value is False or value == [] or (isinstance(value, str) and not value.strip())


def _nothing_equals(left: JsonValue, right: JsonValue, prose: Prose) -> bool:
    """Compares two values of which one is empty, or null for an absent one.

    Prose that stands where the case states nothing is unclear. Where the case states an empty text or prose,
    one without the other is different.
    """
    if _is_nothing(left) and _is_nothing(right):
        return True
    if not (may_be_reworded(left) or may_be_reworded(right)):
        return False
    return prose == "ignored" or (prose == "met" and left is None) or (prose == "free" and is_empty(left))


def _is_nothing(value: JsonValue) -> bool:
    return is_empty(value) or (isinstance(value, str) and _TRUTHS.get(plain(value)) is False)


def pair_equivalent(
    expected: Sequence[JsonValue],
    actual: Sequence[JsonValue],
    prose: Prose = "unmet",
    name: str = "",
    further: FurtherKeys = "free",
) -> list[int | None]:
    """Pairs as many equivalent elements as possible, in any order.

    Returns:
        For every expected element the index of its partner, or None. In very long lists, only elements that
        differ in nothing but case and white space are paired.
    """
    partners = equal_matches(
        [key_of(value, name) for value in expected], [key_of(value, name) for value in actual]
    )
    used = set(partners)
    rows = [i for i, partner in enumerate(partners) if partner is None]
    columns = [j for j in range(len(actual)) if j not in used]
    size = sum(nodes(expected[i]) for i in rows) * sum(nodes(actual[j]) for j in columns)
    if 0 < size <= _MOST_PAIRS:
        same = partial(equivalent, prose=prose, name=name, further=further)
        found = count_matches([expected[i] for i in rows], [actual[j] for j in columns], same)
        for i, column in zip(rows, found, strict=True):
            partners[i] = None if column is None else columns[column]
    return partners


def nodes(value: JsonValue) -> int:
    """Returns the number of nodes of a value; comparing two values costs at most their product."""
    if isinstance(value, dict):
        return 1 + sum(map(nodes, value.values()))
    if isinstance(value, list):
        return 1 + sum(map(nodes, value))
    return (
        1 + len(value) // _NODE_LENGTH if isinstance(value, str) and value.lstrip()[:1] in ("{", "[") else 1
    )


def key_of(value: JsonValue, name: str = "") -> Hashable:
    """Returns a hashable key that only equivalent values share; most equivalent values share it.

    Args:
        value: The value.
        name: Name of the parameter; "": unknown.
    """
    value = _structure(value)
    if isinstance(value, dict):
        return frozenset((key, key_of(item, key)) for key, item in value.items() if not is_empty(item))
    if isinstance(value, list):
        keys = [key_of(item, name) for item in value]
        return ("in order", *keys) if is_in_order(name) else ("list", frozenset(Counter(keys).items()))
    if isinstance(value, bool):
        return value, "truth"
    if isinstance(value, str) and is_structured(value, name):
        return "exact", value.strip()
    number = amount(value)
    if number is not None:
        return number
    return _key_of_text(value) if isinstance(value, str) else repr(value)


def _key_of_text(text: str) -> Hashable:
    if may_be_reworded(text):
        return "prose", text
    read = read_dates(plain(text))
    return read[0].key if len(read) == 1 else plain(text)


def _structure(value: JsonValue) -> JsonValue:
    """Returns the object or list that a text spells, and any other value as it is."""
    found = json_structure(value) if isinstance(value, str) else None
    return value if found is None else found


def _scalars_equivalent(left: JsonValue, right: JsonValue, prose: Prose, name: str) -> bool:
    if isinstance(left, str) and isinstance(right, str):
        if may_spell_moment(left) and may_spell_moment(right) and not is_version(name):
            if are_swapped(read_dates(plain(left)), read_dates(plain(right))):
                return False
            likeness = likeness_of_moments(left, right)
            if likeness == "same" or (likeness == "unclear" and prose != "unmet"):
                return True
        if may_be_reworded(left) or may_be_reworded(right):
            return _texts_equivalent(left, right, prose, name)
    if isinstance(left, bool) or isinstance(right, bool):
        truth = _truth(left)
        return truth is not None and truth == _truth(right)
    if is_version(name) and isinstance(left, str) and isinstance(right, str):
        return left.strip() == right.strip()
    first, second = amount(left), amount(right)
    if first and second:
        return same_amount(first, second)
    if same_date(_dates(left, first), _dates(right, second)):
        return True
    if isinstance(left, str) and isinstance(right, str):
        if is_structured(left, name) or is_structured(right, name):
            likeness = compare_structured(left, right)
            return likeness == "same" or (likeness == "unclear" and prose == "met")
        if _spelled(left) == _spelled(right) or ((code := _code(left)) is not None and code == _code(right)):
            return True
        if " " not in left and " " not in right:
            return False
        likeness = compare_texts(left, right, name)
        is_open = likeness == "unclear" and have_same_words(left, right)
        return likeness == "same" or (is_open and prose != "unmet")
    return plain(left) == plain(right)


def may_spell_moment(text: str) -> bool:
    """Returns whether a text is as short as a date or time, has a digit, and is no plain number or code."""
    is_code = text.isascii() and text.isalnum()
    return len(text) <= _LONGEST_MOMENT and not is_code and any(map(str.isdecimal, text))


def _texts_equivalent(left: str, right: str, prose: Prose, name: str) -> bool:
    if prose == "free":
        return not contradicts(left, right)
    if prose == "ignored" and not (is_structured(left, name) or is_structured(right, name)):
        return True
    likeness = compare_texts(left, right, name)
    return likeness == "same" or (likeness == "unclear" and prose == "met")


def _spelled(text: str) -> str:
    """Returns a short text with its numbers in digits, and without the sign that ends a sentence."""
    return with_digits(plain(text).rstrip(".!。！")) or text


_SIGNED = re.compile(r"(?:^|\W)-\d|^\(\d+\)$")


def _code(text: str) -> str | None:
    """Returns a phone, card, account, flight or postal code without its spacing; None: it is something else.

    Spacing between digits counts in short texts (`1 2` is not `12`), and everywhere in dates. A text without
    a digit and one with a sign (`UTC -5`, `(500)`) are no codes.
    """
    pieces = re.split(r"[ ()-]+", text.strip(" ()").upper())
    is_code = len(text) <= _LONGEST_MOMENT and any(map(str.isdecimal, text)) and not _SIGNED.search(text)
    if not is_code or read_dates(plain(text)):
        return None
    for piece in pieces:
        has_digit = any(map(str.isdecimal, piece))
        if not (piece.isascii() and piece.lstrip("+").isalnum() and (has_digit or len(piece) <= _LETTERS)):
            return None
    joins = any(one[-1].isdecimal() and other[0].isdecimal() for one, other in pairwise(pieces))
    return None if joins and sum(map(str.isdecimal, text)) < _DIGITS_OF_A_CODE else "".join(pieces)


def _dates(value: JsonValue, number: Amount | None) -> tuple[DateReading, ...]:
    if number is None:
        return read_dates(plain(value))
    return () if number.currency else epoch_date(number.value) or read_dates(plain(value))


def _truth(value: JsonValue) -> bool | None:
    return value if isinstance(value, bool) else _TRUTHS.get(plain(value)) if isinstance(value, str) else None


# Compares the arguments of two calls of one tool.

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
