"""Measures how CPU time and memory grow with the size of inputs of odd shapes.

Usage: python -m benchmarks.growth [--shape NAME ...] [--small]
"""

import argparse
import math
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.children import Cost, measured
from benchmarks.figures import Check, Found, Row, Table, run_benchmark
from benchmarks.growth_shapes import SHAPES, Shape

_ROUNDS = 3
_NOISE = 0.1
"""CPU seconds that two runs of the same command may differ by; a size that takes less is not fitted."""

_MOST_EXPONENT = 1.4
_SHORT = 1.0
"""CPU seconds within which growth that cannot be fitted does not matter."""

_NOISE_MB, _LITTLE_MB = 20.0, 60.0
"""The same two for the peak memory above the start-up's, in MB."""

_STREAMED = 1.2
"""Times the memory of the smallest size that the largest of a streamed shape may take."""


def fitted(sizes: Sequence[int], values: Sequence[float], noise: float) -> float | None:
    """Fits the exponent of values by the size on logarithms; None: fewer than two exceed the noise."""
    points = [(math.log(s), math.log(v)) for s, v in zip(sizes, values, strict=True) if v > noise]
    if len(points) < 2:
        return None
    x, y = (sum(each) / len(points) for each in zip(*points, strict=True))
    return sum((a - x) * (b - y) for a, b in points) / sum((a - x) ** 2 for a, _ in points)


class Growth(NamedTuple):
    """Growth of a shape.

    Attributes:
        sizes: What was measured.
        costs: Cost of each size; the CPU time is without the start-up.
        base_mb: Peak memory of the start-up.
    """

    sizes: Sequence[int]
    costs: Sequence[Cost]
    base_mb: float

    @property
    def exponent(self) -> float | None:
        """Exponent of the CPU seconds by the size; None: too short to be fitted."""
        return fitted(self.sizes, [cost.cpu for cost in self.costs], _NOISE)

    def checks(self, name: str, is_streamed: bool) -> list[Check]:
        """Returns whether CPU time and memory are about linear, and memory about constant if streamed."""
        cpu = _linear(f"{name}: the CPU time", self.exponent, self.costs[-1].cpu < _SHORT)
        if is_streamed:
            holds = self.costs[-1].peak_mb <= _STREAMED * self.costs[0].peak_mb
            return [cpu, Check(f"{name}: the largest takes at most {_STREAMED} times the memory", holds)]
        grown = [cost.peak_mb - self.base_mb for cost in self.costs]
        memory = fitted(self.sizes, grown, _NOISE_MB)
        return [cpu, _linear(f"{name}: the memory", memory, grown[-1] < _LITTLE_MB)]

    @property
    def kb_each(self) -> float:
        """Peak memory that one more takes, in kB, from the smallest to the largest size."""
        return (self.costs[-1].peak_mb - self.costs[0].peak_mb) * 1024 / (self.sizes[-1] - self.sizes[0])

    @property
    def us_each(self) -> float:
        """CPU time of one of the largest size, in microseconds."""
        return self.costs[-1].cpu * 1e6 / self.sizes[-1]


def _linear(what: str, exponent: float | None, is_small: bool) -> Check:
    holds = is_small if exponent is None else exponent <= _MOST_EXPONENT
    return Check(f"{what} grows with an exponent of at most {_MOST_EXPONENT}", holds)


def run(shape: Shape, size: int) -> Cost:
    """Measures one `turnwise run` over an input of a size."""
    with tempfile.TemporaryDirectory(prefix="turnwise-growth-") as place:
        directory = Path(place)
        arguments = [*shape.write(directory, size), "--output", str(directory / "out")]
        arguments += ["--run_id", "growth", "--workers", "1"]
        return measured([sys.executable, "-m", "turnwise", "run", *arguments], directory / "child.log")


def start_up() -> Cost:
    """Measures the start-up, as the least of several runs over one conversation."""
    costs = [run(SHAPES["failures"], 1) for _ in range(_ROUNDS)]
    return Cost(*map(min, zip(*costs, strict=True)))


def growth(shape: Shape, sizes: Sequence[int], base: Cost) -> Growth:
    """Measures a shape at several sizes."""
    costs = [run(shape, size) for size in sizes]
    beyond = [Cost(c.cpu - base.cpu, c.wall - base.wall, c.peak_mb) for c in costs]
    return Growth(sizes, beyond, base.peak_mb)


def row(name: str, shape: Shape, found: Growth) -> Row:
    """Returns a row of the table."""
    return [
        name,
        shape.unit,
        " / ".join(f"{size:,}" for size in found.sizes),
        " / ".join(f"{max(0, cost.cpu):.1f}" for cost in found.costs),
        found.exponent,
        found.us_each,
        " / ".join(f"{cost.peak_mb:.0f}" for cost in found.costs),
        max(0.0, found.kb_each),
    ]


def measure(options: argparse.Namespace) -> Found:
    """Measures the chosen shapes."""
    base, rows, checks = start_up(), list[Row](), list[Check]()
    for name in options.shape:
        shape = SHAPES[name]
        try:
            found = growth(shape, shape.sizes[:-1] if options.small else shape.sizes, base)
        except SystemExit as error:
            print(f"{name}: {error}", file=sys.stderr)
            checks.append(Check(f"{name}: all runs end well", False))
            continue
        rows.append(row(name, shape, found))
        checks += found.checks(name, shape.is_streamed)
    columns = ("shape", "unit", "sizes", "CPU s", "exponent", "us a unit", "peak MB", "kB a unit")
    start = Table("start-up", ("CPU s", "peak MB"), [[base.cpu, base.peak_mb]])
    return Found([start, Table("growth", columns, rows)], checks)


def main(argv: Sequence[str]) -> int:
    """Returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth", allow_abbrev=False)
    parser.add_argument("--shape", nargs="+", choices=SHAPES, default=list(SHAPES), help="only these shapes")
    parser.add_argument("--small", action="store_true", help="leave out the largest size of each")
    return run_benchmark(parser, measure, argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
