"""Reads the values of a call with their paths, and the words that name them."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Literal, NamedTuple

from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.effects.mentions import MONEY_NAMES, Mention, Passage, read_passage
from turnwise.transforms.text.cleaning import CURRENCY_CODES, plain
from turnwise.transforms.text.sentences import sentences
from turnwise.transforms.text.words import FUNCTION_WORDS, word_set

_INDEX = re.compile(r"\.(\d+)(?=\.|$)")
_PLACE = re.compile(r"\[\w*\]")
_NAME_PARTS = re.compile(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+(?![^\W\d_A-Z])|\d+")
_LARGEST = 10**40
CHANGING_WORDS = word_set(
    "before after against since than between over under up down out off again all every each both either",
    "one ones est same other others another only even more most much many about no nor not",
    "vor nach über unter zwischen gegen mehr seit sehr aber oder or más muy entre depuis plus",
)
"""Function words that change a value (`before 5`, `one more`)."""

_PLAIN_WORDS = (FUNCTION_WORDS - CHANGING_WORDS) | word_set(
    "no nr number mr mrs ms dr herr frau 을 를 이 가 은 는 에 로 으로 の に を へ は"
)

ValueVerdict = Literal["same", "other", "not_compared"]


class CallValue(NamedTuple):
    """A scalar of a call: its path (`items[0].count`) and its value."""

    path: str
    value: JsonValue


def leaves(value: JsonValue) -> list[CallValue]:
    """Returns the scalars of a value with their paths, in order, without whole numbers of over 40 digits."""
    found, left = [], [CallValue("", value)]
    while left:
        path, one = left.pop()
        inner: list[CallValue] = []
        if isinstance(one, dict):
            inner = [CallValue(f"{path}.{name}" if path else name, item) for name, item in one.items()]
        elif isinstance(one, list):
            inner = [CallValue(f"{path}[{place}]", item) for place, item in enumerate(one)]
        elif not isinstance(one, int) or abs(one) < _LARGEST:
            found.append(CallValue(path, one))
        left += reversed(inner)
    return found


def argument_paths(args: JsonObject | None) -> list[str]:
    """Returns the paths of the scalar arguments of a call: `amount`, `address.street`, `items.id`."""
    return list(dict.fromkeys(_PLACE.sub("", leaf.path) for leaf in leaves(args or {})))


def named(path: str, values: Sequence[CallValue]) -> list[CallValue]:
    """Returns the values that a path names, in any case, with or without the places in lists."""
    wanted = _INDEX.sub(r"[\1]", path).strip().lower()
    return [leaf for leaf in values if wanted in _spellings(leaf.path)]


def nearly_named(path: str, values: Sequence[CallValue]) -> list[CallValue]:
    """Returns the values that a path names with more before or behind (`args.amount`, `amount.value`)."""
    wanted = path.strip().lower()
    return [
        leaf
        for leaf in values
        if any(wanted.startswith(f"{own}.") or wanted.endswith(f".{own}") for own in _spellings(leaf.path))
    ]


def _spellings(path: str) -> tuple[str, str]:
    return path.lower(), _PLACE.sub("", path).lower()


def values_text(values: Iterable[CallValue]) -> str:
    """Returns the values as one text for searching; names of arguments that hold a digit are values, too."""
    parts = (
        (leaf.path if any(map(str.isdecimal, _PLACE.sub("", leaf.path))) else "", leaf.value)
        for leaf in values
    )
    shown = (f"{path} | {plain(value)}" for path, value in parts if not isinstance(value, bool))
    return plain(" | ".join(shown))


def path_words(path: str) -> list[str]:
    """Returns the words of a path in lower case, without a plural `s`: `maxDays` -> max, day."""
    return [part.lower().removesuffix("s") for part in _NAME_PARTS.findall(_PLACE.sub("", path))]


def is_plain_word(word: str, path: str) -> bool:
    """Returns whether a word changes no value: a function word, or one of the argument's name."""
    return word in _PLAIN_WORDS or word.removesuffix("s") in path_words(path)


def currency_of(path: str, values: Sequence[CallValue]) -> str | None:
    """Returns the code of the currency that a call names for an argument.

    The argument's own name comes first (`amount_eur`), then a currency beside it, then one further out, then
    the only one anywhere.

    Returns:
        "": none is named; None: one is named, but cannot be read, or there are several.
    """
    own = {code for word in path_words(path)[-1:] if (code := _code(word)) is not None}
    if own:
        return own.pop()
    around = path
    while around:
        around = around.rpartition(".")[0]
        found = {_code(plain(leaf.value)) for leaf in values if _is_currency(leaf, around)}
        if found:
            return found.pop() if len(found) == 1 else None
    found = {_code(plain(leaf.value)) for leaf in values if "currency" in leaf.path.lower()}
    return "" if not found else found.pop() if len(found) == 1 else None


def currency_values(values: Sequence[CallValue]) -> list[CallValue]:
    """Returns the values that may name a currency, which `currency_of` needs."""
    return [leaf for leaf in values if leaf.path.lower().endswith("unit") or "currency" in leaf.path.lower()]


def _is_currency(leaf: CallValue, around: str) -> bool:
    parent, _, name = leaf.path.rpartition(".")
    if parent != around or not isinstance(leaf.value, str):
        return False
    return "currency" in name.lower() or (name.lower() == "unit" and _code(plain(leaf.value)) is not None)


def _code(text: str) -> str | None:
    name = MONEY_NAMES.get(text, text)
    return name if CURRENCY_CODES.fullmatch(name) else None


# Searches an agent's messages for expected texts, by words and by values.

_LONGEST_SHOWN = 160
_LONGEST_SEARCHED = 20_000
_DIGIT = re.compile(r"\d")
_LIST_NUMBER = re.compile(r"^[ \t>*-]*(?:\*\*)?(\d{1,3})[.)](?:\*\*)?[ \t]+(?=\S)", re.MULTILINE)
_WORD = re.compile(r"\w+")


class SpokenText:
    """The messages of an agent."""

    def __init__(self, texts: Sequence[str], language: str | None) -> None:
        self._texts, self._language = texts, language

    @cached_property
    def _all(self) -> str:
        return _words("\n".join(self._texts))

    @cached_property
    def _values(self) -> list[Passage]:
        return [read_passage(_without_list_numbers(text), self._language) for text in self._texts]

    @cached_property
    def _passages(self) -> list[Passage]:
        return [read_passage(text, self._language) for text in self._texts]

    @cached_property
    def _passages_in_digits(self) -> list[Passage]:
        return [read_passage(text, self._language, False) for text in self._texts]

    def contains(self, wanted: str) -> bool:
        """Returns whether a text was said.

        Words are compared without regard to letter case, bold type, kind of apostrophe and encoding of
        accents, and may be part of longer words. Numbers, amounts, dates and times of day are compared by
        value, identifiers as a whole (`1` is not in `21`). Negated numbers (`not 5`) and numbers of list
        entries do not count.
        """
        passage = read_passage(wanted, self._language) if _DIGIT.search(wanted) else None
        if passage is None or not passage.mentions:
            return _words(wanted) in self._all
        if not any(map(str.isalpha, "".join(passage.between))):
            return any(_contains(said, passage) for said in self._values)
        in_digits = read_passage(wanted, self._language, False)
        return any(_contains(said, passage) for said in self._passages) or any(
            _contains(said, in_digits) for said in self._passages_in_digits
        )

    def nearest_sentence(self, wanted: str) -> str:
        """Returns the sentence most similar to a text, or the last sentence; "": there are no messages."""
        text = "\n\n".join(text for text in self._texts if text.strip())[-_LONGEST_SEARCHED:]
        if not text:
            return ""
        parts = [text[a:b] for a, b in sentences(text, self._language)] or [text]
        likeness = [_likeness(wanted, part) for part in parts]
        best = max(likeness)
        last = len(parts) - 1 - likeness[::-1].index(best)
        return _shortened(parts[last] if best else parts[-1])


def _words(text: str) -> str:
    """Normalises case, bold type, apostrophes and accents."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text).replace("\u2019", "'")
    return (text.replace("**", "") or text).casefold()


def _without_list_numbers(text: str) -> str:
    """Removes the numbers of list entries (`1.`, `2.`, ...)."""
    numbers = [int(found[1]) for found in _LIST_NUMBER.finditer(text)]
    is_list = len(numbers) > 1 and numbers == [*range(1, len(numbers) + 1)]
    return _LIST_NUMBER.sub("", text) if is_list else text


def _contains(said: Passage, wanted: Passage) -> bool:
    size = len(wanted.mentions)
    return any(
        all(map(Mention.means, wanted.mentions, said.mentions[i : i + size]))
        and said.between[i].endswith(wanted.between[0])
        and said.between[i + 1 : i + size] == wanted.between[1:-1]
        and said.between[i + size].startswith(wanted.between[-1])
        for i in range(len(said.mentions) - size + 1)
    )


def _likeness(wanted: str, part: str) -> float:
    """Returns the share of the wanted words in a sentence; two numbers count as half a shared word."""
    words = set(_WORD.findall(wanted.casefold()))
    shared = len(words & set(_WORD.findall(part.casefold())))
    both_count = _DIGIT.search(wanted) is not None and _DIGIT.search(part) is not None
    return (shared + both_count / 2) / max(1, len(words))


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_SHOWN else f"…{line[1 - _LONGEST_SHOWN :]}"
