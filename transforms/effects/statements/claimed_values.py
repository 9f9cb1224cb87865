"""Compares the values that an agent states of an action with the arguments of its call."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.effects.call_values import (
    CallValue,
    ValueVerdict,
    currency_of,
    currency_values,
    is_plain_word,
    leaves,
    named,
    nearly_named,
    values_text,
)
from turnwise.transforms.effects.equivalence import equivalent
from turnwise.transforms.effects.mentions import read_passage
from turnwise.transforms.effects.prose import is_prose
from turnwise.transforms.effects.prose_values import compare_moments, given_moments
from turnwise.transforms.effects.statements.stated_amounts import (
    compare_amounts,
    compare_digits,
    is_fraction,
    read_given,
)
from turnwise.transforms.effects.statements.stated_codes import (
    addresses_in,
    codes_in,
    compare_addresses,
    without_codes,
)
from turnwise.transforms.effects.statements.stated_names import compare_names
from turnwise.transforms.text.values import plain
from turnwise.transforms.text.words import is_negated, words

_LONGEST, _MOST_VALUES = 2_000, 100
_WORD = re.compile(r"[^\W_]+")


class ClaimedValue(NamedTuple):
    """A value that an agent states of an action.

    Attributes:
        argument: Path of the argument that it belongs to, as `argument_paths` gives it; "": none.
        text: The agent's words.
    """

    argument: str
    text: str


def compare_value(
    value: ClaimedValue, args: JsonObject | None, held: Sequence[CallValue] = ()
) -> ValueVerdict:
    """Compares a stated value with its argument; of a list, with all entries together.

    A value is the `same` only if all of its words are read and equal the argument, `other` only if it is
    shown to differ. Numbers, amounts of money, dates and times are compared by value, in any spelling; codes
    and addresses as a whole; other words with those of the argument.

    Args:
        value: The stated value.
        args: Arguments of the call.
        held: All values of the call and of its response. A value of an argument that the call does not have
            is the `same` if one of them is.

    Returns:
        `not_compared` also where the argument is empty, a truth value, or prose with other words.
    """
    given = leaves(args or {})
    own = named(value.argument, given) if value.argument else []
    near = nearly_named(value.argument, given) if not own else []
    if near:
        return "same" if any(_compare(value.text, leaf, given) == "same" for leaf in near) else "not_compared"
    if not own:
        return "same" if _is_held(value.text, [*given, *held]) else "not_compared"
    verdicts = [_compare(value.text, leaf, given) for leaf in own]
    if len(own) == 1 or "same" in verdicts:
        return "same" if "same" in verdicts else verdicts[0]
    together = _compare_list(value.text, own, given)
    return "other" if together is None and set(verdicts) == {"other"} else together or "not_compared"


def _compare(text: str, leaf: CallValue, given: Sequence[CallValue]) -> ValueVerdict:
    path, argument = leaf
    if argument is None or not text.strip() or len(text) > _LONGEST:
        return "not_compared"
    if plain(text) == plain(argument):
        return "same"
    if isinstance(argument, bool):
        return "same" if equivalent(argument, text) else "not_compared"
    if not _is_comparable(text, argument):
        return "not_compared"
    return _compare_kinds(text, argument, path, given)


def _is_comparable(text: str, argument: JsonValue) -> bool:
    if is_prose(argument) or is_fraction(text) or len(plain(argument)) > _LONGEST:
        return False
    is_denied = any(mention.is_denied for mention in read_passage(text, None).mentions)
    return not is_denied and is_negated(words(text)) == is_negated(words(plain(argument)))


def _compare_kinds(text: str, argument: JsonValue, path: str, given: Sequence[CallValue]) -> ValueVerdict:
    shown = argument if isinstance(argument, str) else plain(argument)
    verdict = compare_addresses(text, shown, path)
    if verdict is None and isinstance(argument, str):
        moments = given_moments(argument)
        verdict = compare_moments(text, moments, path) if moments else compare_digits(text, argument, path)
    if verdict:
        return verdict
    numbers = read_given([argument], path, currency_of(path, given))
    return compare_amounts(text, numbers) if numbers else compare_names(text, shown, path)


def _compare_list(text: str, own: Sequence[CallValue], given: Sequence[CallValue]) -> ValueVerdict | None:
    """Compares a text with all entries of a list together; None: they say no more than each for itself."""
    path, values = own[0].path, [leaf.value for leaf in own]
    numbers = read_given(values, path, currency_of(path, given))
    if numbers:
        return compare_amounts(text, numbers)
    joined = ", ".join(value if isinstance(value, str) else plain(value) for value in values)
    found = _compare_kinds(text, joined, path, given) if _is_comparable(text, joined) else "not_compared"
    return None if found == "not_compared" else found


def _is_held(said: str, values: Sequence[CallValue]) -> bool:
    """Returns whether one of a call's values is the same as a text, or the text is codes that they hold."""
    compared = [leaf for leaf in values if not isinstance(leaf.value, bool)][:_MOST_VALUES]
    currencies = currency_values(values)
    if any(_compare(said, leaf, currencies) == "same" for leaf in compared):
        return True
    codes, rest = codes_in(said), _WORD.findall(without_codes(said).lower())
    if not codes or addresses_in(said) or not all(is_plain_word(word, "") for word in rest):
        return False
    return set(codes) <= set(codes_in(values_text(values)))
