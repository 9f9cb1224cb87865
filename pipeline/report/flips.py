"""Reports how often the verdicts of the judge flip between votes."""

from collections.abc import Iterable, Mapping
from typing import Any

from turnwise.schemas.jsonio import JsonObject
from turnwise.transforms.criteria.base import CRITERIA, JudgedCriterion
from turnwise.transforms.judging.ask import Flips


def flips_by_criterion(rows: Iterable[Mapping[str, Any]]) -> dict[str, Flips]:
    """Returns the verdicts of every judged criterion, over all app versions.

    Args:
        rows: Rows of `metrics_by_app_version`.
    """
    found: dict[str, Flips] = {}
    for row in rows:
        kind = CRITERIA.get(row["criterion"])
        if kind is not None and issubclass(kind, JudgedCriterion):
            known = found.get(row["criterion"], Flips())
            found[row["criterion"]] = known.plus(Flips(row["voted"], row["flipped"]))
    return found


def flips_document(rows: Iterable[Mapping[str, Any]]) -> JsonObject:
    """Returns the object `flips` of the judge in `run.json`: criterion -> `voted`, `flipped`, `flip_rate`."""
    found = flips_by_criterion(rows)
    return {name: {**own._asdict(), "flip_rate": own.rate} for name, own in found.items()}


def flips_text(rows: Iterable[Mapping[str, Any]]) -> str:
    """Returns the line about verdicts that flip; "": no verdict has two votes."""
    found = {name: own for name, own in flips_by_criterion(rows).items() if own.voted}
    shown = ", ".join(
        f"{name} {own.flipped:,} of {own.voted:,} ({own.rate:.1%})" for name, own in found.items()
    )
    return f"judge: verdicts that flip between votes: {shown}" if found else ""
