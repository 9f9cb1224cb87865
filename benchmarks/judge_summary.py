"""The table at the end of the benchmark of judged criteria, and what it must show."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks.checks import equal_scores
from benchmarks.children import ADK_VERSION, Cost
from benchmarks.judge_cases import Json
from benchmarks.judge_runs import CANDIDATES, FIRST, SECOND, JudgedRun

USUAL, BEST = "as users run it", "at its best"
MOST_CALLS = 0.65
LEAST_SPEED = 10.0
MOST_GROWTH = 0.1
_HEAD = ("", "calls", "in flight", "tokens sent", "MB sent", "wall s", "of all rounds", "CPU s", "peak MB")
_WIDTHS = (8, 11, 13, 9, 8, 16, 8, 9)


class Check(NamedTuple):
    """A check of the results."""

    text: str
    holds: bool


@dataclass
class JudgedRuns:
    """All runs.

    Attributes:
        turnwise: Kind -> one run a round.
        adk: Way of running -> the run, and what `judge_peer.py` reported.
        sizes: Number of conversations -> a run of turnwise.
    """

    turnwise: dict[str, list[JudgedRun]] = field(default_factory=dict)
    adk: dict[str, tuple[JudgedRun, Json]] = field(default_factory=dict)
    sizes: dict[int, JudgedRun] = field(default_factory=dict)

    def middle(self, kind: str) -> JudgedRun:
        """Returns the medians over the rounds."""
        runs = self.turnwise[kind]
        cost = Cost(*(median(values) for values in zip(*(run.cost for run in runs), strict=True)))
        return JudgedRun(cost, *(median(values) for values in zip(*(run[1:] for run in runs), strict=True)))

    def speed(self, way: str) -> float:
        """Returns how many times sooner turnwise's first run finishes."""
        return self.adk[way][0].cost.wall / self.middle(FIRST).cost.wall

    def share_of_calls(self, kind: str) -> float:
        """Returns the calls of turnwise for one of google-adk."""
        return self.middle(kind).calls / self.adk[USUAL][0].calls


def summary(runs: JudgedRuns) -> str:
    """Returns the table and the ratios."""
    lines = [_row(*_HEAD)]
    for kind, rounds in runs.turnwise.items():
        walls = [run.cost.wall for run in rounds]
        spread = f"{min(walls):.1f} to {max(walls):.1f}"
        lines.append(_run_row(f"turnwise, {kind}", runs.middle(kind), spread))
    lines += [_run_row(f"google-adk {ADK_VERSION}, {way}", run) for way, (run, _) in runs.adk.items()]
    lines += [_run_row(f"turnwise, {CANDIDATES}, {size:,}", run) for size, run in runs.sizes.items()]
    return "\n".join([*lines, "", *(_asked_line(runs, kind) for kind in (FIRST, CANDIDATES)), *_times(runs)])


def _run_row(label: str, run: JudgedRun, spread: str = "") -> str:
    cells = (f"{run.calls:,.0f}", f"{run.in_flight:.0f}", f"{run.tokens:,.0f}", f"{run.sent_mb:.1f}")
    cost = run.cost
    return _row(label, *cells, f"{cost.wall:.1f}", spread, f"{cost.cpu:.1f}", f"{cost.peak_mb:.0f}")


def _row(*cells: str) -> str:
    first, *others = cells
    return first.ljust(36) + "".join(cell.rjust(w) for cell, w in zip(others, _WIDTHS, strict=True))


def _asked_line(runs: JudgedRuns, kind: str) -> str:
    ours, theirs = runs.middle(kind), runs.adk[USUAL][0]
    return (
        f"turnwise, {kind} / google-adk: {runs.share_of_calls(kind):.1%} of the calls, "
        f"{ours.tokens / theirs.tokens:.1%} of the tokens, {ours.sent_mb / theirs.sent_mb:.1%} of the MB"
    )


def _times(runs: JudgedRuns) -> list[str]:
    ours = runs.middle(FIRST).cost
    return [
        f"google-adk, {way} / turnwise, {FIRST}: wall {runs.speed(way):.1f} "
        f"({report['seconds'] / ours.wall:.1f} without google-adk's start-up), "
        f"CPU {run.cost.cpu / ours.cpu:.1f}"
        for way, (run, report) in runs.adk.items()
    ]


def checks(runs: JudgedRuns, outputs: Sequence[Path]) -> list[Check]:
    """Returns all checks; `outputs` are the directories that turnwise wrote."""
    share, speed, again = runs.share_of_calls(FIRST), runs.speed(USUAL), runs.middle(SECOND).calls
    found = [
        Check(f"at most {MOST_CALLS:.0%} of google-adk's calls: {share:.1%}", share <= MOST_CALLS),
        Check(f"no call on the second run: {again:.0f}", not again),
        Check(f"at least {LEAST_SPEED:g} times sooner: {speed:.1f}", speed >= LEAST_SPEED),
        _equal(outputs, [report for _, report in runs.adk.values()]),
    ]
    return found + ([_flat(runs.sizes)] if runs.sizes else [])


def _equal(outputs: Sequence[Path], reports: Sequence[Json]) -> Check:
    compared = [equal_scores(output, report["scores"]) for output in outputs for report in reports]
    unequal = [problem for _, problems in compared for problem in problems]
    count = sum(number for number, _ in compared)
    text = f"scores bit-equal to google-adk's: {count:,} compared, {len(unequal)} differ"
    return Check("\n  ".join([text, *unequal[:10]]), bool(count) and not unequal)


def _flat(sizes: dict[int, JudgedRun]) -> Check:
    small, large = min(sizes), max(sizes)
    growth = sizes[large].cost.peak_mb / sizes[small].cost.peak_mb - 1
    text = f"peak memory of {large:,} conversations over that of {small:,}: {growth:+.1%}"
    return Check(f"{text} (at most {MOST_GROWTH:+.0%})", growth <= MOST_GROWTH)
