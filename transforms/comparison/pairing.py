"""Pairs the conversations of two sides by case."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from turnwise.schemas.comparison import PairedBy, Pairing
from turnwise.transforms.comparison.observed import ComparedConversation, ComparedConversations

_NAMES_SHOWN = 20
KEYS: tuple[PairedBy, ...] = ("eval_id", "conversation_id", "task")


class Case(NamedTuple):
    """One case with its conversations on both sides."""

    name: str
    a: ComparedConversations
    b: ComparedConversations


@dataclass(frozen=True)
class Matched:
    """The conversations of two sides, brought together.

    Attributes:
        cases: Cases on both sides that expect the same, by name; none if nothing pairs them.
        a: All conversations of A.
        b: All conversations of B.
        pairing: How they were paired.
    """

    cases: list[Case]
    a: ComparedConversations
    b: ComparedConversations
    pairing: Pairing

    @property
    def parts(self) -> tuple[list[ComparedConversations], list[ComparedConversations]]:
        """All conversations of A and of B in pieces: by case, where every one belongs to one."""
        cases = [case.a for case in self.cases], [case.b for case in self.cases]
        whole = self.a, self.b
        own, other = (
            pieces if sum(map(len, pieces)) == len(side) else [side]
            for pieces, side in zip(cases, whole, strict=True)
        )
        return own, other


def match(
    a: Sequence[ComparedConversation], b: Sequence[ComparedConversation], by: PairedBy | None = None
) -> Matched:
    """Pairs conversations by an id; by default, by the one that pairs most cases.

    Args:
        a: Conversations of the base.
        b: Conversations of the candidate.
        by: What identifies a case; None: whatever pairs most cases, `nothing` if none does.
    """
    own, other = ComparedConversations(a), ComparedConversations(b)
    if by is not None:
        return _match(own, other, by)
    common = {key: len(_names(own, key) & _names(other, key)) for key in KEYS}
    best = max(KEYS, key=lambda key: common[key])
    return _match(own, other, best if common[best] else "nothing")


def _names(conversations: ComparedConversations, by: PairedBy) -> set[str]:
    return {name for own in conversations if (name := case_name(own, by))}


def _match(a: ComparedConversations, b: ComparedConversations, by: PairedBy) -> Matched:
    own, other = _by_case(a, by), _by_case(b, by)
    common = sorted(own.keys() & other.keys())
    both = [name for name in common if not _expects_other(own[name], other[name])]
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
    cases = [
        Case(name, ComparedConversations(own[name]), ComparedConversations(other[name])) for name in both
    ]
    return Matched(cases, a, b, pairing)


def _expects_other(a: Sequence[ComparedConversation], b: Sequence[ComparedConversation]) -> bool:
    """Returns whether something else is expected in A than in B, as far as it is known."""
    own, other = ({one.case_digest for one in side} for side in (a, b))
    return own != other and None not in own | other


def _by_case(
    conversations: Sequence[ComparedConversation], by: PairedBy
) -> dict[str, list[ComparedConversation]]:
    found: dict[str, list[ComparedConversation]] = {}
    for conversation in conversations:
        name = case_name(conversation, by)
        if name:
            found.setdefault(name, []).append(conversation)
    return found


def grouped(conversations: Iterable[ComparedConversation]) -> list[list[ComparedConversation]]:
    """Returns the conversations of one group by case; one that names no case is a case of its own."""
    found: dict[str, list[ComparedConversation]] = {}
    for own in conversations:
        found.setdefault(own.eval_id or own.task or own.conversation_id, []).append(own)
    return list(found.values())


def case_name(conversation: ComparedConversation, by: PairedBy) -> str | None:
    """Returns what identifies a conversation's case; None: it states none."""
    if by == "eval_id":
        return conversation.eval_id
    if by == "task":
        return conversation.task
    return conversation.conversation_id if by == "conversation_id" else None
