"""Sizes of effects, which do not grow with the number of cases."""

from math import asin, sqrt


def cohens_h(share: float, base_share: float) -> float:
    """Returns Cohen's h of two shares: 2 asin(sqrt(share)) - 2 asin(sqrt(base)); -pi..pi (Cohen 1988)."""
    return 2 * asin(sqrt(share)) - 2 * asin(sqrt(base_share))


def standardised(difference: float, variance: float) -> float | None:
    """Returns a mean difference in standard deviations (Cohen's d); None if nothing varies."""
    return difference / sqrt(variance) if variance > 0 else None
