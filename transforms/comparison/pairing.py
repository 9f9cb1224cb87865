"""Pairs the conversations of two sides by case."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from turnwise.schemas.comparison import PairedBy, Pairing
from turnwise.transforms.comparison.columns import ConversationColumns

_NAMES_SHOWN = 20
KEYS: tuple[PairedBy, ...] = ("eval_id", "conversation_id", "task")
_Name = TypeVar("_Name", str, str | None)
CaseRows = Sequence[Sequence[int]]
"""Rows of the conversations of every case: their places in the columns of a side."""


@dataclass(frozen=True, slots=True)
class Matched:
    """The conversations of two sides, brought together.

    Attributes:
        names: Cases on both sides that expect the same, by name; none if nothing pairs them.
        a: All conversations of A.
        b: All conversations of B.
        cases_a: Rows of A by case; at least one each.
        cases_b: Rows of B by case; at least one each.
        pairing: How they were paired.
    """

    names: list[str]
    a: ConversationColumns
    b: ConversationColumns
    cases_a: CaseRows
    cases_b: CaseRows
    pairing: Pairing


def match(a: ConversationColumns, b: ConversationColumns, by: PairedBy | None = None) -> Matched:
    """Pairs conversations by an id; by default, by the one that pairs most cases.

    Args:
        a: Conversations of the base.
        b: Conversations of the candidate.
        by: What identifies a case; None: whatever pairs most cases, `nothing` if none does.
    """
    if by is not None:
        return _match(a, b, by)
    common = {key: len(_names(a, key) & _names(b, key)) for key in KEYS}
    best = max(KEYS, key=lambda key: common[key])
    return _match(a, b, best if common[best] else "nothing")


def _names(conversations: ConversationColumns, by: PairedBy) -> set[str]:
    return {name for name in set(conversations.case_names(by)) if name}


def _match(a: ConversationColumns, b: ConversationColumns, by: PairedBy) -> Matched:
    own, other = _identified(a, by), _identified(b, by)
    common = sorted(own.keys() & other.keys())
    both = [name for name in common if not _expects_other(_digests(a, own[name]), _digests(b, other[name]))]
    changed = sorted({*common}.difference(both))
    only_a, only_b = sorted(own.keys() - other.keys()), sorted(other.keys() - own.keys())
    pairing = Pairing(
        by=by,
        pairs=len(both),
        only_a=len(only_a),
        only_b=len(only_b),
        unidentified_a=len(a) - sum(map(len, own.values())),
        unidentified_b=len(b) - sum(map(len, other.values())),
        only_a_names=only_a[:_NAMES_SHOWN],
        only_b_names=only_b[:_NAMES_SHOWN],
        changed=len(changed),
        changed_names=changed[:_NAMES_SHOWN],
    )
    return Matched(both, a, b, [own[name] for name in both], [other[name] for name in both], pairing)


def _identified(conversations: ConversationColumns, by: PairedBy) -> dict[str, list[int]]:
    return {name: rows for name, rows in rows_by_case(conversations.case_names(by)).items() if name}


def _digests(conversations: ConversationColumns, rows: Sequence[int]) -> set[str | None]:
    return {*map(conversations.case_digests.__getitem__, rows)}


def _expects_other(a: set[str | None], b: set[str | None]) -> bool:
    """Returns whether something else is expected in A than in B, as far as it is known."""
    return a != b and None not in a | b


def rows_by_case(names: Iterable[_Name]) -> dict[_Name, list[int]]:
    """Returns the rows of every case, in order."""
    found: dict[_Name, list[int]] = {}
    for row, name in enumerate(names):
        found.setdefault(name, []).append(row)
    return found
