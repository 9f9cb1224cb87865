"""Chooses the two app versions of a run that are compared."""

from collections.abc import Sequence

from turnwise.transforms.text.cleaning import natural_order

_COMPARED = 2


def compared_versions(versions: Sequence[str]) -> list[str]:
    """Returns A and B where the logs state exactly two app versions, in natural order; else nothing."""
    stated = sorted(filter(None, versions), key=natural_order)
    return stated if len(stated) == _COMPARED else []
