"""Compares two sides: the whole result."""

from collections.abc import Sequence

from msgspec import Struct

from turnwise.schemas.comparison import Comparison, PairedBy, RulerChange, Side
from turnwise.transforms.comparison.columns import ConversationColumns
from turnwise.transforms.comparison.corrected import calibration_notes, with_correction
from turnwise.transforms.comparison.criteria import compare_criteria, measure_all
from turnwise.transforms.comparison.flips import flips
from turnwise.transforms.comparison.measures import CriterionMeasure, measure_of
from turnwise.transforms.comparison.pairing import match
from turnwise.transforms.comparison.ruler import ruler_changes
from turnwise.transforms.comparison.side import ComparedSide
from turnwise.transforms.decisions.comparison.differences import NO_PARTS, compare_parts
from turnwise.transforms.decisions.comparison.estimates import Setup
from turnwise.transforms.decisions.comparison.side_values import values_of
from turnwise.transforms.decisions.comparison.words import comparison_notes
from turnwise.transforms.scoring.evaluate import STATUS
from turnwise.transforms.statistics.resampling import SEED


class CompareOptions(Struct, frozen=True):
    """What a comparison is asked for.

    Attributes:
        by: What pairs conversations; None: the id that pairs most cases.
        margin: Largest difference that does not matter, as a share of the scale, 0..1.
        alpha: Level of significance of what decides, between 0 and 1.
        q: Level of the false discovery rate of what points, between 0 and 1.
        slices: Dimensions of the slices, as in the config.
        any_verdicts: Whether verdicts are compared although different criteria decide them.
        details: Whether turns, slices, flips, quantiles and votes of judges are looked at, too.
    """

    by: PairedBy | None = None
    margin: float = 0.02
    alpha: float = 0.05
    q: float = 0.1
    slices: Sequence[str] = ()
    any_verdicts: bool = False
    details: bool = True


def compare(a: ComparedSide, b: ComparedSide, options: CompareOptions) -> Comparison:
    """Compares B with A.

    Args:
        a: The base; at least one conversation.
        b: The candidate; at least one conversation.
        options: What is asked for.
    """
    setup = Setup(options.alpha, options.margin, options.q, SEED, options.details)
    paired = match(a.conversations, b.conversations, options.by)
    matched, pairing = values_of(paired), paired.pairing
    changes: list[RulerChange] = ruler_changes(a, b)
    measures, missing = _measures(a, b)
    if not options.any_verdicts:
        measures = _without_verdicts(measures, missing, changes)
    measured = measure_all(matched, measures, setup)
    overall = [(one.measure, one.estimate) for one in measured]
    parts = compare_parts(matched, overall, options.slices, setup) if options.details else NO_PARTS
    criteria = compare_criteria(matched, measured, parts.turns, setup, (a.name, b.name))
    criteria = [with_correction(own, a, b) for own in criteria]
    return Comparison(
        a=_side(a, pairing.by),
        b=_side(b, pairing.by),
        pairing=pairing,
        margin=options.margin,
        alpha=options.alpha,
        q=options.q,
        criteria=criteria,
        not_compared=missing,
        slices=parts.slices,
        flips=flips(matched, measures) if options.details else [],
        ruler=changes,
        notes=[*comparison_notes(a, b, paired, changes, parts.left_out), *calibration_notes(criteria, a, b)],
        word=next((own.overall.word for own in criteria if own.criterion == STATUS), None),
    )


def _measures(a: ComparedSide, b: ComparedSide) -> tuple[list[CriterionMeasure], dict[str, str]]:
    """Returns what is compared, verdicts first, and why other criteria are not."""
    own, other = a.conversations.criteria, b.conversations.criteria
    names = sorted((name for name in own if name in other), key=lambda name: name != STATUS)
    thresholds = {
        name
        for side in (a, b)
        if side.document is not None
        for name, settings in side.document.criteria.items()
        if settings.get("threshold") is not None
    }
    missing = {name: f"{b.name} has no score of it" for name in own if name not in other}
    missing |= {name: f"{a.name} has no score of it" for name in other if name not in own}
    return [measure_of(name, [own[name], other[name]], name in thresholds) for name in names], missing


def _without_verdicts(
    measures: list[CriterionMeasure], missing: dict[str, str], changes: Sequence[RulerChange]
) -> list[CriterionMeasure]:
    """Returns the measures without the verdicts, and adds the reason, if different criteria decide them."""
    change = next((change for change in changes if change.criteria == [STATUS]), None)
    if change is None or all(measure.criterion != STATUS for measure in measures):
        return measures
    missing[STATUS] = f"decided by different criteria ({change.a} for A, {change.b} for B)"
    return [measure for measure in measures if measure.criterion != STATUS]


def _side(side: ComparedSide, by: PairedBy) -> Side:
    conversations = side.conversations
    passed, failed = (_verdicts(conversations, outcome) for outcome in ("PASS", "FAIL"))
    names = conversations.own_cases() if by == "nothing" else conversations.case_names(by)
    counted = zip(names.values, names.counts().tolist(), strict=True)
    sizes = [number for name, number in counted if number and name is not None]
    return Side(
        name=side.name,
        source=side.source,
        run_ids=side.run_ids,
        app_versions=sorted(conversations.app_versions.used(), key=lambda v: (v is None, v or "")),
        conversations=len(conversations),
        cases=len(sizes),
        repeated_cases=sum(size > 1 for size in sizes),
        passed=passed,
        failed=failed,
        undecided=len(conversations) - passed - failed,
        lost=side.lost,
        problems=[*side.problems],
        create_time=side.document.create_time if side.document else None,
    )


def _verdicts(conversations: ConversationColumns, outcome: str) -> int:
    """Returns the number of verdicts of one kind."""
    found = conversations.criteria.get(STATUS)
    return 0 if found is None else int(found.where(lambda kind: kind.outcome == outcome).sum())
