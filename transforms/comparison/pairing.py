"""Pairs the conversations of two sides by case."""

from collections.abc import Sequence

from msgspec import Struct

from turnwise.schemas.comparison import PairedBy, Pairing
from turnwise.transforms.comparison.case_rows import CaseRows, rows_by_case
from turnwise.transforms.comparison.columns import CaseNames, ConversationColumns
from turnwise.transforms.decisions.comparison.sides import CodedColumn, common, distinct_pairs

_NAMES_SHOWN = 20
KEYS: tuple[PairedBy, ...] = ("eval_id", "conversation_id", "task")


class Matched(Struct, frozen=True):
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


class _Cases:
    """The cases of a side.

    Attributes:
        places: Name -> its place in the values of the column that names cases.
        rows: Rows of the conversations by place.
    """

    def __init__(self, side: ConversationColumns, by: PairedBy) -> None:
        names = side.case_names(by)
        self.rows = rows_by_case(names)
        self.places = {
            name: place
            for place, (name, size) in enumerate(zip(names.values, self.rows.sizes.tolist(), strict=True))
            if name and size
        }
        self._digests = _digests(names, side.case_digests)

    def of(self, names: Sequence[str]) -> CaseRows:
        """Returns the rows of some cases."""
        return self.rows.take([self.places[name] for name in names])

    def digests(self, name: str) -> set[str | None]:
        """Returns the digests of what is expected in a case."""
        return self._digests[self.places[name]]


def match(a: ConversationColumns, b: ConversationColumns, by: PairedBy | None = None) -> Matched:
    """Pairs conversations by an id; by default, by the one that pairs most cases.

    Args:
        a: Conversations of the base.
        b: Conversations of the candidate.
        by: What identifies a case; None: whatever pairs most cases, `nothing` if none does.
    """
    if by is not None:
        return _match(a, b, by)
    pairs = {key: len(common(a.case_names(key), b.case_names(key)) - {None, ""}) for key in KEYS}
    best = max(KEYS, key=lambda key: pairs[key])
    return _match(a, b, best if pairs[best] else "nothing")


def _match(a: ConversationColumns, b: ConversationColumns, by: PairedBy) -> Matched:
    own, other = _Cases(a, by), _Cases(b, by)
    named = sorted(own.places.keys() & other.places.keys())
    both = [name for name in named if not _expects_other(own.digests(name), other.digests(name))]
    changed = sorted({*named}.difference(both))
    only_a = sorted(own.places.keys() - other.places.keys())
    only_b = sorted(other.places.keys() - own.places.keys())
    pairing = Pairing(
        by=by,
        pairs=len(both),
        only_a=len(only_a),
        only_b=len(only_b),
        unidentified_a=len(a) - len(own.of([*own.places]).rows),
        unidentified_b=len(b) - len(other.of([*other.places]).rows),
        only_a_names=only_a[:_NAMES_SHOWN],
        only_b_names=only_b[:_NAMES_SHOWN],
        changed=len(changed),
        changed_names=changed[:_NAMES_SHOWN],
    )
    return Matched(both, a, b, own.of(both), other.of(both), pairing)


def _digests(names: CaseNames, digests: CodedColumn[str | None]) -> list[set[str | None]]:
    """Returns the digests of every case, by its place in the values of a column."""
    found: list[set[str | None]] = [set() for _ in names.values]
    for case, place in distinct_pairs(names, digests):
        found[case].add(digests.values[place])
    return found


def _expects_other(a: set[str | None], b: set[str | None]) -> bool:
    """Returns whether something else is expected in A than in B, as far as it is known."""
    return a != b and None not in a | b
