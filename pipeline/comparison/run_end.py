"""Compares the app versions of a run, or a run with its baseline, at the end of the run."""

from collections.abc import Iterator, Sequence
from shlex import join

from turnwise.pipeline.comparison.ruler import nothing_common, ruler_problem
from turnwise.pipeline.comparison.sides import NO_VERSION, sides_of_runs
from turnwise.pipeline.io.run_reader import RunDirectory, open_run
from turnwise.pipeline.io.terminal import printable
from turnwise.pipeline.report.comparison import criteria_table, pairing_text
from turnwise.schemas.comparison import Comparison
from turnwise.schemas.config import ConfigError
from turnwise.transforms.decisions.comparison.collect import compared_versions
from turnwise.transforms.decisions.comparison.differences import CompareOptions, compare
from turnwise.transforms.decisions.comparison.words import ruler_changes
from turnwise.transforms.text.cleaning import natural_order

MOST_CONVERSATIONS = 2_000
"""Conversations of both sides that are compared: more would take a large part of the time of the run."""


def difference_text(
    run: RunDirectory,
    versions: Sequence[str],
    baseline: str | None,
    width: int,
    most: int = MOST_CONVERSATIONS,
) -> str:
    """Returns the lines with difference and word of every criterion, or why there are none.

    Args:
        run: The run, whose tables are written.
        versions: Its app versions; "": not stated.
        baseline: Output directory of the run to compare with; None: two versions of the run are compared.
        width: Columns of the terminal.
        most: Conversations of both sides that are compared at most.

    Raises:
        ConfigError: A file of the run cannot be read.
    """
    pair = compared_versions(versions)
    parts = [_own(run, pair, width, most)] if pair else []
    if baseline is not None:
        parts.append(_with_baseline(run, versions, baseline, width, most))
    return "\n".join(f"\n{part}" for part in parts)


def _own(run: RunDirectory, pair: Sequence[str], width: int, most: int) -> str:
    short = [version.rsplit("/", 1)[-1] for version in pair]
    names = short if short[0] != short[1] else pair
    command = join(["turnwise", "compare", run.directory, "--versions", *names])
    return _told([run], pair, command, width, most)


def _with_baseline(run: RunDirectory, versions: Sequence[str], baseline: str, width: int, most: int) -> str:
    command = join(["turnwise", "compare", baseline, run.directory])
    if len(versions) > 1:
        named = ", ".join(version or NO_VERSION for version in sorted(versions, key=natural_order))
        return printable(
            f"not compared with the baseline {baseline}: the run holds {len(versions)} app versions "
            f"({named}): {command} --versions A B"
        )
    try:
        return _told([open_run(baseline), run], (), command, width, most)
    except ConfigError as error:
        return printable(f"not compared with the baseline: {error}")


def _told(runs: Sequence[RunDirectory], pair: Sequence[str], command: str, width: int, most: int) -> str:
    """Returns the comparison as text, or one line that says why there is none."""
    size = sum(run.document.counts.get("results", 0) for run in runs)
    if size > most:
        why = f"{size:,} conversations are more than the {most:,} that the end of a run compares"
        return printable(f"not compared: {why}: {command}")
    try:
        a, b = sides_of_runs(runs, pair)
    except ConfigError as error:
        return printable(f"not compared: {error}")
    problem = ruler_problem(ruler_changes(a, b))
    if problem:
        return printable(f"not compared: {problem}: {command} --allow_different_judges")
    found = compare(a, b, CompareOptions())
    if nothing_common(found):
        return printable(f"not compared: {nothing_common(found)}")
    return "\n".join(_lines(found, command, width))


def _lines(found: Comparison, command: str, width: int) -> Iterator[str]:
    yield printable(f"difference: B {found.b.name} less A {found.a.name}; {pairing_text(found)}", width)
    yield from criteria_table(found, width)
    for name, why in found.not_compared.items():
        yield printable(f"{name}: not compared: {why}", width)
    yield printable(f"more: {command}")
