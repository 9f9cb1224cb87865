"""Finds the numbers, amounts, codes, addresses and days of a claim that its list of values leaves out."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from turnwise.transforms.effects.call_values import CallValue, values_text
from turnwise.transforms.effects.mentions import normalized, read_passage
from turnwise.transforms.effects.statements.claimed_values import ClaimedValue
from turnwise.transforms.effects.statements.stated_codes import addresses_in, codes_in, is_named
from turnwise.transforms.effects.statements.written_words import NUMBERS_IN_WORDS
from turnwise.transforms.text.dates import read_dates
from turnwise.transforms.text.numbers import Keys, month_key
from turnwise.transforms.text.values import Amount, plain
from turnwise.transforms.text.weekdays import WEEKDAY_IN_CHARACTERS, weekdays_in
from turnwise.transforms.text.words import Word, dates_in_words, words

_LEAST_WORD = 10
"""Least number that is looked for if it is written as a word: `one` and `two` often count nothing."""

_LEAST_END = 4
_LIST_MARKER = re.compile(r"^\W*\d{1,2}[.)]\s")
_WEEKDAY_OR_WORD = re.compile(rf"{WEEKDAY_IN_CHARACTERS}|\w+")
_NUMBER_AND_UNIT = re.compile(r"\d+[a-z]{2,}|\d+h\d\d|\d+k")
_CAPITAL_MONTHS = frozenset(("may", "march", "mar", "sept", "dec", "mars", "mai", "mayo", "jan", "jun"))


class HeldByActions(NamedTuple):
    """What all actions hold: their values as text, the keys of their numbers and days, and weekdays, 0..6."""

    text: str
    keys: frozenset[str]
    weekdays: frozenset[int]


def held_values(values: Sequence[CallValue]) -> HeldByActions:
    """Returns what the values of actions hold."""
    text = values_text(values)
    days = (reading.day for leaf in values for reading in read_dates(plain(leaf.value)))
    weekdays = {day.weekday() for day in days if day} | weekdays_in(text)
    return HeldByActions(text, frozenset(_keys(words(text))), frozenset(weekdays))


def unlisted_numbers(quote: str, listed: Sequence[str], held: HeldByActions) -> list[ClaimedValue]:
    """Returns the numbers, codes, addresses and days that are neither listed nor held by an action.

    Args:
        quote: The agent's words.
        listed: The values and the identifier that are compared.
        held: What all actions hold.
    """
    text = " | ".join(listed)
    known, found = held.keys | _keys(words(text)), words(_LIST_MARKER.sub("", quote))
    missing = (word for word, own in _demands(found, quote) if not all(known.intersection(k) for k in own))
    numbers = [word for word in dict.fromkeys(missing) if not _is_end(word, held.text)]
    codes = [
        one for one in _unlisted_codes(quote, text, held) if not any(number in one for number in numbers)
    ]
    return [ClaimedValue("", one) for one in (*numbers, *codes, *_unlisted_weekdays(quote, text, held))]


def _is_end(number: str, text: str) -> bool:
    """Returns whether a text holds a long number that ends with a number of four digits or more."""
    is_long = number.isdecimal() and len(number) >= _LEAST_END
    return is_long and re.search(rf"\d{{3,}}{number}(?!\d)", text) is not None


def _demands(found: Sequence[Word], quote: str) -> Iterator[tuple[str, tuple[Keys, ...]]]:
    days = list(dates_in_words(found))
    yield from ((word.lower, tuple(map(_without_late, word.demands))) for word in found)
    yield from ((f"{word.lower} {keys[-1].rpartition('d')[2]}", (keys,)) for word, keys in days)
    large = (word for word in found if NUMBERS_IN_WORDS.get(word.lower, 0) >= _LEAST_WORD)
    yield from ((word.lower, (_word_keys(word),)) for word in large)
    dated = {word.lower for word, _ in days}
    for word in found:
        is_name = word.month and (word.lower not in _CAPITAL_MONTHS or word.lower.capitalize() in quote)
        if is_name and word.lower not in dated:
            yield word.lower, ((month_key(word.month),),)


def _without_late(keys: Keys) -> Keys:
    """Returns the keys of a demand; of a time such as `7:00`, without its reading after noon."""
    return keys[:1] if keys and keys[0].startswith("#t") else keys


def _unlisted_codes(quote: str, listed: str, held: HeldByActions) -> list[str]:
    known = {*codes_in(listed), *codes_in(held.text), *addresses_in(listed), *addresses_in(held.text)}
    codes = [code for code in codes_in(quote) if not _NUMBER_AND_UNIT.fullmatch(code)]
    return [
        one
        for one in (*codes, *addresses_in(quote))
        if one not in known and not is_named(one, f"{listed} | {held.text}")
    ]


def _unlisted_weekdays(quote: str, listed: str, held: HeldByActions) -> list[str]:
    days = weekdays_in(quote) - weekdays_in(listed) - held.weekdays
    names = (found[0] for found in _WEEKDAY_OR_WORD.finditer(quote.lower()))
    return [name for name in dict.fromkeys(names) if weekdays_in(name) & days]


def unlisted_money(quote: str, listed: Sequence[str]) -> list[ClaimedValue]:
    """Returns the amounts with a currency in a quote that no claim lists."""
    known = {own for text in listed for own in _money_in(text)}
    return [ClaimedValue("", text) for own, text in _money_in(quote).items() if own not in known]


def _money_in(text: str) -> dict[Amount, str]:
    """Returns the amounts of money in a text, each with its words."""
    found, plain_text = read_passage(text, None).mentions, normalized(text, None)
    return {
        one.amount: plain_text[one.start : one.end] for one in found if one.amount and one.amount.currency
    }


def _keys(found: Sequence[Word]) -> set[str]:
    """Returns the keys of all readings of the numbers and days of a text."""
    numbers = [word.keys for word in found if word.demands]
    days = [keys for _, keys in dates_in_words(found)]
    named = [_word_keys(word) for word in found if word.lower in NUMBERS_IN_WORDS]
    months = [(month_key(word.month),) for word in found if word.month]
    return {key for keys in (*numbers, *days, *named, *months) for key in keys}


def _word_keys(word: Word) -> Keys:
    return (f"#{NUMBERS_IN_WORDS[word.lower]}",)
