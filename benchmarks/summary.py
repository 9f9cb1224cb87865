"""The table at the end of a benchmark."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from benchmarks.children import ADK_VERSION, Cost
from benchmarks.data import TURNS_EACH

_LABELS = {"pipeline": "turnwise run", "plain": "plain loop"}
_ADK_PARTS = {
    "evaluate": ("evaluate_seconds",),
    "parse, evaluate": ("parse_seconds", "evaluate_seconds"),
    "parse, evaluate, save": ("parse_seconds", "evaluate_seconds", "save_seconds"),
}
_HEAD = ("", "turns", "CPU s", "of all rounds", "wall s", "peak MB", "turns/CPU s", "without start-up")


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
        start_up = self.cost(kind, TURNS_EACH).cpu
        return [cpu - start_up for cpu in self.cpu(kind, turns)]

    def adk_rates(self, *keys: str) -> list[float]:
        """Returns google-adk's turns per CPU second of every round, for the sum of some of its parts."""
        return [report["turns"] / sum(report[key] for key in keys) for report in self.adk]


def summary(measures: Measures, sizes: Sequence[int], written: dict[int, float]) -> str:
    """Returns the table, the ratios and the growth; `written` is what the runs wrote, in MB by turns."""
    lines = [_row(*_HEAD)]
    lines += [_cost_row(measures, kind, turns) for turns in (TURNS_EACH, *sizes) for kind in _LABELS]
    lines += _adk_rows(measures)
    lines += ["", *_overhead(measures, sizes), *_against_adk(measures, sizes[-1])]
    if len(sizes) > 1:
        lines += _growth(measures, sizes, written)
    low, high = min(measures.yardsticks), max(measures.yardsticks)
    lines.append(f"the same piece of work took {low:.3f} to {high:.3f} CPU seconds at different moments")
    return "\n".join(lines)


def _row(*cells: str) -> str:
    first, *others = cells
    widths = (8, 8, 16, 8, 8, 12, 17)
    return (first.ljust(36) + "".join(c.rjust(w) for c, w in zip(others, widths, strict=False))).rstrip()


def _cost_row(measures: Measures, kind: str, turns: int) -> str:
    cost = measures.cost(kind, turns)
    cpu = measures.cpu(kind, turns)
    spread = f"{min(cpu):.2f} to {max(cpu):.2f}"
    cells = [f"{turns:,}", f"{cost.cpu:.2f}", spread, f"{cost.wall:.2f}", f"{cost.peak_mb:.0f}"]
    if turns == TURNS_EACH:
        return _row(f"{_LABELS[kind]}, start-up", *cells)
    net = median(measures.net_cpu(kind, turns))
    return _row(_LABELS[kind], *cells, f"{turns / cost.cpu:,.0f}", f"{turns / net:,.0f}")


def _adk_rows(measures: Measures) -> list[str]:
    rows = []
    for label, keys in _ADK_PARTS.items() if measures.adk else ():
        turns, rates = measures.adk[0]["turns"], measures.adk_rates(*keys)
        rate, spread = median(rates), f"{turns / max(rates):.2f} to {turns / min(rates):.2f}"
        cells = (f"{turns:,}", f"{turns / rate:.2f}", spread, "", "", "", f"{rate:,.0f}")
        rows.append(_row(f"google-adk {ADK_VERSION}, {label}", *cells))
    return rows


def _overhead(measures: Measures, sizes: Sequence[int]) -> list[str]:
    return [_overhead_line(measures, turns) for turns in sizes]


def _overhead_line(measures: Measures, turns: int) -> str:
    net, whole = _paired(measures.net_cpu, turns), _paired(measures.cpu, turns)
    return (
        f"pipeline / plain loop, CPU at {turns:,} turns: {net:.2f} without start-up, "
        f"{whole:.2f} as whole processes"
    )


def _paired(cpu: Callable[[str, int], list[float]], turns: int) -> float:
    """Returns the median over the rounds of pipeline / plain loop, each of the same round."""
    return median(a / b for a, b in zip(cpu("pipeline", turns), cpu("plain", turns), strict=True))


def _against_adk(measures: Measures, turns: int) -> list[str]:
    if not measures.adk:
        return []
    return [
        f"turnwise, {own}, from file to files / google-adk, {label}, turns per CPU second: "
        f"{_times_adk(measures, cpu('pipeline', turns), turns, keys):.1f}"
        for own, cpu in (("whole process", measures.cpu), ("without start-up", measures.net_cpu))
        for label, keys in _ADK_PARTS.items()
    ]


def _times_adk(measures: Measures, cpu: Sequence[float], turns: int, keys: Sequence[str]) -> float:
    rates = measures.adk_rates(*keys)
    return median(turns / seconds / rate for seconds, rate in zip(cpu, rates, strict=True))


def _growth(measures: Measures, sizes: Sequence[int], written: dict[int, float]) -> list[str]:
    small, large = sizes[0], sizes[-1]
    times = median(
        b / a
        for a, b in zip(measures.net_cpu("pipeline", small), measures.net_cpu("pipeline", large), strict=True)
    )
    memory = measures.cost("pipeline", large).peak_mb - measures.cost("pipeline", small).peak_mb
    return [
        f"growth, {large:,} against {small:,} turns: CPU without start-up {times:.2f} times "
        f"for {large / small:g} times the turns",
        f"growth of peak memory: {memory:.0f} MB, of output: {written[large] - written[small]:.0f} MB",
    ]
