"""Lists the cases whose outcome differs between two versions, with the reason."""

from collections.abc import Iterator, Sequence

from turnwise.schemas.comparison import Flip, FlipKind
from turnwise.transforms.comparison.measures import CriterionMeasure
from turnwise.transforms.comparison.observed import Observed
from turnwise.transforms.decisions.comparison.side_values import MatchedValues, SideValues

_LEAST_CHANGE = 0.5
"""Change of the share of passed runs from which a case counts as gained or lost."""
_KINDS: tuple[FlipKind, ...] = ("lost", "newly_undecided", "gained", "newly_decided")


def flips(matched: MatchedValues, measures: Sequence[CriterionMeasure]) -> list[Flip]:
    """Returns the flips of all criteria that have outcomes: lost ones first, by criterion and case."""
    shares = [measure for measure in measures if measure.measure == "pass_rate"]
    found = [flip for measure in shares for flip in _flips(matched, measure)]
    order = {measure.criterion: place for place, measure in enumerate(shares)}
    return sorted(found, key=lambda flip: (_KINDS.index(flip.kind), order[flip.criterion], flip.case))


def _flips(matched: MatchedValues, measure: CriterionMeasure) -> Iterator[Flip]:
    sides = matched.a, matched.b
    seen = [side.count_seen(measure).tolist() for side in sides]
    shares = [_shares(side, measure) for side in sides]
    for place, (own, other) in enumerate(zip(*shares, strict=True)):
        kind = _kind(own, other) if seen[0][place] and seen[1][place] else None
        if kind is not None:
            yield _flip(matched, place, measure, kind, (own, other))


def _flip(
    matched: MatchedValues,
    place: int,
    measure: CriterionMeasure,
    kind: FlipKind,
    shares: tuple[float | None, float | None],
) -> Flip:
    a, b = (side.observed.conversations for side in (matched.a, matched.b))
    rows_a, rows_b = matched.a.cases[place], matched.b.cases[place]
    is_of_a = kind in ("gained", "newly_decided")
    why = _reason(matched.a.at(place, measure) if is_of_a else matched.b.at(place, measure), measure)
    languages = [*(b.languages[row] for row in rows_b), *(a.languages[row] for row in rows_a)]
    tags = [*(a.tags[row] for row in rows_a), *(b.tags[row] for row in rows_b)]
    return Flip(
        criterion=measure.criterion,
        kind=kind,
        case=matched.names[place],
        conversations_a=[a.conversation_ids[row] for row in rows_a],
        conversations_b=[b.conversation_ids[row] for row in rows_b],
        share_a=shares[0],
        share_b=shares[1],
        turn_index=why.turn_index if why else None,
        reason=why.why if why else None,
        tags=sorted({tag for own in tags for tag in own}),
        language=next(filter(None, languages), None),
    )


def _shares(side: SideValues, measure: CriterionMeasure) -> list[float | None]:
    """Returns the share of passed runs of every case; None: none is decided."""
    counts, means = side.runs(measure)
    return [mean if count else None for count, mean in zip(counts.tolist(), means.tolist(), strict=True)]


def _kind(share_a: float | None, share_b: float | None) -> FlipKind | None:
    if share_a is None or share_b is None:
        return "newly_undecided" if share_a is not None else "newly_decided" if share_b is not None else None
    if share_b - share_a >= _LEAST_CHANGE:
        return "gained"
    return "lost" if share_a - share_b >= _LEAST_CHANGE else None


def _reason(found: Sequence[Observed], measure: CriterionMeasure) -> Observed | None:
    """Returns the first run that does not pass; those with a reason first."""
    not_passed = [own for own in found if measure.value_of(own.value, own.outcome) != 1.0]
    return next((own for own in not_passed if own.why), not_passed[0] if not_passed else None)
