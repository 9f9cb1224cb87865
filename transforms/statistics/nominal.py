"""Agreement of several raters on labels without an order, without numpy."""

from collections import Counter
from collections.abc import Mapping


def nominal_alpha(units: Mapping[str, int]) -> float | None:
    """Returns Krippendorff's alpha for nominal data, at most 1; None if it is not defined.

    1 - observed / expected disagreement (Krippendorff 2011, Computing Krippendorff's alpha-reliability).
    Units with fewer than two labels do not count. It is not defined without two labels on one unit, and where
    all labels are the same.

    Args:
        units: The labels of a unit, one letter for each rater that gave one -> number of such units.

    >>> nominal_alpha({"PPP": 9, "FFF": 9}), nominal_alpha({"PP": 3})
    (1.0, None)
    """
    totals: Counter[str] = Counter()
    observed = 0.0
    for labels, number in sorted(units.items()):
        size, counts = len(labels), Counter(labels)
        if size < 2:
            continue
        observed += number * (size**2 - sum(count**2 for count in counts.values())) / (size - 1)
        for label, count in counts.items():
            totals[label] += number * count
    size = totals.total()
    expected = size**2 - sum(count**2 for count in totals.values())
    return 1 - (size - 1) * observed / expected if expected else None
