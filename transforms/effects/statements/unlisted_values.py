"""Finds the numbers and amounts of a claim that its list of values leaves out."""

import re
from collections.abc import Sequence

from turnwise.transforms.effects.statements.claimed_values import (
    ClaimedValue,
    money_in,
    number_keys,
    number_words,
)
from turnwise.transforms.text.function_words import NUMBER_WORDS
from turnwise.transforms.text.words import dates_in_words, words

_LEAST_WORD = 10
"""Least number that is looked for if it is written as a word: `one` and `two` often count nothing."""

_LIST_MARKER = re.compile(r"^\W*\d{1,2}[.)]\s")


def unlisted_numbers(quote: str, listed: Sequence[str], held: set[str]) -> list[ClaimedValue]:
    """Returns the numbers of a quote that are neither listed nor held by an action.

    Args:
        quote: The agent's words.
        listed: The values and the identifier that are compared.
        held: `number_keys` of all actions.
    """
    known, found = held | number_keys(" ".join(listed)), words(_LIST_MARKER.sub("", quote))
    demands = [(word, word.demands) for word in found]
    demands += [(word, (keys,)) for word, keys in dates_in_words(found)]
    demands += [
        (word, tuple(number_words([word])))
        for word in found
        if int(NUMBER_WORDS.get(word.lower, 0)) >= _LEAST_WORD
    ]
    missing = (word for word, own in demands if not all(known.intersection(keys) for keys in own))
    return [ClaimedValue("", text) for text in dict.fromkeys(word.lower for word in missing)]


def unlisted_money(quote: str, listed: Sequence[str]) -> list[ClaimedValue]:
    """Returns the amounts with a currency in a quote that no claim lists."""
    known = [own for text in listed for own in money_in(text)]
    missing = (own for own in money_in(quote) if own not in known)
    return [ClaimedValue("", f"{own.value:.15g} {own.currency.upper()}") for own in missing]
