"""Compares the values that an agent states of an action with the arguments of its call."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from turnwise.schemas.values import JsonObject, JsonValue
from turnwise.transforms.effects.equivalence import (
    CURRENCY_CODES,
    Amount,
    amount,
    equivalent,
    is_prose,
    plain,
    same_amount,
)
from turnwise.transforms.effects.statements.mentions import Mention, read_passage
from turnwise.transforms.effects.statements.stated_names import ValueVerdict, compare_names
from turnwise.transforms.judging.prompts.render import json_text
from turnwise.transforms.text.dates import read_dates
from turnwise.transforms.text.function_words import NUMBER_WORDS
from turnwise.transforms.text.numbers import Keys
from turnwise.transforms.text.weekdays import weekdays_in
from turnwise.transforms.text.words import Word, dates_in_words, is_negated, words

_INDEX = re.compile(r"\.(\d+)(?=\.|$)")
_PLACE = re.compile(r"\[\w*\]")
_DIGITS_ALONE = re.compile(r"\+?[\d\s().-]{7,}")
_SHARES = re.compile(r"percent|pct|rate|share", re.IGNORECASE)
_SHORTEST_DIGITS, _LEAST_DIGITS = 4, 7
_DOLLARS = frozenset(("usd", "aud", "cad", "hkd", "nzd", "sgd", "twd"))


class ClaimedValue(NamedTuple):
    """A value that an agent states of an action.

    Attributes:
        argument: Path of the argument that it belongs to, as `argument_paths` gives it; "": none.
        text: The agent's words.
    """

    argument: str
    text: str


def argument_paths(args: JsonObject | None) -> list[str]:
    """Returns the paths of the scalar arguments of a call: `amount`, `address.street`, `items.id`."""
    return list(dict.fromkeys(_PLACE.sub("", path) for path, _ in _leaves(args or {}, "")))


def _leaves(value: JsonValue, path: str) -> Iterator[tuple[str, JsonValue]]:
    if isinstance(value, dict):
        for name, one in value.items():
            yield from _leaves(one, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        for place, one in enumerate(value):
            yield from _leaves(one, f"{path}[{place}]")
    else:
        yield path, value


def compare_value(value: ClaimedValue, args: JsonObject | None, text: str = "") -> ValueVerdict:
    """Compares a stated value with its argument; of a list, with all entries together.

    Numbers, amounts and dates are compared by value, in any spelling, and with the currency that the call
    names; weekdays with dates. Other words must stand in the argument, as a whole or shortened (`St` for
    `Street`), or hold all of its words. Words that share nothing with the argument are not compared: they may
    be another name of the same (`San Francisco` for `SFO`).

    Args:
        value: The stated value.
        args: Arguments of the call.
        text: All that the call holds, with its response. A value of an argument that the call does not have
            is the `same` if its numbers stand there.

    Returns:
        `not_compared` also where the argument is empty, a truth value, or prose with other words.
    """
    leaves, path = list(_leaves(args or {}, "")), _INDEX.sub(r"[\1]", value.argument)
    own = [leaf for name, leaf in leaves if path in (name, _PLACE.sub("", name))]
    if not own:
        return "same" if _is_held(value.text, leaves, text) else "not_compared"
    currency = _currency(leaves)
    if len(own) == 1 or any(plain(leaf) == plain(value.text) for leaf in own):
        found = {_compare(value.text, leaf, path, currency) for leaf in own}
        return "same" if "same" in found else found.pop()
    return _compare(value.text, " ".join(map(plain, own)), path, currency)


def _is_held(said: str, leaves: Sequence[tuple[str, JsonValue]], text: str) -> bool:
    """Returns whether a call holds all numbers of a text; money must be an argument of its own."""
    if money_in(said):
        currency = _currency(leaves)
        return any(amount(leaf) and _compare(said, leaf, name, currency) == "same" for name, leaf in leaves)
    demanded, keys = _demands(words(said)), number_keys(text)
    return bool(demanded) and all(keys.intersection(demand) for demand in demanded)


def number_keys(text: str) -> set[str]:
    """Returns the keys of all readings of the numbers and days of a text."""
    return _keys(words(text))


def money_in(text: str) -> list[Amount]:
    """Returns the amounts with a currency in a text."""
    mentions = read_passage(text, None).mentions
    return [mention.amount for mention in mentions if mention.amount and mention.amount.currency]


def _currency(leaves: Sequence[tuple[str, JsonValue]]) -> str:
    """Returns the code of the currency that an argument names; "": none or several."""
    named = {plain(leaf) for name, leaf in leaves if "currency" in name.lower()}
    return next(iter(named)) if len(named) == 1 and all(map(CURRENCY_CODES.fullmatch, named)) else ""


def _compare(text: str, argument: JsonValue, path: str, currency: str) -> ValueVerdict:
    said, given = words(text), words(json_text(argument))
    if argument is None or not said:
        return "not_compared"
    passed = amount(argument)
    if passed and _is_othermoney_in(text, passed.value, passed.currency or currency):
        return "other"
    if plain(text) == plain(argument) or (
        not is_prose(text) and not is_prose(argument) and equivalent(argument, text)
    ):
        return "same"
    if isinstance(argument, bool) or is_prose(argument) or is_negated(said) != is_negated(given):
        return "not_compared"
    if any(_is_unclear(mention, passed, path) for mention in read_passage(text, None).mentions):
        return "not_compared"
    return _compare_numbers(text, argument) or _compare_words(text, argument)


def _is_unclear(mention: Mention, passed: Amount | None, path: str) -> bool:
    """Returns whether a number is denied, or of another kind or sign than its argument."""
    is_money = mention.amount is not None and mention.amount.currency != ""
    is_other_kind = is_money if _SHARES.search(path) else mention.is_share
    has_other_sign = (
        passed is not None and mention.amount is not None and passed.value < 0 < mention.amount.value
    )
    return mention.is_denied or is_other_kind or has_other_sign


def _compare_numbers(text: str, argument: JsonValue) -> ValueVerdict | None:
    """Compares amounts, and numbers of phones and cards; None: the argument is none."""
    stated, passed = amount(text), amount(argument)
    if stated and passed:
        return "same" if same_amount(passed, stated) else "other"
    said, given = ("".join(filter(str.isdecimal, plain(side))).lstrip("0") for side in (text, argument))
    if not _DIGITS_ALONE.fullmatch(plain(argument)) or read_dates(plain(argument)):
        return None
    if len(said) >= _SHORTEST_DIGITS and given.endswith(said):
        return "same"
    return "other" if len(said) >= _LEAST_DIGITS else None


def _compare_words(text: str, argument: JsonValue) -> ValueVerdict:
    said, given = words(text), words(json_text(argument))
    demanded, keys = _demands(said), _keys(given)
    if demanded and keys and not all(keys.intersection(demand) for demand in demanded):
        return "not_compared" if len(number_words(said)) > 1 else "other"
    return (
        _compare_weekdays(text, argument)
        or compare_names(text, json_text(argument))
        or ("same" if demanded and keys else "not_compared")
    )


def _is_othermoney_in(text: str, passed: float, currency: str) -> bool:
    """Returns whether a text states another currency than an amount's, or a sign that it does not have."""
    for stated in (mention.amount for mention in read_passage(text, None).mentions):
        if stated is None:
            continue
        is_dollar = stated.currency == "usd" and "us" not in text.lower() and currency in _DOLLARS
        if stated.currency and currency and stated.currency != currency and not is_dollar:
            return True
        if stated.value < 0 <= passed:
            return True
    return False


def _compare_weekdays(text: str, argument: JsonValue) -> ValueVerdict | None:
    """Compares weekdays with those of dates; None: one side has none."""
    stated, dates = weekdays_in(text), read_dates(plain(argument))
    days = {date.day.weekday() for date in dates if date.day}
    if not stated or not days:
        return None
    return "same" if stated <= days else "other"


def _demands(found: Sequence[Word]) -> list[Keys]:
    """Returns the numbers and days of a text, each with the keys of its readings."""
    days = [keys for _, keys in dates_in_words(found)]
    return [*(demand for word in found for demand in word.demands), *days, *number_words(found)]


def _keys(found: Sequence[Word]) -> set[str]:
    """Returns the keys of all readings of the numbers and days of a text."""
    numbers = [word.keys for word in found if word.demands]
    days = [keys for _, keys in dates_in_words(found)]
    return {key for keys in (*numbers, *days, *number_words(found)) for key in keys}


def number_words(found: Sequence[Word]) -> list[Keys]:
    """Returns the keys of the numbers that are written as words."""
    return [(f"#{NUMBER_WORDS[word.lower]}",) for word in found if word.lower in NUMBER_WORDS]
