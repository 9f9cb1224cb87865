"""Compares claims with flags of JSON records, as `"pets_allowed": false`.

`false`, `null` and 0 deny the words of their key, `true` affirms them.
"""

import re
from collections.abc import Mapping, Set

from turnwise.transforms.local_judge.claims import Claim
from turnwise.transforms.text.function_words import word_set
from turnwise.transforms.text.words import is_negated, weigh, words

_FLAG = re.compile(r'"([^"\\\n]{1,64})\\?"\s{0,4}:\s{0,4}(true|false|null|0(?![\d.eE]))')
_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_LESS = word_set("false null zero 0 free empty unknown missing kostenlos gratis leer unbekannt")
_MOST = 0.75

Flags = Mapping[str, Set[str]]
"""Name -> its values."""


def read_flags(text: str) -> dict[str, set[str]]:
    """Returns the flags of all records in a text."""
    found: dict[str, set[str]] = {}
    for name, value in _FLAG.findall(text) if '":' in text or '" :' in text else ():
        found.setdefault(name, set()).add(value)
    return found


def without_flags(text: str) -> str:
    """Removes flags from a text."""
    return _FLAG.sub(" ", text)


def denying_flag(claim: Claim, flags: Flags, stated: Set[str]) -> str | None:
    """Returns one sentence on a flag that contradicts a claim; None: there is none.

    Args:
        claim: The claim.
        flags: Flags of the evidence. One with several values, as in a list of records, decides nothing.
        stated: Keys of the words of the evidence outside flags. A claim that they hold is not about a flag.
    """
    if claim.content.keys() <= stated:
        return None
    negated = is_negated(claim.words)
    is_less = negated or any(word.lower in _LESS for word in claim.words)
    for name, values in flags.items():
        if len(values) == 1 and _names(claim, name, least=_MOST if negated else 0.0):
            (value,) = values
            if negated if value == "true" else not is_less:
                return f"The evidence says “{name}”: {value}."
    return None


def _names(claim: Claim, name: str, least: float) -> bool:
    """Returns whether a claim has all content words of a name, and they are enough of its content."""
    content = weigh(word for word in words(_CAPITAL.sub(" ", name)) if word.is_content)
    return bool(content) and (
        content.keys() <= claim.content.keys()
        and sum(content.values()) >= least * sum(claim.content.values())
    )
