"""Compares arguments of calls and values of session state by meaning, independent of spelling."""

import re
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from functools import lru_cache, partial
from itertools import pairwise, starmap
from typing import Literal, NamedTuple
from unicodedata import name as character_name

from msgspec import Struct, field, structs

from turnwise.schemas.conversation import ToolCall
from turnwise.schemas.jsonio import JsonObject, JsonValue, grouped, json_structure, key_twice
from turnwise.transforms.effects.prose import (
    compare_structured,
    compare_texts,
    contradicts,
    is_secret_or_pattern,
    is_structured,
    is_version,
    may_be_forms,
    may_be_one_name,
    may_be_reworded,
    order_of,
)
from turnwise.transforms.effects.prose_values import (
    likeness_of_calendar_names,
    likeness_of_moments,
    likeness_of_quantities,
    spell_alike,
)
from turnwise.transforms.local_judge.named_values import mark_named_values
from turnwise.transforms.matching import calls
from turnwise.transforms.matching.alignment import count_matches, equal_matches
from turnwise.transforms.text.cleaning import Amount, amount, plain, same_amount
from turnwise.transforms.text.dates import (
    DateReading,
    Likeness,
    epoch_date,
    likeness_of_bounds,
    likeness_of_dates,
    read_dates,
    split_bound,
)
from turnwise.transforms.text.values import read_passage, with_digits, with_plain_signs
from turnwise.transforms.text.words import word_set

_TRUTHS = {"true": True, "yes": True, "false": False, "no": False}
_SWITCHES = _TRUTHS | {"on": True, "enabled": True, "off": False, "disabled": False}
_NO_VALUES = frozenset(("null", "none", "nil", "undefined", "nan", "n/a", "na", "-"))
_BITS = {"0": False, "1": True, "False": False, "True": True}  # of truths, and what may stand for them
_NORWAY = "NO"  # false, or the code of a country
Prose = Literal["unmet", "met", "ignored", "free"]
"""How prose counts that only a judge can compare: as different or as the same. Ignored: any prose is equal to
any other, but not commands, code and the like; free: these too."""
FurtherKeys = Literal["free", "names", "none"]
"""Which keys beside the expected ones are ignored: all, those that describe an entry, or none."""
_DESCRIBING = word_set("""airline airport arrival author brand carrier city country departure description
    destination from label name origin title to""")


def equivalent(
    expected: JsonValue,
    actual: JsonValue,
    prose: Prose = "unmet",
    name: str = "",
    further: FurtherKeys = "free",
) -> bool:
    """Returns whether two values mean the same.

    Numbers are compared by value (`"5"`, `5`, `5.0`; a leading zero makes a text an identifier), dates and
    times by instant, other texts without regard to case, white space and width, `"true"` and `"yes"` as true,
    lists as `order_of` says, objects by the expected keys, JSON texts by their value. Empty values (null,
    false, an empty text, list or object) equal an absent value. Prose is compared by `compare_texts`.

    `prose` says how prose counts that only a judge can compare, and `further` which keys of objects that are
    not expected leave it unclear, unless they are empty.
    """
    if calls.same_value(expected, actual):
        return True
    left, right = _structure(expected, name), _structure(actual, name)
    truths = {_truth(left), _truth(right)}
    is_truth = isinstance(left, bool) or isinstance(right, bool)
    if is_truth and None not in truths and _NORWAY not in (left, right):
        return len(truths) == 1
    if isinstance(left, bool) != isinstance(right, bool):
        bits = [_BITS.get(str(side)) for side in (left, right)]
        if bits[0] is bits[1] is not None:
            return prose != "unmet"
    if is_empty(left) or is_empty(right):
        sides = (left, right)
        if all(is_empty(s) or (isinstance(s, str) and _TRUTHS.get(plain(s)) is False) for s in sides):
            return prose != "unmet" or _NORWAY not in sides
        if all(is_empty(side) or _may_be_nothing(side) for side in sides):
            return prose != "unmet"
        if not (may_be_reworded(left) or may_be_reworded(right)):
            return False
        return prose == "ignored" or (prose == "met" and left is None) or (prose == "free" and is_empty(left))
    if isinstance(left, (dict, list)) or isinstance(right, (dict, list)):
        return _structures_equivalent(left, right, prose, name, further)
    is_exact = False
    if isinstance(left, str) and isinstance(right, str) and prose in ("ignored", "free"):
        is_exact = is_structured(left, name) or is_structured(right, name)
        if may_be_reworded(left) or may_be_reworded(right):
            if prose == "free":
                return not contradicts(left, right)
            if not is_exact:
                return True
    # The score, its reason and the row of a conversation compare the same pair, and logs repeat values.
    is_short = sum(len(side) for side in (left, right) if isinstance(side, str)) <= _LONGEST_REMEMBERED
    likeness = (_compare_scalars if is_short else _compare_scalars.__wrapped__)(left, right, name)
    return likeness == "same" or (likeness == "unclear" and prose != "unmet" and not is_exact)


def _structures_equivalent(
    left: JsonValue, right: JsonValue, prose: Prose, name: str, further: FurtherKeys
) -> bool:
    """Compares two values of which one at least is an object or a list.

    No generator stands around a comparison: its frame would lessen the depth that can be compared.
    """
    if isinstance(left, dict) and isinstance(right, dict):
        keys = dict.fromkeys(left)
        if prose == "unmet" and further != "free":
            for key, value in right.items():
                # What does not only describe an entry may change what is written.
                is_text = further == "names" and isinstance(value, str) and json_structure(value) is None
                is_short = is_text and not may_be_reworded(value)
                if not (is_short and key.lower().rpartition("_")[2] in _DESCRIBING):
                    keys[key] = None
        inside: FurtherKeys = further if further == "free" else "none"
        pairs = ((left.get(key), right.get(key), prose, key, inside) for key in keys)
        return all(starmap(equivalent, pairs))
    if isinstance(left, list) != isinstance(right, list) and prose != "unmet":
        # A text may separate the entries of a list with commas, and another value be the only one.
        other = right if isinstance(left, list) else left
        entries = [*re.split(r"\s*[,;]\s*", other.strip())] if isinstance(other, str) else [other]
        left, right = (left, entries) if isinstance(left, list) else (entries, right)
    if isinstance(left, list) and isinstance(right, list):
        if len(left) != len(right):
            return False
        further, order = further if further == "free" else "names", order_of(name, left)
        if order == "fixed" or (order == "open" and prose == "unmet"):
            entry_pairs = zip(left, right, strict=True)
            return all(starmap(equivalent, ((*pair, prose, name, further) for pair in entry_pairs)))
        return None not in pair_equivalent(left, right, prose, name, further)
    # A text may state what an object holds: `$10` of a value and its currency.
    for held, other in ((left, right), (right, left)) if prose != "unmet" else ():
        if not isinstance(held, dict) or (isinstance(other, str) and other.lstrip()[:1] in ("{", "[")):
            continue
        # Each part once: one that stood there twice would double the work of each level of nested objects.
        parts = dict.fromkeys((other, *filter(None, re.split(r"[,;\s]+", str(other)))))
        stating = [(k, v) for k, v in held.items() if not (is_empty(v) or isinstance(v, bool))]
        if any(starmap(equivalent, ((v, part, prose, key) for key, v in stating for part in parts))):
            return True
    return False


def is_empty(value: JsonValue) -> bool:
    """Returns whether a value is empty: null, false, an empty text or list, or an object of such values."""
    if isinstance(value, dict):
        return all(map(is_empty, value.values()))
    return value is None or value is False or value == [] or (isinstance(value, str) and not value.strip())


def _may_be_nothing(value: JsonValue) -> bool:
    if isinstance(value, dict):
        return all(is_empty(item) or _may_be_nothing(item) for item in value.values())
    return isinstance(value, str) and plain(value) in _NO_VALUES


# Pairs the elements of two lists, and tells values apart by keys, so that few pairs are compared.

_MOST_PAIRS = 20_000
_NODE_LENGTH = 4


def pair_equivalent(
    expected: Sequence[JsonValue],
    actual: Sequence[JsonValue],
    prose: Prose,
    name: str = "",
    further: FurtherKeys = "free",
) -> list[int | None]:
    """Returns for every expected element the index of an equivalent one, or None; pairs as many as it can.

    In very long lists, only elements that differ in nothing but case and white space are paired in any order,
    and the others in their places.
    """
    partners = equal_matches(
        [key_of(value, name) for value in expected], [key_of(value, name) for value in actual]
    )
    used = set(partners)
    rows = [i for i, partner in enumerate(partners) if partner is None]
    columns = [j for j in range(len(actual)) if j not in used]
    size = sum(nodes(expected[i]) for i in rows) * sum(nodes(actual[j]) for j in columns)
    same = partial(equivalent, prose=prose, name=name, further=further)
    if size > _MOST_PAIRS:
        for i, j in zip(rows, columns, strict=False):
            partners[i] = j if same(expected[i], actual[j]) else None
    elif size:
        pairs = count_matches([expected[i] for i in rows], [actual[j] for j in columns], same)
        for i, column in zip(rows, pairs, strict=True):
            partners[i] = None if column is None else columns[column]
    return partners


def nodes(value: JsonValue) -> int:
    """Returns the number of nodes of a value; comparing two values costs at most their product."""
    if isinstance(value, dict):
        return 1 + sum(map(nodes, value.values()))
    if isinstance(value, list):
        return 1 + sum(map(nodes, value))
    is_structure = isinstance(value, str) and value.lstrip()[:1] in ("{", "[")
    return 1 + len(str(value)) // _NODE_LENGTH if is_structure else 1


def key_of(value: JsonValue, name: str = "") -> Hashable:
    """Returns a hashable key that only equivalent values of a parameter share; most of them share it."""
    value = _structure(value, name)
    if isinstance(value, dict):
        return frozenset((key, key_of(item, key)) for key, item in value.items() if not is_empty(item))
    if isinstance(value, list):
        keys = [key_of(item, name) for item in value]
        is_free = order_of(name, value) == "free"
        return ("list", frozenset(Counter(keys).items())) if is_free else ("in order", *keys)
    if isinstance(value, bool):
        return value, "truth"
    if isinstance(value, str) and is_structured(value, name):
        return "exact", value.strip()
    number = _amount(value)
    if number is not None:
        return number
    if not isinstance(value, str):
        return repr(value)
    if may_be_reworded(value) or _CAMEL_CASE.fullmatch(value):
        return "prose", value
    dates = read_dates(plain(value))
    return dates[0].key if len(dates) == 1 else plain(value)


def _structure(value: JsonValue, name: str) -> JsonValue:
    """Returns the object or list that a text spells without a key twice, and other texts with plain signs."""
    if not isinstance(value, str):
        return value
    structure = json_structure(value)
    if structure is not None and not key_twice(value.encode(), structure):
        return structure
    is_literal = value.isascii() or is_structured(value) or is_secret_or_pattern(name)
    return value if is_literal else with_plain_signs(value)


# Compares two numbers, truths or texts.

_LONGEST_MOMENT = 48
_LONGEST_REMEMBERED = 400
_CAMEL_CASE = re.compile(r"[a-z]{2,}(?:[A-Z][a-z0-9]+)+")
_CLOCK_IN_LETTERS = re.compile(r"\d{1,2}(?:h(?:\d\d)?|[ap]m)", re.IGNORECASE)


@lru_cache(maxsize=4096, typed=True)
def _compare_scalars(left: JsonValue, right: JsonValue, name: str) -> Likeness:
    """Compares two values as what both may be: times, prose, truths, versions, amounts, dates, texts."""
    texts = (left, right) if isinstance(left, str) and isinstance(right, str) else None
    moment: Likeness | None = None
    bounds, days = zip(*map(split_bound, texts or ("", "")), strict=True)
    if texts and all(map(_may_spell_moment, texts)) and not is_version(name):
        moment = likeness_of_moments(*texts)
        inside, of_bounds = likeness_of_moments(*days) if any(bounds) else None, likeness_of_bounds(*bounds)
        if inside in ("same", "unclear") and (of_bounds == "different" or moment != "same"):
            return inside if of_bounds == "same" else of_bounds
    if moment == "same":
        return moment
    if texts and (likeness := likeness_of_quantities(*texts)):
        return likeness
    # A clock time (`14:30`), and the same with a point or no sign.
    clocks = [match.groups() for text in texts or () if (match := _CLOCK.fullmatch(text.strip()))]
    hours = {(int(hour), minute) for hour, minute in clocks}
    if texts and len(clocks) == 2 and len(hours) == 1 and any(":" in text for text in texts):
        return "unclear"
    if moment == "unclear" or (texts and moment and all(read_dates(plain(text)) for text in texts)):
        return moment
    if texts and (likeness := likeness_of_calendar_names(*texts)):
        return likeness
    are_dates = ({bool(read_dates(plain(side))) for side in sides} for sides in (texts or days, days))
    if texts and any(map(_RELATIVE.fullmatch, texts)) and {True, False} in are_dates:
        return "unclear"
    first, second = _amount(left), _amount(right)
    for text, number, other in ((right, first, second), (left, second, first)):
        # A text of letters alone may be a number in words that nobody here can read.
        if number and not other and isinstance(text, str) and _IN_WORDS.fullmatch(text.strip()):
            return "unclear"
    if texts and any(map(may_be_reworded, texts)):
        return compare_texts(*texts, name)
    if isinstance(left, bool) or isinstance(right, bool):
        are_words = any(isinstance(side, str) and side.isalpha() for side in (left, right))
        return "unclear" if are_words else "different"
    if texts and is_version(name):
        return "same" if texts[0].strip() == texts[1].strip() else "different"
    if first and second:
        if same_amount(first, second):
            return "same" if bool(first.currency) == bool(second.currency) else "unclear"
        return "unclear" if _may_be(left, second) or _may_be(right, first) else "different"
    likeness = likeness_of_dates(_dates(left, first), _dates(right, second))
    if likeness == "different" and (_may_be(left, second) or _may_be(right, first)):
        return "unclear"
    if likeness != "different" or texts is None:
        return "same" if plain(left) == plain(right) else likeness
    return _compare_short_texts(*texts, name)


def _compare_short_texts(left: str, right: str, name: str) -> Likeness:
    if is_structured(left, name) or is_structured(right, name):
        ids = [side.removeprefix("#").casefold() for side in (left, right)]
        are_codes = any(map(str.isdecimal, left)) and not _NOT_OF_AN_ID.search(ids[0])
        may_be_one_id = are_codes and ids[0] == ids[1]
        likeness = compare_structured(left, right)
        is_open = likeness == "different" and may_be_one_id and not is_secret_or_pattern(name)
        return "unclear" if is_open else likeness
    if plain(left) == plain(right):
        return "unclear" if _CAMEL_CASE.fullmatch(left) or _CAMEL_CASE.fullmatch(right) else "same"
    if _spelled(left) == _spelled(right) or ((code := _code(left)) is not None and code == _code(right)):
        return "same"
    if _truth(left) is not None and _truth(left) == _truth(right):
        return "unclear"
    if _may_stand_for_other(left, right, name):
        return "unclear"
    if " " in f"{left}{right}" or not left.isascii():
        likeness = compare_texts(left, right, name)
        if likeness == "same" or (likeness == "different" and not may_be_one_name(left, right)):
            return likeness
    return "unclear" if may_be_forms(left, right) or may_be_one_name(left, right) else "different"


_NOT_OF_AN_ID = re.compile(r"[^\w.-]")
_ZIP_CODE = re.compile(r"(\d{5})-\d{4}")
_MASKED = re.compile(r"(?:[*•·…]|[xX.]{2})[*•·…xX. -]*(\d{2,6})")
_CLOCK = re.compile(r"([01]?\d|2[0-3])[:.]?([0-5]\d)")
_IN_WORDS = re.compile(r"[^\W\d_]+(?: [^\W\d_]+){0,2}")
_RELATIVE = re.compile(r"[^\W\d]{2,}(?: [^\W\d]+| \d{1,2}(?= ))*")
"""Words that may name a day or a time: `tomorrow`, `in 2 days`, `half past nine`."""
_CODED = word_set("country currency lang language locale nationality region")
_CODE_OF_NAME = re.compile(r"[A-Z]{2,3}|[a-z]{2}(?:[-_][A-Za-z]{2})?")


def _may_stand_for_other(left: str, right: str, name: str) -> bool:
    """Returns whether one text may be an end, the beginning or a code of the other, or be in another script.

    The end of a masked number, the beginning of a ZIP+4, `JFK` of New York, `de` of German.
    """
    is_coded = not _CODED.isdisjoint(re.split(r"[\W_]+|(?<=[a-z])(?=[A-Z])", name.lower()))
    for short, whole in ((left, right), (right, left)):
        masked, zip_code = _MASKED.fullmatch(short.strip()), _ZIP_CODE.fullmatch(whole.strip())
        if masked is not None and re.sub(r"[ -]", "", whole).endswith(masked[1]):
            return True
        if zip_code is not None and zip_code[1] == short.strip():
            return True
        is_code = _CODE_OF_NAME.fullmatch(short) and (short.isupper() or is_coded)
        if is_code and len(whole) > 3 and whole.replace(" ", "").isalpha() and not whole.isupper():
            return True
    scripts = [
        {character_name(char, "").partition(" ")[0] for char in text if char.isalpha() and char != "ー"}
        for text in (left, right)
    ]
    return all(scripts) and scripts[0].isdisjoint(scripts[1])


def _may_spell_moment(text: str) -> bool:
    """Returns whether a text is as short as a date or time, and is no plain number or code."""
    is_code = text.isascii() and text.isalnum() and not _CLOCK_IN_LETTERS.fullmatch(text)
    may_spell = len(text) <= _LONGEST_MOMENT and any(map(str.isdecimal, text)) and not is_code
    return may_spell or bool(read_dates(text))


def _spelled(text: str) -> str:
    """Returns a short text with spaces between its words (`one_way`, `oneWay`) and in one spelling."""
    parts = re.sub(r"(?<=[^\W\d_])[_-]+(?=[^\W\d_])|(?<=[a-z])(?=[A-Z][a-z])", " ", text)
    parts = _DEGREE.sub(r" \1", spell_alike(parts))
    names: dict[str, str] = {}
    marked = mark_named_values(_ORDINAL.sub(lambda word: _ORDINALS[word[0].lower()], parts), names)
    # A pound is a weight, too.
    marked = _MONEY_TOKEN.sub(lambda token: names.get(token[0], token[0]).removesuffix("s"), marked)
    return plain(marked).rstrip(".!,。！ ").strip('"“”„«»') or text


_ORDINALS = {
    **{"first": "1st", "second": "2nd", "third": "3rd", "fourth": "4th", "fifth": "5th", "sixth": "6th"},
    **{"seventh": "7th", "eighth": "8th", "ninth": "9th", "tenth": "10th"},
}
_ORDINAL = re.compile(rf"\b(?:{'|'.join(_ORDINALS)})\b", re.IGNORECASE)
_DEGREE = re.compile(r"(?<=\d)\s?(?:°|º|degrees?\b)?\s?([cf])(?:elsius|ahrenheit)?\b", re.IGNORECASE)
_MONEY_TOKEN = re.compile(r"zqunit0[0-8]")
_DECIMAL_COMMA = re.compile(r"(\D{0,4}\d{1,3}(?:[. '’]?\d{3})*),(\d\d)(\D{0,5})")
_MILLION_OR_THOUSAND = re.compile(r"\d ?mil\b", re.IGNORECASE)


def _amount(value: JsonValue) -> Amount | None:
    """Parses a number as `amount` does, also with a decimal comma and in words (`five`, `100 dollars`)."""
    if not isinstance(value, str):
        return amount(value)
    comma = _DECIMAL_COMMA.fullmatch(value.strip())
    if comma is not None:
        return amount(re.sub(r"(?<=\d)\D", "", comma[1]) + "." + comma[2] + comma[3])
    return amount(value) or (_amount_in_words(value) if len(value) <= _LONGEST_MOMENT else None)


@lru_cache(maxsize=4096)
def _amount_in_words(text: str) -> Amount | None:
    if not any(map(str.isalpha, text)) or _MILLION_OR_THOUSAND.search(text):
        return None
    between, mentions = read_passage(with_digits(text), None)
    is_one = len(mentions) == 1 and not any(between) and not (mentions[0].is_share or mentions[0].is_denied)
    return mentions[0].amount if is_one else None


def _may_be(value: JsonValue, number: Amount | None) -> bool:
    """Returns whether a text may state a number with words or other separators (`5 kg`, `1.250`)."""
    if number is None or not isinstance(value, str) or value.isdecimal() or len(value) > _LONGEST_MOMENT:
        return False
    if (fraction := _FRACTION.fullmatch(plain(value))) and int(fraction[2]):
        return same_amount(Amount(int(fraction[1]) / int(fraction[2]), ""), number)
    for mentions in (read_passage(value, language).mentions for language in (None, "de", "fr")):
        if len(mentions) == 1 and (stated := mentions[0]).amount is not None and not stated.is_denied:
            percent = [Amount(100 * number.value, "")] if stated.is_share else []
            if any(same_amount(stated.amount, other) for other in (number, *percent)):
                return True
    return False


_FRACTION = re.compile(r"(\d{1,3})[/⁄](\d{1,3})")  # may be a date, too
_LETTERS, _DIGITS_OF_A_CODE = 3, 7
_SIGNED = re.compile(r"(?:^|\W|UTC|GMT)-\d|^\(\d+\)$", re.IGNORECASE)


def _code(text: str) -> str | None:
    """Returns a phone, card, account, flight or postal code without its spacing; None: it is none."""
    pieces = re.split(r"[ ()-]+", text.strip(" ()").upper())
    is_code = len(text) <= _LONGEST_MOMENT and any(map(str.isdecimal, text)) and not _SIGNED.search(text)
    if not is_code or read_dates(plain(text)):
        return None
    for piece in pieces:
        may_be_part = len(piece) <= _LETTERS or any(map(str.isdecimal, piece))
        if not (may_be_part and piece.isascii() and piece.lstrip("+").isalnum()):
            return None
    # Spacing between digits counts in short texts: `1 2` is not `12`.
    joins = any(before[-1].isdecimal() and after[0].isdecimal() for before, after in pairwise(pieces))
    return None if joins and sum(map(str.isdecimal, text)) < _DIGITS_OF_A_CODE else "".join(pieces)


def _dates(value: JsonValue, number: Amount | None) -> tuple[DateReading, ...]:
    if number is None:
        return read_dates(plain(value))
    return () if number.currency else epoch_date(number.value) or read_dates(plain(value))


def _truth(value: JsonValue) -> bool | None:
    truth = _SWITCHES.get(plain(value)) if isinstance(value, str) else value
    return truth if isinstance(truth, bool) else None


# The arguments of two calls of one tool, by the rules of a config and the answers of a judge.

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
    """Rules for comparing arguments, beside the default equivalence; a tool may be `*`, which is any."""

    # Tool -> parameter -> matcher, and tool -> parameters whose lists are compared in order.
    matchers: Mapping[str, Mapping[str, calls.ArgumentMatcher]] = field(default_factory=dict)
    ordered: Mapping[str, Sequence[str]] = field(default_factory=dict)
    unclear: bool = False  # result for a value that only a judge can compare: a directive, or prose
    ignores_prose: bool = False  # whether prose is not compared at all
    # Tools whose prose is not compared, unless it contradicts: hand-offs, whose texts are for a person.
    free_tools: frozenset[str | None] = frozenset()
    answers: Mapping[OpenPair, bool] = field(default_factory=dict)  # a judge's: whether they are the same

    def differences(self, expected: ToolCall, actual: ToolCall) -> list[Difference]:
        """Returns the differences between the arguments of two calls of one tool.

        No arguments, null and `{}` are one thing. If the expected call lists `compare_args`, only those
        parameters are compared.
        """
        wanted, given = expected.args or {}, actual.args or {}
        if calls.same_value(wanted, given):
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
        return [name for name in names if name not in apart and not calls.is_directive(wanted.get(name))]

    def _compare(self, tool: str, wanted: JsonObject, given: JsonObject) -> list[Difference]:
        matchers = {**self.matchers.get(ANY_TOOL, {}), **self.matchers.get(tool, {})}
        ordered = {*self.ordered.get(ANY_TOOL, ()), *self.ordered.get(tool, ())}
        prose: Prose = "ignored" if self.ignores_prose else "met" if self.unclear else "unmet"
        prose = "free" if tool in self.free_tools else prose
        free = {name: wanted[name] for name in wanted if name not in matchers and name not in ordered}
        differences, done = _compare_rows(free, given, prose)
        for name in (name for name in (*wanted, *(n for n in given if n not in wanted)) if name not in done):
            want: JsonValue = wanted.get(name)
            value, matcher = given.get(name), matchers.get(name)
            met: bool | None
            if matcher is not None and matcher.match == "ignore":
                met = True
            elif calls.is_directive(want):
                met = calls.value_matches(want, value) if name in given else want["$matchType"] == "ignore"
                met = self.unclear if met is None else met
            elif matcher is not None and name in given and want is not None:
                met = matcher.matches(want, value)
            elif name in ordered and isinstance(want, list) and isinstance(value, list):
                pairs = zip(want, value, strict=True)
                met = len(want) == len(value) and all(equivalent(*p, prose, name, "names") for p in pairs)
            else:
                met = equivalent(want, value, prose, name, "none")
            if not met:
                differences.append(Difference(name, want, value))
        return differences


def _open_pair(tool: str, difference: Difference) -> OpenPair:
    wanted = difference.expected
    text = calls.directive_text(wanted) if calls.is_directive(wanted) else calls.plain_text(wanted)
    return OpenPair(f"{difference.parameter} of {tool}", text, calls.plain_text(difference.actual))


def _compare_rows(wanted: JsonObject, given: JsonObject, prose: Prose) -> tuple[list[Difference], set[str]]:
    """Compares lists of scalars of equal length (2 or more) on both sides: entries at one index form a row.

    Returns the differences, and the names of all such lists.
    """

    def size(value: JsonValue) -> int:
        is_list = isinstance(value, list) and not any(isinstance(item, (dict, list)) for item in value)
        return len(value) if is_list else -1

    differences: list[Difference] = []
    done: set[str] = set()
    sizes = ((name, size(value)) for name, value in wanted.items())
    parallel = ((n, name) for name, n in sizes if n > 1 and order_of(name, wanted[name]) != "fixed")
    for group in grouped(parallel).values():
        given_sizes = {size(given.get(name)) for name in group if len(group) > 1}
        if len(given_sizes) != 1 or -1 in given_sizes:
            continue
        done.update(group)
        rows, made = (
            [dict(zip(group, row, strict=True)) for row in zip(*map(side.__getitem__, group), strict=True)]
            for side in (wanted, given)
        )
        is_same = len(rows) == len(made)
        if is_same and prose == "unmet" and any(order_of(name, ()) == "open" for name in group):
            is_same = all(map(partial(equivalent, prose=prose), rows, made))
        elif is_same:
            is_same = None not in pair_equivalent(rows, made, prose)
        if not is_same:
            apart = [name for name in group if not equivalent(wanted[name], given[name], prose, name)]
            alone = [Difference(name, wanted[name], given[name]) for name in apart]
            differences += alone or [Difference(" with ".join(group), rows, made)]
    return differences, done
