"""Compares claims with flags of JSON records, as `"pets_allowed": false`.

`false`, `null` and 0 deny the words of their key, `true` affirms them.
"""

import re
from collections.abc import Mapping, Set

from turnwise.transforms.local_judge.claims import Claim
from turnwise.transforms.text.function_words import word_set
from turnwise.transforms.text.words import is_negated, weigh, words

_FLAG = re.compile(r'"([^"\\\n]{1,64})\\?"\s{0,4}:\s{0,4}(true|false|null|0(?![\d.eE]))')
_VALUE = re.compile(r'"([^"\\\n]{1,64})\\?"\s{0,4}:\s{0,4}([^\s,}\]]{1,64})')
_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_LESS = word_set(
    "false null zero 0 free empty unknown missing kostenlos gratis leer unbekannt lack lacks lacking without "
    "non out excluded prohibited forbidden banned unavailable fehlt fehlen ohne verboten untersagt "
    "ausgeschlossen"
)
_MODALS = word_set(
    "will would shall should can could may might must soon if once when werden wird kann können könnte muss "
    "müssen sollte falls wenn sobald"
)
_FLAGS = {"true", "false", "null", "0"}
_MOST = 0.75

Flags = Mapping[str, Set[str]]
"""Name -> its values."""


def read_flags(text: str) -> dict[str, set[str]]:
    """Returns the values of all keys in the records of a text."""
    found: dict[str, set[str]] = {}
    for name, value in _VALUE.findall(text) if '":' in text or '" :' in text else ():
        found.setdefault(name, set()).add(value)
    return found


def without_flags(text: str) -> str:
    """Removes flags from a text."""
    return _FLAG.sub(" ", text)


def denying_flag(claim: Claim, flags: Flags, stated: Set[str]) -> str | None:
    """Returns one sentence on a flag that contradicts a claim; None: there is none.

    Args:
        claim: The claim.
        flags: Values of the keys of the evidence. A key with several, as in a list of records, decides
            nothing.
        stated: Keys of the words of the evidence outside flags. A claim that they hold is not about a flag.
    """
    if claim.content.keys() <= stated or any(word.lower in _MODALS for word in claim.words):
        return None
    negated = is_negated(claim.words)
    is_less = negated or any(word.lower in _LESS or not word.lower.strip("0.,") for word in claim.words)
    for name, values in flags.items():
        value = next(iter(values)) if len(values) == 1 else ""
        if value not in _FLAGS or not _names(claim, name, least=_MOST if negated else 0.0):
            continue
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
