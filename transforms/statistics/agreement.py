"""Agreement between raters: a judge and people, or several people."""

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import NamedTuple


class Confusion(NamedTuple):
    """Labels of people against outcomes of a criterion.

    Attributes:
        true_pass: Both pass.
        false_pass: The criterion passes what people fail.
        false_fail: The criterion fails what people pass.
        true_fail: Both fail.
    """

    true_pass: int
    false_pass: int
    false_fail: int
    true_fail: int

    @property
    def agreement(self) -> float | None:
        """Share of equal outcomes; None without any."""
        return _share(self.true_pass + self.true_fail, sum(self))

    @property
    def precision(self) -> float | None:
        """Of what the criterion passes, the share that people pass; None if it passes nothing."""
        return _share(self.true_pass, self.true_pass + self.false_pass)

    @property
    def recall(self) -> float | None:
        """Of what people pass, the share that the criterion passes; None if they pass nothing."""
        return _share(self.true_pass, self.true_pass + self.false_fail)


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def cohens_kappa(pairs: Sequence[tuple[Hashable, Hashable]]) -> float | None:
    """Returns Cohen's kappa of two raters, at most 1; None if it is not defined.

    (observed - expected) / (1 - expected) (Cohen 1960); not defined without pairs, and where both raters give
    one and the same label to everything.
    """
    if not pairs:
        return None
    own, other = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    observed = sum(a == b for a, b in pairs) * len(pairs)
    expected, largest = sum(own[label] * other[label] for label in own), len(pairs) ** 2
    return (observed - expected) / (largest - expected) if largest > expected else None


def krippendorffs_alpha(units: Sequence[Sequence[Hashable]]) -> float | None:
    """Returns Krippendorff's alpha for nominal labels, at most 1; None if it is not defined.

    1 - observed / expected disagreement, from coincidences (Krippendorff 2011, Computing Krippendorff's
    alpha-reliability). Units with fewer than two labels do not count.

    Args:
        units: The labels of each unit, by whichever raters gave one.
    """
    counted = [Counter(labels) for labels in units if len(labels) > 1]
    total: Counter[Hashable] = sum(counted, Counter())
    size = total.total()
    observed = sum(
        (labels.total() ** 2 - sum(n * n for n in labels.values())) / (labels.total() - 1)
        for labels in counted
    )
    expected = size**2 - sum(n * n for n in total.values())
    return 1 - (size - 1) * observed / expected if expected else None
