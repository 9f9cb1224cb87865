"""Reads the values of a call with their paths, and the words that name them."""

import re
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.effects.mentions import MONEY_NAMES
from turnwise.transforms.text.cleaning import CURRENCY_CODES, plain
from turnwise.transforms.text.words import FUNCTION_WORDS, word_set

_INDEX = re.compile(r"\.(\d+)(?=\.|$)")
_PLACE = re.compile(r"\[\w*\]")
_NAME_PARTS = re.compile(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+(?![^\W\d_A-Z])|\d+")
_LARGEST = 10**40
CHANGING_WORDS = word_set("""before after against since than between over under up down out off again all
    every each both either one ones est cet same other others another only even more most much many about no
    nor not vor nach über unter zwischen gegen mehr seit sehr aber oder or más muy entre depuis plus""")
"""Function words that change a value (`before 5`, `one more`)."""

_PLAIN_WORDS = (FUNCTION_WORDS - CHANGING_WORDS) | word_set("""no nr number mr mrs ms dr herr frau 을 를 이 가
    은 는 에 로 으로 の に を へ は""")

ValueVerdict = Literal["same", "other", "not_compared"]


class CallValue(NamedTuple):
    """A scalar of a call: its path (`items[0].count`) and its value."""

    path: str
    value: JsonValue


def leaves(value: JsonValue) -> list[CallValue]:
    """Returns the scalars of a value with their paths, in order, without whole numbers of over 40 digits."""
    scalars, left = [], [CallValue("", value)]
    while left:
        path, held = left.pop()
        inner: list[CallValue] = []
        if isinstance(held, dict):
            inner = [CallValue(f"{path}.{name}" if path else name, item) for name, item in held.items()]
        elif isinstance(held, list):
            inner = [CallValue(f"{path}[{i}]", item) for i, item in enumerate(held)]
        elif not isinstance(held, int) or abs(held) < _LARGEST:
            scalars.append(CallValue(path, held))
        left += reversed(inner)
    return scalars


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

    def is_near(path: str) -> bool:
        return any(wanted.startswith(f"{p}.") or wanted.endswith(f".{p}") for p in _spellings(path))

    return [leaf for leaf in values if is_near(leaf.path)]


def _spellings(path: str) -> tuple[str, str]:
    return path.lower(), _PLACE.sub("", path).lower()


def values_text(values: Iterable[CallValue]) -> str:
    """Returns the values as one text for searching; names of arguments that hold a digit are values, too."""
    shown = (
        f"{path if any(map(str.isdecimal, _PLACE.sub('', path))) else ''} | {plain(value)}"
        for path, value in values
        if not isinstance(value, bool)
    )
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
    for code in map(_code, path_words(path)[-1:]):
        if code is not None:
            return code
    around, codes = path, set[str | None]()
    while around and not codes:
        around = around.rpartition(".")[0]
        codes = {_code(plain(leaf.value)) for leaf in values if _is_currency(leaf, around)}
    codes = codes or {_code(plain(leaf.value)) for leaf in values if "currency" in leaf.path.lower()}
    return codes.pop() if len(codes) == 1 else None if codes else ""


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
