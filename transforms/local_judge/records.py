"""Compares claims with flags of records in JSON and YAML, as `"pets_allowed": false`.

`false`, `no` and 0 deny the words of their key, `true` and `yes` affirm them. `null` and empty values are
unknown: they neither deny nor support anything.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from functools import cache
from itertools import chain
from math import fsum
from typing import NamedTuple

from turnwise.transforms.local_judge.claims import Claim, read_claim
from turnwise.transforms.local_judge.meanings import words
from turnwise.transforms.local_judge.named_values import (
    denies,
    is_denied,
    replace_idioms,
    with_single_negations,
)
from turnwise.transforms.text.words import weigh, word_set

_QUOTED_KEY = r'"([^"\\\n]{1,64})\\?"\s{0,4}:\s{0,4}'
_EMPTY = r'\\?"\\?"|\[\s{0,4}\]|\{\s{0,4}\}'
_SAID = r"(?:true|false|null|none|yes|no|0(?:\.0{1,4})?)(?![\w.])"
_LINE = r"(?m:^[ \t]{0,16}(?:- )?([^\W\d][\w -]{0,63}):[ \t]{1,4}"
_FLAG = re.compile(rf'{_QUOTED_KEY}(?:{_EMPTY}|(?i:\\?"{_SAID}\\?"|{_SAID}))|{_LINE}(?i:{_SAID})[ \t]*$)')
_VALUE = re.compile(
    rf"{_QUOTED_KEY}(\\?\"[^\"\\\n]{{1,64}}\\?\"|{_EMPTY}|[^\s,}}\]]{{1,64}})|{_LINE}(\S{{1,64}})[ \t]*$)"
)
_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")
UNKNOWN = "null"
"""Value of a flag that is unknown."""
NOTHING_HELD = frozenset(("false", UNKNOWN, "0"))
"""Values of flags that deny something, or hold nothing."""
_MEANINGS = {
    **dict.fromkeys(("true", "yes"), "true"),
    **dict.fromkeys(("false", "no"), "false"),
    **dict.fromkeys(("", "null", "none", "~", "[]", "{}"), UNKNOWN),
    **dict.fromkeys(("0", "0.0", "0.00"), "0"),
}
_CLAUSES = re.compile(r"[,;]?\s(?:but|aber|jedoch|sondern)\s|けど、|ですが、|지만\s", re.IGNORECASE)
_LESS = word_set("""false null zero 0 free empty unknown missing off only hardly barely rarely kostenlos
    gratis leer unbekannt lack lacks lacking without non out excluded prohibited forbidden banned unavailable
    fehlt fehlen ohne verboten untersagt ausgeschlossen nur kaum""")
_MODALS = word_set("""will would shall should can could may might must soon if once when whether until unless
    werden wird cannot can't couldn't won't wouldn't shouldn't mustn't kann können könnte muss müssen sollte
    falls wenn sobald ob bis""")
_OPEN = re.compile(r"\b(?:to be|yet to|noch zu|ist zu|sind zu)\b", re.IGNORECASE)
_CERTAIN = re.compile(r"\bthere (?:will|shall) be\b", re.IGNORECASE)
_SAYING_LITTLE = (
    "offers provides includes included available possible gets received successful successfully already"
    " currently now also customer user guest booking order account item product room hotel reservation"
    " flight ticket bietet inklusive verfügbar möglich erhalten bereits derzeit aktuell auch kunde gast"
    " buchung bestellung konto artikel zimmer flug"
)
_MOST = 0.75
_MOST_UNKNOWN = 1.5

Flags = Mapping[str, Set[str]]
"""Name -> its values."""


@cache
def neutral() -> Set[str]:
    """Returns the features of words that say little else than that something is so."""
    return weigh(words(_SAYING_LITTLE)).keys()


class _Flag(NamedTuple):
    name: str
    value: str
    content: dict[str, float]


def read_flags(text: str) -> dict[str, set[str]]:
    """Returns the values of all keys in the records of a text."""
    flags: dict[str, set[str]] = {}
    for key, value, line_key, line_value in _VALUE.findall(text) if ":" in text else ():
        flags.setdefault(key or line_key, set()).add(_meaning(value or line_value))
    return flags


def _meaning(value: str) -> str:
    bare = "".join(value.split()).replace("\\", "")
    quoted = bare[1:-1] if len(bare) > 1 and bare[0] == bare[-1] == '"' else bare.strip("\r")
    return _MEANINGS.get(quoted.lower(), value)


def without_flags(text: str) -> str:
    """Removes flags from a text."""
    return _FLAG.sub(" ", text)


class FlagIndex:
    """Flags of the evidence by their rarest word. A key with several values decides nothing."""

    def __init__(self, flags: Flags) -> None:
        known = []
        for name, values in flags.items():
            value = next(iter(values)) if len(values) == 1 else ""
            if value in _MEANINGS.values():
                content = weigh(word for word in words(split_capitals(name)) if word.is_content)
                known += [_Flag(name, value, content)] if content else []
        counts = Counter(key for flag in known for key in flag.content)
        self._flags: dict[str, list[_Flag]] = {}
        for flag in known:
            self._flags.setdefault(min(flag.content, key=lambda key: (counts[key], key)), []).append(flag)
        self._names = counts.keys()

    def denying(self, claim: Claim, stated: Set[str]) -> _Flag | None:
        """Returns a flag that contradicts a claim, or has no value for what it says; None: there is none.

        A claim whose words stand in the evidence outside flags (keys `stated`) is not about a flag.
        """
        if not self._flags or claim.content.keys() <= stated:
            return None
        return min((flag for part in clauses(claim) for flag in self._denying(part, stated)), default=None)

    def _denying(self, claim: Claim, stated: Set[str]) -> Iterator[_Flag]:
        if not claim.content or is_open(claim):
            return
        rest = {key: weight for key, weight in claim.content.items() if key not in neutral()}
        negated, is_less = is_denied(claim.text), says_less(claim)
        unknown = [weight for key, weight in rest.items() if key not in stated and key not in self._names]
        is_known = sum(unknown) < _MOST_UNKNOWN
        for flag in chain.from_iterable(self._flags.get(key, ()) for key in claim.content):
            if not flag.content.keys() <= claim.content.keys():
                continue
            share = fsum(flag.content.values()) / fsum((rest | flag.content).values())
            is_denying = not is_less and (is_known or flag.value == UNKNOWN)
            is_denying = negated if flag.value == "true" else is_denying
            if is_denying and (share >= _MOST or flag.value == "false"):
                yield flag


def split_capitals(name: str) -> str:
    """Returns the name of a key with a space between the words of `refundPossible`."""
    return _CAPITAL.sub(" ", name)


def clauses(claim: Claim) -> Iterable[Claim]:
    """Returns the parts of a claim between words such as `but`."""
    return map(read_claim, _CLAUSES.split(claim.text)) if _CLAUSES.search(claim.text) else [claim]


def is_open(claim: Claim) -> bool:
    """Returns whether a claim leaves open that something is so, or says it of the future."""
    if replace_idioms(claim.text) != claim.text or _OPEN.search(claim.text):
        return True
    return not _CERTAIN.search(claim.text) and any(word.lower in _MODALS for word in claim.words)


def says_less(claim: Claim) -> bool:
    """Returns whether a claim has a negation or a word such as `only`."""
    return is_denied(claim.text) or any(
        word.lower in _LESS or not word.lower.strip("0.,") for word in claim.words
    )


_KEY = re.compile(r"(?:^|[^a-z])(?:status|state|statut|estado|état|zustand)$|(?:状態|ステータス|상태)$")
_SHORTEST, _LITTLE = 3, 2.5
_STATUS_WORDS = "status state statut estado état zustand"
_NEUTRAL = (
    "status state statut estado état zustand shipment delivery parcel package subscription line request "
    "Lieferung Sendung Paket commande pedido 状態 ステータス 注文番号 予約番号 は が 상태 주문번호 예약번호"
)


@cache
def _words_of_status() -> tuple[Set[str], Set[str]]:
    """Returns the keys of words for a status, and of those that say little beside one."""
    return {key for word in words(_STATUS_WORDS) for key in word.keys}, neutral() | weigh(
        words(_NEUTRAL)
    ).keys()


class RecordStatus(NamedTuple):
    """A status of the evidence, as `"status": "shipped"` or `"orderStatus": "not_paid"`.

    It decides only if its key has one value, and the claim says nothing of anything else than the record.

    Attributes:
        is_negated: Whether the value has a negation, as `not shipped`.
        content: Keys of the content words of the value.
        about: Keys of the words of its key.
        must_be_named: Whether the evidence has other statuses.
    """

    name: str
    value: str
    is_negated: bool
    content: Set[str]
    about: Set[str]
    must_be_named: bool


def read_statuses(values: Mapping[str, Set[str]]) -> list[RecordStatus]:
    """Returns the statuses among the values of all keys of the evidence."""
    named = {name: held for name, held in values.items() if _KEY.search(split_capitals(name).lower())}
    must_be_named = len({raw.lower() for held in named.values() for raw in held}) != 1
    statuses = []
    for name, raw in ((name, *held) for name, held in named.items() if len(held) == 1):
        value = re.sub(r"[_-]", " ", raw.strip('\\"'))
        content = {key for word in words(value) if word.is_content for key in word.keys}
        if content and len(value) >= _SHORTEST:
            about = {key for word in words(split_capitals(name).replace("_", " ")) for key in word.keys}
            statuses.append(RecordStatus(name, value, is_denied(value), content, about, must_be_named))
    return statuses


def denying_status(claim: Claim, statuses: list[RecordStatus], known: Set[str]) -> RecordStatus | None:
    """Returns a status that contradicts a claim; None: there is none. `known` are keys of the evidence."""
    if not statuses:
        return None
    pairs = ((part, status) for part in clauses(claim) for status in statuses)
    return next((status for part, status in pairs if _contradicts(part, status, known)), None)


def _contradicts(claim: Claim, status: RecordStatus, known: Set[str]) -> bool:
    if not status.content <= claim.content.keys() or is_open(claim):
        return False
    status_words, neutral_words = _words_of_status()
    if status.must_be_named and claim.content.keys().isdisjoint(status.about - status_words):
        return False
    names = {key for word in claim.words if word.demands for key in word.keys} & known
    about = status.content | status.about | neutral_words | names
    denies_only = {word for word in claim.words if word.is_negation and status.content.isdisjoint(word.keys)}
    weights = weigh(word for word in claim.words if word.is_content and word not in denies_only)
    if fsum([weight for key, weight in weights.items() if key not in about]) >= _LITTLE:
        return False
    if status.is_negated:
        return not says_less(claim)
    return is_denied(claim.text) and denies(with_single_negations(claim.text), status.content)
