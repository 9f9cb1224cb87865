"""Keeps what an earlier calibration of a run says of other criteria."""

from collections.abc import Iterator

from msgspec.structs import replace

from turnwise.pipeline.io.terminal import printable
from turnwise.schemas.calibration import Calibration, CriterionCalibration

_OTHER_COSTS = "it was computed with other costs of errors; calibrate the criterion again"


def merged(earlier: Calibration | None, found: Calibration) -> Calibration:
    """Returns a calibration with the criteria of an earlier one that it has no labels of."""
    kept = _kept(earlier, found)
    if earlier is None or not kept or not found.criteria:
        return found
    costs = found.false_pass_cost, found.false_fail_cost
    if costs != (earlier.false_pass_cost, earlier.false_fail_cost):
        kept = [
            replace(own, threshold=None, no_threshold=_OTHER_COSTS) if own.threshold else own for own in kept
        ]
    labels = list(dict.fromkeys([*earlier.labels, *found.labels]))
    criteria = sorted([*kept, *found.criteria], key=lambda own: (own.criterion, own.level))
    return replace(found, labels=labels, criteria=criteria)


def merge_lines(earlier: Calibration | None, found: Calibration) -> Iterator[str]:
    """Yields which criteria of an earlier calibration stay, and which are replaced."""
    if not found.criteria:
        return
    kept = _kept(earlier, found)
    replaced = [own for own in earlier.criteria if own not in kept] if earlier else []
    for what, criteria in (("kept", kept), ("replaced", replaced)):
        if criteria:
            names = ", ".join(f"{own.criterion} ({own.level})" for own in criteria)
            yield printable(f"{what} of the earlier calibration: {names}")


def _kept(earlier: Calibration | None, found: Calibration) -> list[CriterionCalibration]:
    own = {(one.criterion, one.level) for one in found.criteria}
    return [one for one in earlier.criteria if (one.criterion, one.level) not in own] if earlier else []
