"""Lists the cases whose outcome differs between two versions, with the reason."""

from collections.abc import Iterator, Sequence
from statistics import fmean

from turnwise.schemas.comparison import Flip, FlipKind
from turnwise.transforms.comparison.measures import CriterionMeasure
from turnwise.transforms.comparison.observed import ComparedConversation, Observed
from turnwise.transforms.comparison.pairing import Case
from turnwise.transforms.comparison.values import observed_in, values_of

_LEAST_CHANGE = 0.5
"""Change of the share of passed runs from which a case counts as gained or lost."""
_KINDS: tuple[FlipKind, ...] = ("lost", "newly_undecided", "gained", "newly_decided")


def flips(cases: Sequence[Case], measures: Sequence[CriterionMeasure]) -> list[Flip]:
    """Returns the flips of all criteria that have outcomes: lost ones first, by criterion and case."""
    shares = [measure for measure in measures if measure.measure == "pass_rate"]
    found = [flip for measure in shares for case in cases for flip in _flip(case, measure)]
    order = {measure.criterion: place for place, measure in enumerate(shares)}
    return sorted(found, key=lambda flip: (_KINDS.index(flip.kind), order[flip.criterion], flip.case))


def _flip(case: Case, measure: CriterionMeasure) -> Iterator[Flip]:
    own, other = observed_in(case.a, measure), observed_in(case.b, measure)
    if not own or not other:
        return
    share_a, share_b = _share(case.a, measure), _share(case.b, measure)
    kind = _kind(share_a, share_b)
    if kind is None:
        return
    why = _reason(own if kind in ("gained", "newly_decided") else other, measure)
    yield Flip(
        criterion=measure.criterion,
        kind=kind,
        case=case.name,
        conversations_a=[conversation.conversation_id for conversation in case.a],
        conversations_b=[conversation.conversation_id for conversation in case.b],
        share_a=share_a,
        share_b=share_b,
        turn_index=why.turn_index if why else None,
        reason=why.why if why else None,
        tags=sorted({tag for conversation in (*case.a, *case.b) for tag in conversation.tags}),
        language=next((c.language for c in (*case.b, *case.a) if c.language), None),
    )


def _share(conversations: Sequence[ComparedConversation], measure: CriterionMeasure) -> float | None:
    values = values_of(conversations, measure)
    return fmean(values) if values else None


def _kind(share_a: float | None, share_b: float | None) -> FlipKind | None:
    if share_a is None or share_b is None:
        return "newly_undecided" if share_a is not None else "newly_decided" if share_b is not None else None
    if share_b - share_a >= _LEAST_CHANGE:
        return "gained"
    return "lost" if share_a - share_b >= _LEAST_CHANGE else None


def _reason(found: Sequence[Observed], measure: CriterionMeasure) -> Observed | None:
    """Returns the first run that does not pass; those with a reason first."""
    not_passed = [own for own in found if measure.value(own) != 1.0]
    return next((own for own in not_passed if own.why), not_passed[0] if not_passed else None)
