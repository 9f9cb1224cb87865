"""How often intervals of corrected pass rates and means hold the true one, with a judge that errs.

Every row simulates many runs: people and a judge rate all cases, and the labels of a random part are known.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks.figures import Found, Row, Table, run_benchmark
from turnwise.schemas.comparison import Bounds
from turnwise.transforms.statistics.agreement import (
    Confusion,
    SampleDesign,
    corrected_mean,
    corrected_rate,
    rogan_gladen,
)
from turnwise.transforms.statistics.tests import wilson_interval

Bools = npt.NDArray[np.bool_]


class Setting(NamedTuple):
    """What is simulated.

    Attributes:
        kind: `rate`, `weighted`, `mean` or `rogan_gladen`.
        size: Judged scores.
        labelled: Those with a label; of `weighted`, those of what is not flagged.
        rate: Share that people would let pass; of means, their mean.
        error: Share of the passes and of the fails that the judge turns round; of means, its bias.
        turns: Scores of a conversation, which agree more among each other; 1: all are independent.
    """

    kind: str
    size: int
    labelled: int
    rate: float
    error: float = 0.2
    turns: int = 1


class Coverage(NamedTuple):
    """Shares of intervals that hold the truth, and the mean width of the corrected ones."""

    corrected: float
    judge_alone: float
    width: float


SETTINGS = [
    *(Setting("rate", 5000, n, rate) for n in (30, 50, 100, 500) for rate in (0.5, 0.8, 0.9, 0.97)),
    *(Setting("rate", 500, 100, rate) for rate in (0.5, 0.8, 0.9)),
    *(Setting("rate", 5000, 100, 0.8, error) for error in (0.05, 0.4)),
    *(Setting("rate", 4000, n, rate, 0.2, 4) for n in (120, 400) for rate in (0.5, 0.8)),
    *(Setting("weighted", 5000, n, 0.82) for n in (20, 40, 80)),
    *(Setting("mean", 5000, n, 0.6) for n in (30, 100, 500)),
    *(Setting("mean", 4000, n, 0.6, 0.2, 4) for n in (120, 400)),
    *(Setting("rogan_gladen", 5000, n, rate) for n in (100, 500) for rate in (0.5, 0.8, 0.9)),
]


def coverage(setting: Setting, runs: int) -> Coverage:
    """Simulates so many runs of a setting; seeded."""
    generator, found = np.random.default_rng(0), []
    for seed in range(runs):
        interval, alone = _METHODS[setting.kind](setting, generator, seed)
        hits = (bound is not None and bound.low <= setting.rate <= bound.high for bound in (interval, alone))
        found.append((*hits, interval.high - interval.low if interval else np.nan))
    corrected, judge_alone, width = np.nanmean(np.asarray(found, dtype=float), axis=0)
    return Coverage(float(corrected), float(judge_alone), float(width))


Intervals = tuple[Bounds | None, Bounds | None]


def _outcomes(setting: Setting, generator: np.random.Generator) -> tuple[Bools, Bools]:
    """Returns what people and the judge say; the turns of a conversation share a rate of their own."""
    conversations = setting.size // setting.turns
    rate = np.full(conversations, setting.rate)
    if setting.turns > 1:
        rate = generator.beta(4 * setting.rate, 4 * (1 - setting.rate), conversations)
    people = generator.random(setting.size) < np.repeat(rate, setting.turns)
    return people, np.where(generator.random(setting.size) < setting.error, ~people, people)


def _design(setting: Setting) -> SampleDesign | None:
    if setting.turns == 1:
        return None
    cases = [str(i // setting.turns) for i in range(setting.size)]
    return SampleDesign(cases[: setting.labelled], cases[setting.labelled :])


def _rate(setting: Setting, generator: np.random.Generator, seed: int) -> Intervals:
    people, judge = _outcomes(setting, generator)
    n = setting.labelled
    found = corrected_rate(people[:n], judge[:n], judge[n:], seed, _design(setting))
    return found.interval, wilson_interval(float(judge.sum()), setting.size)


def _weighted(setting: Setting, generator: np.random.Generator, seed: int) -> Intervals:
    """Labels 80 of the flagged fifth, of which people pass half, and some of the rest (they pass 0.9)."""
    flagged = np.arange(setting.size) < setting.size // 5
    people = generator.random(setting.size) < np.where(flagged, 0.5, 0.9)
    judge = np.where(generator.random(setting.size) < setting.error, ~people, people)
    parts = [(np.flatnonzero(flagged), 80), (np.flatnonzero(~flagged), setting.labelled)]
    chosen = np.concatenate([generator.choice(part, n, replace=False) for part, n in parts])
    rest = np.setdiff1d(np.arange(setting.size), chosen)
    weights = [len(part) / n for part, n in parts for _ in range(n)]
    design = SampleDesign([str(i) for i in chosen], [str(i) for i in rest], weights)
    found = corrected_rate(people[chosen], list(judge[chosen]), list(judge[rest]), seed, design)
    return found.interval, wilson_interval(float(judge.sum()), setting.size)


def _mean(setting: Setting, generator: np.random.Generator, seed: int) -> Intervals:
    conversations, n = setting.size // setting.turns, setting.labelled
    own = generator.normal(0, 0.2, conversations)
    people = (
        setting.rate + np.repeat(own, setting.turns) + generator.normal(0, 0.1, conversations * setting.turns)
    )
    judge = people + setting.error + generator.normal(0, 0.15, len(people))
    found = corrected_mean(list(people[:n]), list(judge[:n]), list(judge[n:]), _design(setting))
    half = 1.96 * judge.std() / np.sqrt(len(judge))
    return found.interval, Bounds(float(judge.mean() - half), float(judge.mean() + half))


def _rogan_gladen(setting: Setting, generator: np.random.Generator, seed: int) -> Intervals:
    people, judge = _outcomes(setting, generator)
    human, machine = people[: setting.labelled], judge[: setting.labelled]
    table = Confusion(
        *(int(n) for n in ((human & machine).sum(), (~human & machine).sum())),
        *(int(n) for n in ((human & ~machine).sum(), (~human & ~machine).sum())),
    )
    passes = int(judge.sum())
    return rogan_gladen(passes, setting.size, table), wilson_interval(float(passes), setting.size)


_METHODS: dict[str, Callable[[Setting, np.random.Generator, int], Intervals]] = {
    "rate": _rate,
    "weighted": _weighted,
    "mean": _mean,
    "rogan_gladen": _rogan_gladen,
}


def measure(options: argparse.Namespace) -> Found:
    rows: list[Row] = []
    for setting in SETTINGS:
        if options.kind in (None, setting.kind):
            found = coverage(setting, options.runs)
            known = [setting.kind.replace("_", " "), setting.size, setting.labelled]
            assumed = [f"{setting.rate:g}", f"{setting.error:g}", setting.turns]
            rows.append([*known, *assumed, found.corrected * 100, found.width, found.judge_alone * 100])
    columns = ("kind", "scores", "labels", "truth", "error", "turns")
    figures = ("coverage, %", "width", "coverage of the judge alone, %")
    text = f"intervals of 95 %, {options.runs:,} runs a row"
    return Found([Table(text, (*columns, *figures), rows)])


def main(argv: Sequence[str]) -> int:
    """Simulates, and prints a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.corrected_metrics", allow_abbrev=False)
    parser.add_argument("--runs", type=int, default=5_000)
    parser.add_argument("--kind", choices=_METHODS, help="default: all")
    return run_benchmark(parser, measure, argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
