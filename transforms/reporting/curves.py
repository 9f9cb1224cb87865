"""Distributions of latencies, tokens and counts, by version."""

from collections.abc import Iterator, Sequence

from turnwise.schemas.report import Curve
from turnwise.transforms.decisions.report.collect import CollectedRuns, Entry, VersionKey
from turnwise.transforms.metrics.tally import rank_of

STEPS = 100


def curves(collected: CollectedRuns) -> list[Curve]:
    """Returns the distributions of every criterion without a scale, and of tokens a conversation."""
    found: dict[tuple[str, str, VersionKey], list[float | None]] = {}
    for entry in collected.entries:
        for quantity, unit, value in _quantities(entry, collected.units):
            found.setdefault((quantity, unit, entry.version), []).append(value)
    places = {version: place for place, version in enumerate(collected.versions)}
    measured = {quantity for (quantity, _, _), values in found.items() if any(v is not None for v in values)}
    return [
        _curve(quantity, unit, places[version], values)
        for (quantity, unit, version), values in sorted(
            found.items(), key=lambda one: (one[0][0], places[one[0][2]])
        )
        if quantity in measured
    ]


def _quantities(entry: Entry, units: dict[str, str]) -> Iterator[tuple[str, str, float | None]]:
    for score in entry.scores:
        unit = units.get(score["criterion"], "score")
        if unit != "score" and "turn_index" in score:
            yield score["criterion"], unit, score.get("value")
    yield "tokens_in", "tokens", entry.row["tokens_in"]
    yield "tokens_out", "tokens", entry.row["tokens_out"]


def _curve(quantity: str, unit: str, version: int, values: Sequence[float | None]) -> Curve:
    known = sorted(value for value in values if value is not None)
    return Curve(
        quantity,
        unit,
        version,
        len(known),
        len(values) - len(known),
        [quantile(known, i / STEPS) for i in range(STEPS + 1)] if known else [],
    )


def quantile(values: Sequence[float], share: float) -> float:
    """Returns the smallest of sorted values that a share (0..1) of them does not exceed, as metrics do."""
    return values[rank_of(share, len(values))]
