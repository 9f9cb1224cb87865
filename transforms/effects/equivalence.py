"""Compares values of arguments and of session state by meaning, independent of spelling."""

from collections import Counter
from collections.abc import Hashable, Sequence
from functools import partial
from typing import Literal

from turnwise.schemas.jsonio import JsonValue, json_structure
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
from turnwise.transforms.effects.prose_values import likeness_of_moments
from turnwise.transforms.effects.statements.written_words import with_digits
from turnwise.transforms.matching.assignment import count_matches, equal_matches
from turnwise.transforms.text.dates import DateReading, epoch_date, read_dates, same_date
from turnwise.transforms.text.values import Amount, amount, plain, same_amount

_MOST_PAIRS = 20_000
_NODE_LENGTH = 4
_LONGEST_MOMENT = 48
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
        if _spelled(left) == _spelled(right):
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


def _dates(value: JsonValue, number: Amount | None) -> tuple[DateReading, ...]:
    if number is None:
        return read_dates(plain(value))
    return () if number.currency else epoch_date(number.value) or read_dates(plain(value))


def _truth(value: JsonValue) -> bool | None:
    return value if isinstance(value, bool) else _TRUTHS.get(plain(value)) if isinstance(value, str) else None
