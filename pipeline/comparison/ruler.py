"""Says why two sides cannot be compared."""

from collections.abc import Sequence

from turnwise.schemas.comparison import Comparison, RulerChange
from turnwise.transforms.decisions.comparison.words import beyond_verdicts

_SHOWN = 5


def ruler_problem(ruler: Sequence[RulerChange]) -> str:
    """Returns what measured two sides differently, in one sentence; "": nothing."""
    changes = [f"{change.what} ({change.a} for A, {change.b} for B)" for change in beyond_verdicts(ruler)]
    more = f", and {len(changes) - _SHOWN} more" if len(changes) > _SHOWN else ""
    shown = ", ".join(changes[:_SHOWN])
    return f"A and B were not measured in the same way: {shown}{more}" if changes else ""


def nothing_common(found: Comparison) -> str:
    """Returns why a comparison compares nothing, as one line; "": it compares something."""
    why = "; ".join(f"{name}: {why}" for name, why in found.not_compared.items())
    return "" if found.criteria else f"A and B have no criterion in common: {why or 'neither has a score'}"
