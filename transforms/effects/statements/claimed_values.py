"""Compares the values that an agent states of an action with the arguments of its call."""

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple
from unicodedata import combining, normalize

from turnwise.schemas.values import JsonObject, JsonValue
from turnwise.transforms.effects.equivalence import amount, equivalent, is_prose, same_amount
from turnwise.transforms.judging.prompts.render import json_text
from turnwise.transforms.text.function_words import FUNCTION_WORDS, NUMBER_WORDS
from turnwise.transforms.text.numbers import Keys
from turnwise.transforms.text.words import Word, dates_in_words, words

_VOWELS = frozenset("aeiou")

ValueVerdict = Literal["same", "other", "not_compared"]


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
    return list(dict.fromkeys(path for path, _ in _leaves(args or {}, "")))


def _leaves(value: JsonValue, path: str) -> Iterator[tuple[str, JsonValue]]:
    if isinstance(value, dict):
        for name, one in value.items():
            yield from _leaves(one, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        for one in value:
            yield from _leaves(one, path)
    else:
        yield path, value


def compare_value(value: ClaimedValue, args: JsonObject | None) -> ValueVerdict:
    """Compares a stated value with its argument; of a list, with the entry that agrees best.

    Numbers, amounts and dates are compared by value, in any spelling. Other words must stand in the argument,
    as a whole or shortened (`St` for `Street`). Words that share nothing with the argument are not compared:
    they may be another name of the same (`San Francisco` for `SFO`).

    Returns:
        `not_compared` also where the call has no such argument, or it is empty, a truth value or prose.
    """
    leaves = [leaf for path, leaf in _leaves(args or {}, "") if path == value.argument]
    found = {_compare(value.text, leaf) for leaf in leaves}
    order: tuple[ValueVerdict, ...] = ("same", "not_compared", "other")
    return next((verdict for verdict in order if verdict in found), "not_compared")


def _compare(text: str, argument: JsonValue) -> ValueVerdict:
    if argument is None or isinstance(argument, bool) or is_prose(argument):
        return "not_compared"
    stated, passed = amount(text), amount(argument)
    if stated and passed:
        return "same" if same_amount(passed, stated) else "other"
    if equivalent(argument, text):
        return "same"
    said, given = words(text), words(json_text(argument))
    demanded, keys = _demands(said), _keys(given)
    if demanded and keys and not all(keys.intersection(demand) for demand in demanded):
        return "other"
    return _compare_names(said, given) or ("same" if demanded and keys else "not_compared")


def _demands(found: Sequence[Word]) -> list[Keys]:
    """Returns the numbers and days of a text, each with the keys of its readings."""
    days = [keys for _, keys in dates_in_words(found)]
    return [*(demand for word in found for demand in word.demands), *days, *_number_words(found)]


def _keys(found: Sequence[Word]) -> set[str]:
    """Returns the keys of all readings of the numbers and days of a text."""
    numbers = [word.keys for word in found if word.demands]
    days = [keys for _, keys in dates_in_words(found)]
    return {key for keys in (*numbers, *days, *_number_words(found)) for key in keys}


def _number_words(found: Sequence[Word]) -> list[Keys]:
    return [(f"#{NUMBER_WORDS[word.lower]}",) for word in found if word.lower in NUMBER_WORDS]


def _compare_names(said: Sequence[Word], given: Sequence[Word]) -> ValueVerdict | None:
    """Compares the words beside the numbers; None: one side has none."""
    names, others = _names(said), _names(given)
    if not names or not others:
        return None
    found = [any(_are_alike(name, other) for other in others) for name in names]
    return "same" if all(found) else "other" if any(found) else "not_compared"


def _names(found: Sequence[Word]) -> list[str]:
    numbers_and_grammar = FUNCTION_WORDS | NUMBER_WORDS.keys()
    return [
        _without_accents(word.lower)
        for word in found
        if not word.demands and not word.month and word.lower not in numbers_and_grammar
    ]


def _without_accents(word: str) -> str:
    return "".join(char for char in normalize("NFKD", word) if not combining(char))


def _are_alike(left: str, right: str) -> bool:
    """Returns whether two words are equal, or one shortens the other (`ave`, `avenue`; `rd`, `road`)."""
    short, long = sorted((left, right), key=len)
    if long.startswith(short):
        return True
    letters = iter(long)
    is_abbreviation = short[0] == long[0] and not _VOWELS.intersection(short[1:])
    return is_abbreviation and all(letter in letters for letter in short)
