"""Compares claims with the status of a record, as `"status": "shipped"` or `"orderStatus": "not_paid"`.

A status decides only if its key has one value, and the claim says nothing of anything else than the record.
If other keys have another status, the claim must name its key, as `account` of `account_status`.
"""

import re
from collections.abc import Iterator, Mapping, Set
from functools import cache
from typing import NamedTuple

from turnwise.transforms.local_judge.claims import Claim
from turnwise.transforms.local_judge.meanings import words
from turnwise.transforms.local_judge.negations import denies, is_denied, with_single_negations
from turnwise.transforms.local_judge.records import clauses, is_open, neutral, says_less, split_capitals
from turnwise.transforms.text.words import Word, weigh

_KEY = re.compile(r"(?:^|[^a-z])(?:status|state|statut|estado|état|zustand)$|(?:状態|ステータス|상태)$")
_SHORTEST, _LITTLE = 3, 2.5
_STATUS_WORDS = "status state statut estado état zustand"
_NEUTRAL = (
    "status state statut estado état zustand shipment delivery parcel package subscription line"
    " request Lieferung Sendung Paket commande pedido 状態 ステータス 注文番号 予約番号 は が 상태"
    " 주문번호 예약번호"
)


@cache
def _status_words() -> Set[str]:
    return {key for word in words(_STATUS_WORDS) for key in word.keys}


@cache
def _neutral() -> Set[str]:
    return neutral() | weigh(words(_NEUTRAL)).keys()


class RecordStatus(NamedTuple):
    """A status of the evidence.

    Attributes:
        name: Its key.
        value: Its value.
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
    is_one = len({raw.lower() for held in named.values() for raw in held}) == 1
    single = ((name, *held) for name, held in named.items() if len(held) == 1)
    return [status for name, raw in single for status in _read(name, raw, must_be_named=not is_one)]


def _read(name: str, raw: str, *, must_be_named: bool) -> Iterator[RecordStatus]:
    value = re.sub(r"[_-]", " ", raw.strip('\\"'))
    content = {key for word in words(value) if word.is_content for key in word.keys}
    if content and len(value) >= _SHORTEST:
        about = {key for word in words(split_capitals(name).replace("_", " ")) for key in word.keys}
        yield RecordStatus(name, value, is_denied(value), content, about, must_be_named)


def denying_status(claim: Claim, statuses: list[RecordStatus], known: Set[str]) -> RecordStatus | None:
    """Returns a status that contradicts a claim; None: there is none.

    Args:
        claim: The claim.
        statuses: The statuses of the evidence.
        known: Keys of all words of the evidence.
    """
    if not statuses:
        return None
    found = (
        status for clause in clauses(claim) for status in statuses if _contradicts(clause, status, known)
    )
    return next(found, None)


def _contradicts(claim: Claim, status: RecordStatus, known: Set[str]) -> bool:
    if not status.content <= claim.content.keys() or is_open(claim):
        return False
    if status.must_be_named and claim.content.keys().isdisjoint(status.about - _status_words()):
        return False
    names = {key for word in claim.words if word.demands for key in word.keys} & known
    about = status.content | status.about | _neutral() | names
    said = weigh(word for word in claim.words if word.is_content and not _only_denies(word, status))
    if sum([weight for key, weight in said.items() if key not in about]) >= _LITTLE:
        return False
    if status.is_negated:
        return not says_less(claim)
    return is_denied(claim.text) and denies(with_single_negations(claim.text), status.content)


def _only_denies(word: Word, status: RecordStatus) -> bool:
    return word.is_negation and status.content.isdisjoint(word.keys)
