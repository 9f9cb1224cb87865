"""Differences between figures that human labels have corrected."""

from collections.abc import Sequence

from msgspec.structs import replace

from turnwise.schemas.calibration import Calibration, Corrected, CriterionCalibration
from turnwise.schemas.comparison import Bounds, CorrectedDifference, CriterionComparison
from turnwise.transforms.comparison.side import ComparedSide
from turnwise.transforms.statistics.tests import Interval, estimated_difference


def with_correction(own: CriterionComparison, a: ComparedSide, b: ComparedSide) -> CriterionComparison:
    """Returns a criterion with the corrected difference, if the figures of both sides are corrected."""
    base, candidate = _corrected(own, a), _corrected(own, b)
    if base is None or candidate is None or base.covers != candidate.covers:
        return own
    found = _difference(base, candidate)
    if found is None:
        return own
    decided = "" if base.covers == "all" else ", of what the criterion decided alone"
    return replace(own, corrected=found, sentence=f"{own.sentence}; {_text(own, found)}{decided}")


def calibration_notes(criteria: Sequence[CriterionComparison], a: ComparedSide, b: ComparedSide) -> list[str]:
    """Returns notes about words that corrected differences do not bear out, and sides without labels."""
    notes = [
        f"{own.criterion}: {own.overall.word} by the scores, but not shown by the figures that labels correct"
        for own in criteria
        if own.corrected is not None and not _bears_out(own, own.corrected)
    ]
    notes += [
        f"{own.criterion}: the labels of one side cover what the criterion left undecided, those of the "
        "other do not: no difference is corrected"
        for own in criteria
        if len({figure.covers for side in (a, b) if (figure := _corrected(own, side)) is not None}) > 1
    ]
    for calibrated, other in ((a, b), (b, a)):
        if calibrated.calibration is not None and other.calibration is None:
            notes.append(
                f"{calibrated.name} is calibrated by labels, {other.name} is not: no difference is corrected"
            )
    return notes


def _bears_out(own: CriterionComparison, found: CorrectedDifference) -> bool:
    word, is_more = own.overall.word, own.better_is != "less"
    if word in ("better", "worse"):
        return found.interval.low > 0 if (word == "better") == is_more else found.interval.high < 0
    return True


def _corrected(own: CriterionComparison, side: ComparedSide) -> Corrected | None:
    """Returns the figure of whole conversations of a side; None: it is not corrected."""
    if side.calibration is None:
        return None
    versions = {*side.conversations.app_versions}
    return corrected_figure(side.calibration, own.criterion, own.measure, versions)


def corrected_figure(
    calibration: Calibration | None, criterion: str, measure: str, versions: set[str | None]
) -> Corrected | None:
    """Returns what labels say of the whole conversations of app versions; None: nothing.

    Args:
        calibration: The calibration of the run.
        criterion: A criterion, or `evaluation_status`.
        measure: `pass_rate` or `mean`.
        versions: The app versions.
    """
    for one in calibration.criteria if calibration is not None else ():
        if (one.criterion, one.level, one.measure) == (criterion, "conversation", measure):
            return _of_versions(one, versions)
    return None


def _of_versions(one: CriterionCalibration, versions: set[str | None]) -> Corrected | None:
    own = [figure for figure in one.corrected if figure.group == "app_version"]
    if not own:
        return next((figure for figure in one.corrected if figure.group == "all"), None)
    return next((figure for figure in own if {figure.name} == versions), None)


def _difference(base: Corrected, candidate: Corrected) -> CorrectedDifference | None:
    if base.value is None or candidate.value is None or base.interval is None or candidate.interval is None:
        return None
    own, other = (Interval(one.interval.low, one.interval.high) for one in (candidate, base) if one.interval)
    return CorrectedDifference(
        labels_a=base.labels,
        labels_b=candidate.labels,
        value_a=base.value,
        value_b=candidate.value,
        difference=candidate.value - base.value,
        interval=Bounds(*estimated_difference(candidate.value, own, base.value, other)),
    )


def _text(own: CriterionComparison, found: CorrectedDifference) -> str:
    scale, digits, unit = (100, 1, " points") if own.measure == "pass_rate" else (1, 3, "")
    value, low, high = (
        f"{scale * number:+.{digits}f}"
        for number in (found.difference, found.interval.low, found.interval.high)
    )
    labels = f"{found.labels_a} and {found.labels_b} labels"
    return f"corrected by {labels} of people: {value}{unit} ({low} to {high})"
