"""Compares the first app version of a report with the others."""

from collections.abc import Iterator, Sequence

from turnwise.pipeline.comparison.sides import VersionSides, read_versions
from turnwise.pipeline.io.run_reader import FinishedRun
from turnwise.schemas.comparison import Comparison
from turnwise.transforms.decisions.comparison.sides import ComparedSide
from turnwise.transforms.decisions.report.collect import VersionKey, display_order, short_names
from turnwise.transforms.decisions.report.figures import Compared

MOST_COMPARED = 4
_SLICES = ("language", "tag")


def compare_versions(runs: Sequence[FinishedRun]) -> Compared:
    """Compares the first stated version with the next ones; refuses those that were measured otherwise."""
    sides = list(_sides([read_versions(run) for run in runs]))
    comparisons: list[Comparison] = []
    refused: list[str] = []
    for other in sides[1 : MOST_COMPARED + 1]:
        found = _compare(sides[0], other)
        if isinstance(found, str):
            refused.append(found)
        else:
            comparisons.append(found)
    if len(sides) > MOST_COMPARED + 1:
        refused.append(
            f"{sides[0].name} is compared with the first {MOST_COMPARED} of {len(sides) - 1} versions."
        )
    return Compared(comparisons, refused)


def _sides(runs: Sequence[VersionSides]) -> Iterator[ComparedSide]:
    """Yields the stated versions; all of them where no log states one."""
    found = [VersionKey(i, version or "") for i, run in enumerate(runs) for version in run.versions]
    keys = sorted(found, key=display_order)
    stated = any(key.app_version for key in keys)
    for key, name in zip(keys, short_names(keys), strict=True):
        if key.app_version or not stated:
            yield runs[key.run].side(key.app_version or None, name)


def _compare(a: ComparedSide, b: ComparedSide) -> Comparison | str:
    """Returns the comparison, or why there is none."""
    # Imported late: a report of one version does not wait for numpy.
    from turnwise.pipeline.comparison.ruler import nothing_common
    from turnwise.transforms.decisions.comparison.differences import CompareOptions, compare
    from turnwise.transforms.decisions.comparison.words import beyond_verdicts, ruler_changes

    found = beyond_verdicts(ruler_changes(a, b))
    changes = [f"{c.what} ({c.a} for {a.name}, {c.b} for {b.name})" for c in found]
    if changes:
        more = f", and {len(changes) - 3} more" if len(changes) > 3 else ""
        return (
            f"{b.name} is not compared with {a.name}, because they were not measured in the same way: "
            f"{', '.join(changes[:3])}{more}."
        )
    wanted = [name for side in (a, b) if side.document for name in side.document.config.get("slices", ())]
    comparison = compare(a, b, CompareOptions(slices=list(dict.fromkeys([*wanted, *_SLICES]))))
    nothing = nothing_common(comparison)
    return f"{b.name} is not compared with {a.name}: {nothing}." if nothing else comparison
