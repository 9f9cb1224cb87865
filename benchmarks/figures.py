"""What a benchmark finds, as values: tables of figures, checks, and what could not be measured here.

A benchmark is a module whose `main(argv)` ends in `run_benchmark(parser, measure, argv)`. Its line in
`benchmarks/every.py` makes it a part of `python -m benchmarks.all`.
"""

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

FAILED, NOT_MEASURED = 1, 3
"""Exit statuses of a benchmark: a check does not hold; something was not measured."""

Value = str | int | float | None
Row = Sequence[Value]


class NotMeasured(Exception):
    """Nothing can be measured here; the text says what is missing."""


class Table(msgspec.Struct, frozen=True):
    """Figures in rows.

    Attributes:
        title: What was measured.
        columns: Names of the columns, with units.
        rows: Values by column; None: there is none in this place.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Row]

    def markdown(self) -> str:
        """Returns the table; floats have three significant digits."""
        lines = [self.columns, ["---"] * len(self.columns)]
        lines += [[shown(value) for value in row] for row in self.rows]
        return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


class Check(msgspec.Struct, frozen=True):
    """What must hold for the figures to count."""

    text: str
    holds: bool


class Found(msgspec.Struct, frozen=True):
    """All that a benchmark found.

    Attributes:
        tables: The figures.
        checks: What was checked.
        missing: What was not measured, and why, one text each.
    """

    tables: Sequence[Table] = ()
    checks: Sequence[Check] = ()
    missing: Sequence[str] = ()

    def markdown(self) -> str:
        """Returns tables, checks and what was not measured."""
        parts = [f"{table.title}:\n\n{table.markdown()}" for table in self.tables]
        lines = [f"- {'holds' if check.holds else 'DOES NOT HOLD'}: {check.text}" for check in self.checks]
        lines += [f"- not measured: {text}" for text in self.missing]
        return "\n\n".join([*parts, "\n".join(lines)]).rstrip() + "\n"

    def status(self) -> int:
        """Returns the exit status: 0, FAILED or NOT_MEASURED."""
        if not all(check.holds for check in self.checks):
            return FAILED
        return 0 if self.tables and not self.missing else NOT_MEASURED


def shown(value: Value) -> str:
    """Returns a value as it stands in a table."""
    if value is None:
        return ""
    if isinstance(value, float):
        digits = 2 - math.floor(math.log10(abs(value))) if value else 1
        return f"{value:,.{max(0, digits)}f}"
    return f"{value:,}" if isinstance(value, int) else value


def run_benchmark(
    parser: argparse.ArgumentParser, measure: Callable[[argparse.Namespace], Found], argv: Sequence[str]
) -> int:
    """Measures and prints what was found.

    Args:
        parser: The benchmark's own options.
        measure: Measures; an exception ends the benchmark, but for NotMeasured.
        argv: Options; `--json FILE` also writes the values there.

    Returns:
        The exit status.
    """
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures there, as JSON")
    options = parser.parse_args(argv)
    try:
        found = measure(options)
    except NotMeasured as lack:
        found = Found(missing=[str(lack)])
    print(found.markdown(), end="")
    if options.json:
        options.json.write_bytes(msgspec.json.encode(found))
    if found.status() == NOT_MEASURED:
        print(f"not measured: {'; '.join(found.missing)}", file=sys.stderr)
    return found.status()
