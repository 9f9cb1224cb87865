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
        "workers",
        "a batch with one process and with [several](runners.md#all-processors-of-a-machine)",
        "5 minutes",
        ("--turns=10000", "--rounds=1", "--workers=2"),
    ),
    Benchmark(
        "stream",
        "backlog, delay and memory of a stream",
        "20 minutes",
        ("--minutes=0.2", "--rate=20", "--backlog=4000", "--rounds=1"),
    ),
    Benchmark(
        "judges",
        "judged criteria against google-adk",
        "3 to 5 minutes",
        ("--conversations=4", "--rounds=1", "--no_sizes"),
    ),
    Benchmark(
        "judge_calls",
        "judge calls in one process",
        "5 minutes",
        ("--calls=400", "--concurrency=64", "--rounds=1", "--delay_ms=20"),
    ),
    Benchmark(
        "start_up",
        "runs on the sample and on one conversation, and `--help`, against `import apache_beam`",
        "2 minutes",
        ("--rounds", "1"),
    ),
    Benchmark(
        "store",
        "response times of the store's server",
        "20 minutes",
        ("--results=1000", "--requests=100"),
    ),
    Benchmark(
        "report",
        "size and opening time of the [report](report.md#size)",
        "3 minutes",
        ("--turns=1000", "--rounds=1"),
    ),
    Benchmark(
        "local_judge",
        "agreement of the local judge with labelled data ([table](#labelled-data))",
        "seconds",
    ),
    Benchmark(
        "effects",
        "trajectory criteria against recorded rewards ([table](criteria.md#which-trajectory-criterion-when))",
        "2 seconds",
    ),
    Benchmark(
        "corrected_metrics",
        "coverage of figures corrected by labels ([table](calibration.md#corrected-figures))",
        "15 minutes",
        ("--runs=20",),
    ),
    Benchmark(
        "false_alarms",
        "alerts about drops in streams without any change",
        "2 minutes",
        ("--streams=20",),
    ),
    Benchmark(
        "engines",
        "the tables of other engines against DirectRunner's, killed workers, brokers, Dataflow's client "
        "([table](runners.md#what-was-tried))",
        "half a minute an engine, a minute a case",
        ("--engine=job service", "--turns=2000"),
    ),
    Benchmark(
        "worker_hours",
        "CPU seconds in one process and with a worker of its own ([table](deployment.md#what-it-costs))",
        "2 to 5 minutes",
        ("--turns=2000",),
    ),
    Benchmark(
        "day",
        "worker hours, bytes and judge calls of a [day](deployment.md#a-day-of-2-million-conversations)",
        "3 minutes",
        ("--conversations=80",),
    ),
    Benchmark(
        "growth",
        "CPU time and memory by the size of inputs of odd shapes",
        "40 minutes, estimated",
        ("--small", "--shape", "golden", "calls_in_a_turn", "variables"),
    ),
    Benchmark("spans", "spans of OTLP/JSON that are read and joined per CPU second", "10 seconds", ("50",)),
)
