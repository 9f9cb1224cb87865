"""The tables of the throughput."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from benchmarks.children import ADK_VERSION, Cost
from benchmarks.figures import Row, Table

START_UP = 100
"""Turns of a run that has loaded all that the others load, as google-adk has at its warm-up."""

_LABELS = {"pipeline": "turnwise run", "plain": "plain loop"}
_ADK_PARTS = {
    "evaluate": ("evaluate_seconds",),
    "parse, evaluate": ("parse_seconds", "evaluate_seconds"),
    "parse, evaluate, save": ("parse_seconds", "evaluate_seconds", "save_seconds"),
}
_COLUMNS = (
    *("", "turns", "CPU s", "least", "most", "wall s", "peak MB"),
    *("turns per CPU s", "without start-up"),
)


@dataclass
class Measures:
    """Costs of all rounds, in order.

    Attributes:
        costs: (pipeline or plain, turns) -> one Cost a round.
        adk: What `adk_peer.py` reported, one a round; empty: google-adk was left out.
        yardsticks: CPU seconds of a fixed piece of work, taken all along.
    """

    costs: dict[tuple[str, int], list[Cost]] = field(default_factory=dict)
    adk: list[dict[str, Any]] = field(default_factory=list)
    yardsticks: list[float] = field(default_factory=list)

    def add(self, kind: str, turns: int, cost: Cost) -> None:
        """Notes the cost of one run."""
        self.costs.setdefault((kind, turns), []).append(cost)

    def cost(self, kind: str, turns: int) -> Cost:
        """Returns the medians over the rounds."""
        return Cost(*(median(values) for values in zip(*self.costs[kind, turns], strict=True)))

    def cpu(self, kind: str, turns: int) -> list[float]:
        """Returns the CPU seconds of every round, start-up included."""
        return [cost.cpu for cost in self.costs[kind, turns]]

    def net_cpu(self, kind: str, turns: int) -> list[float]:
        """Returns the CPU seconds of every round beyond the start-up (of which the median is taken)."""
        start_up = self.cost(kind, START_UP).cpu
        return [cpu - start_up for cpu in self.cpu(kind, turns)]

    def adk_rates(self, *keys: str) -> list[float]:
        """Returns google-adk's turns per CPU second of every round, for the sum of some of its parts."""
        return [report["turns"] / sum(report[key] for key in keys) for report in self.adk]


def tables(measures: Measures, sizes: Sequence[int], written: dict[int, float]) -> list[Table]:
    """Returns what everything took, the ratios and the growth.

    Args:
        measures: The costs.
        sizes: Turns of the inputs, ascending.
        written: MB that the runs wrote, by turns.
    """
    costs = [_cost_row(measures, kind, turns) for turns in (START_UP, *sizes) for kind in _LABELS]
    found = [
        Table("medians of all rounds", _COLUMNS, [*costs, *_adk_rows(measures)]),
        Table("ratios", ("CPU", "without start-up", "whole processes"), _ratios(measures, sizes)),
    ]
    if len(sizes) > 1:
        found.append(Table("growth", ("", "times"), _growth(measures, sizes, written)))
    work = [min(measures.yardsticks), max(measures.yardsticks)]
    return [*found, Table("CPU s of a fixed piece of work, all along", ("least", "most"), [work])]


def _cost_row(measures: Measures, kind: str, turns: int) -> Row:
    cost, cpu = measures.cost(kind, turns), measures.cpu(kind, turns)
    cells = [turns, cost.cpu, min(cpu), max(cpu), cost.wall, cost.peak_mb]
    if turns == START_UP:
        return [f"{_LABELS[kind]}, start-up", *cells, None, None]
    return [
        _LABELS[kind],
        *cells,
        turns / cost.cpu,
        (turns - START_UP) / median(measures.net_cpu(kind, turns)),
    ]


def _adk_rows(measures: Measures) -> list[Row]:
    rows: list[Row] = []
    for label, keys in _ADK_PARTS.items() if measures.adk else ():
        turns, rates = measures.adk[0]["turns"], measures.adk_rates(*keys)
        seconds = [turns / rate for rate in (median(rates), max(rates), min(rates))]
        rows.append([f"google-adk {ADK_VERSION}, {label}", turns, *seconds, None, None, None, median(rates)])
    return rows


def _ratios(measures: Measures, sizes: Sequence[int]) -> list[Row]:
    """Returns medians over the rounds, of two runs of the same round each."""
    ways = (measures.net_cpu, START_UP), (measures.cpu, 0)
    rows: list[Row] = [
        [f"turnwise / plain loop, {turns:,} turns", *(_overhead(cpu, turns) for cpu, _ in ways)]
        for turns in sizes
    ]
    turns = sizes[-1]
    for label, keys in _ADK_PARTS.items() if measures.adk else ():
        times = [_times_adk(measures, cpu("pipeline", turns), turns - less, keys) for cpu, less in ways]
        rows.append([f"google-adk's {label} / turnwise from file to files, {turns:,} turns", *times])
    return rows


def _overhead(cpu: Callable[[str, int], list[float]], turns: int) -> float:
    return median(a / b for a, b in zip(cpu("pipeline", turns), cpu("plain", turns), strict=True))


def _times_adk(measures: Measures, cpu: Sequence[float], turns: int, keys: Sequence[str]) -> float:
    rates = measures.adk_rates(*keys)
    return median(turns / seconds / rate for seconds, rate in zip(cpu, rates, strict=True))


def _growth(measures: Measures, sizes: Sequence[int], written: dict[int, float]) -> list[Row]:
    small, large = sizes[0], sizes[-1]
    both = (measures.net_cpu("pipeline", turns) for turns in (small, large))
    memory = measures.cost("pipeline", large).peak_mb / measures.cost("pipeline", small).peak_mb
    return [
        ["turns", (large - START_UP) / (small - START_UP)],
        ["CPU without start-up", median(b / a for a, b in zip(*both, strict=True))],
        ["output", written[large] / written[small]],
        ["peak memory", memory],
    ]
