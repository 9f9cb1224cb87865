"""The tables of the benchmark of judged criteria, and what they must show."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from benchmarks.checks import equal_scores
from benchmarks.children import ADK_VERSION, Cost
from benchmarks.figures import Check, Row, Table
from benchmarks.judge_cases import Json
from benchmarks.judge_runs import CANDIDATES, FIRST, SECOND, JudgedRun

USUAL, BEST = "as users run it", "at its best"
MOST_CALLS = 0.65
LEAST_SPEED = 10.0
MOST_GROWTH = 0.1
_COLUMNS = (
    *("", "calls", "in flight", "prompt tokens", "MB sent", "wall s", "least", "most"),
    *("CPU s", "peak MB"),
)


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


def tables(runs: JudgedRuns) -> list[Table]:
    """Returns the runs, and the ratios."""
    rows = []
    for kind, rounds in runs.turnwise.items():
        walls = [run.cost.wall for run in rounds]
        rows.append(_run_row(f"turnwise, {kind}", runs.middle(kind), min(walls), max(walls)))
    rows += [_run_row(f"google-adk {ADK_VERSION}, {way}", run) for way, (run, _) in runs.adk.items()]
    rows += [
        _run_row(f"turnwise, {CANDIDATES}, {size:,} conversations", run) for size, run in runs.sizes.items()
    ]
    asked = Table(
        f"turnwise's part of what google-adk asks, {USUAL}",
        ("", "% of the calls", "% of the tokens", "% of the MB"),
        [_asked_row(runs, kind) for kind in (FIRST, CANDIDATES)],
    )
    times = Table(
        f"google-adk / turnwise, {FIRST}",
        ("google-adk", "wall", "wall without google-adk's start-up", "CPU"),
        _times(runs),
    )
    return [Table("judged runs", _COLUMNS, rows), asked, times]


def _run_row(label: str, run: JudgedRun, least: float | None = None, most: float | None = None) -> Row:
    asked = [round(run.calls), round(run.in_flight), round(run.tokens), run.sent_mb]
    return [label, *asked, run.cost.wall, least, most, run.cost.cpu, run.cost.peak_mb]


def _asked_row(runs: JudgedRuns, kind: str) -> Row:
    ours, theirs = runs.middle(kind), runs.adk[USUAL][0]
    shares = runs.share_of_calls(kind), ours.tokens / theirs.tokens, ours.sent_mb / theirs.sent_mb
    return [f"turnwise, {kind}", *(share * 100 for share in shares)]


def _times(runs: JudgedRuns) -> list[Row]:
    ours = runs.middle(FIRST).cost
    return [
        [way, runs.speed(way), report["seconds"] / ours.wall, run.cost.cpu / ours.cpu]
        for way, (run, report) in runs.adk.items()
    ]


def checks(runs: JudgedRuns, outputs: Sequence[Path], are_many: bool) -> list[Check]:
    """Returns all checks.

    Args:
        runs: All runs.
        outputs: Directories that turnwise wrote.
        are_many: Whether so many conversations are judged that start-up is a small part of the time.
    """
    share, again = runs.share_of_calls(FIRST), runs.middle(SECOND).calls
    found = [
        Check(f"at most {MOST_CALLS:.0%} of google-adk's calls: {share:.1%}", share <= MOST_CALLS),
        Check(f"no call on the second run: {again:.0f}", not again),
        _equal(outputs, [report for _, report in runs.adk.values()]),
    ]
    if are_many:
        speed = runs.speed(USUAL)
        found.append(Check(f"at least {LEAST_SPEED:g} times sooner: {speed:.1f}", speed >= LEAST_SPEED))
    return found + ([_flat(runs.sizes)] if runs.sizes else [])


def _equal(outputs: Sequence[Path], reports: Sequence[Json]) -> Check:
    compared = [equal_scores(output, report["scores"]) for output in outputs for report in reports]
    unequal = [problem for _, problems in compared for problem in problems]
    count = sum(number for number, _ in compared)
    text = f"scores bit-equal to google-adk's: {count:,} compared, {len(unequal)} differ"
    return Check("; ".join([text, *unequal[:10]]), bool(count) and not unequal)


def _flat(sizes: dict[int, JudgedRun]) -> Check:
    small, large = min(sizes), max(sizes)
    growth = sizes[large].cost.peak_mb / sizes[small].cost.peak_mb - 1
    text = f"peak memory of {large:,} conversations over that of {small:,}: {growth:+.1%}"
    return Check(f"{text} (at most {MOST_GROWTH:+.0%})", growth <= MOST_GROWTH)
