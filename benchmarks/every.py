"""All benchmarks, in the order in which they run and are documented."""

from typing import NamedTuple


class Benchmark(NamedTuple):
    """A benchmark.

    Attributes:
        name: Its module in `benchmarks`.
        measures: What is measured; in Markdown, as seen from docs/benchmarks.md.
        time: How long it takes.
        small: Options for a quick run; it shows that everything works, its figures are not recorded.
    """

    name: str
    measures: str
    time: str
    small: tuple[str, ...] = ()


BENCHMARKS = (
    Benchmark(
        "throughput",
        "batch scoring against a plain loop and google-adk",
        "4 to 6 minutes",
        ("--small", "--rounds=1"),
    ),
    Benchmark(
        "judge_calls",
        "judge calls in one process",
        "5 minutes",
        ("--calls=400", "--concurrency=64", "--rounds=1", "--delay_ms=20"),
    ),
    Benchmark(
        "start_up",
        "a run on the sample and `--help` against `import apache_beam`",
        "1 minute",
        ("--rounds", "1"),
    ),
    Benchmark("spans", "spans of OTLP/JSON that are read and joined per CPU second", "10 seconds", ("50",)),
)
