"""The options of `turnwise run`. Without Beam, so that help and usage errors come at once."""

import argparse

from turnwise.transforms.formats.base import AUTO, log_formats
from turnwise.transforms.judging.judges.base import JUDGES

_STREAM_LENGTHS = (
    ("--session_gap", float, "silence that ends a conversation whose events come one by one (default: 600)"),
    ("--window", float, "length of the metrics' windows (default: 3600)"),
    ("--allowed_lateness", float, "how late a window or a conversation still grows (default: 86400)"),
    ("--pane_every", int, "how often the figures of an open window are written (default: 60)"),
    ("--max_run_time", float, "end after this time"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds turnwise's own options to a parser."""
    _add_input(parser.add_argument_group("what is read"))
    _add_judge(parser.add_argument_group("who judges"))
    _add_output(parser.add_argument_group("what is written"))
    _add_stream(parser.add_argument_group("a stream (with --streaming); lengths of time in seconds"))
    _add_gates(parser.add_argument_group("when the run itself fails (exit status 1)"))


def _add_input(group: argparse._ArgumentGroup) -> None:
    _add_paths(
        group,
        "--input",
        "conversation logs: files, directories or globs; of a stream also - (standard input), "
        "pubsub:projects/P/subscriptions/S, kafka://HOST:PORT/TOPIC?group=G",
    )
    group.add_argument(
        "--input_format",
        default=AUTO,
        metavar="FORMAT",
        help=format_help(),
    )
    _add_paths(group, "--eval_cases", "eval cases: files, directories, globs or addresses of stores")
    group.add_argument("--config", metavar="FILE", help="criteria and thresholds: ADK's EvalConfig JSON")
    group.add_argument(
        "--max_record_mb",
        type=float,
        default=64.0,
        metavar="MB",
        help="a larger record is a failure (default: 64)",
    )


def format_help() -> str:
    """Returns the help of `--input_format`: the formats there are."""
    return (
        f"format of the log records: {', '.join(sorted(log_formats()))} (default: {AUTO}, told by their keys)"
    )


def _add_paths(group: argparse._ArgumentGroup, name: str, text: str) -> None:
    group.add_argument(name, nargs="+", action="extend", metavar="PATH", help=text)


def _add_judge(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--judge",
        metavar="NAME",
        help="who judges: "
        + "; ".join(f"{name}: {kind.help}" for name, kind in sorted(JUDGES.items()))
        + " (default: gemini where the environment has credentials, else none)",
    )
    group.add_argument("--judge_model", metavar="NAME", help="model, where a criterion names none")
    group.add_argument(
        "--judge_concurrency",
        type=int,
        default=64,
        metavar="N",
        help="calls in flight per worker (default: 64)",
    )
    group.add_argument(
        "--judge_cache",
        metavar="FILE",
        help="SQLite file that keeps replies, or none (default: ~/.cache/turnwise/replies.sqlite)",
    )
    group.add_argument(
        "--sample_rate",
        type=float,
        default=1.0,
        metavar="SHARE",
        help="share (0..1) of the conversations that are judged, the same ones in every run (default: 1)",
    )
    group.add_argument(
        "--estimate",
        action="store_true",
        help="print what the judge would be asked and cost; ask and write nothing",
    )


def _add_output(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--output", metavar="DIR", help="directory of the run's files")
    group.add_argument("--output_format", choices=("jsonl", "avro"), default="jsonl", help="of the tables")
    group.add_argument("--overwrite", action="store_true", help="replace an earlier run in DIR")
    group.add_argument("--run_id", metavar="ID", help="name of the run (default: made from its start time)")
    group.add_argument(
        "--store",
        metavar="URL",
        help="store that results and failures go into as well: sqlite:///FILE or postgresql://...",
    )
    group.add_argument(
        "--store_app",
        metavar="APP",
        help="projects/P/locations/L/apps/A: the app of what names none",
    )


def _add_stream(group: argparse._ArgumentGroup) -> None:
    for name, kind, text in _STREAM_LENGTHS:
        group.add_argument(name, type=kind, metavar="S", help=text)
    group.add_argument("--stop_after", type=int, metavar="N", help="end after so many conversations")
    group.add_argument(
        "--alerts",
        metavar="URI",
        help="where alerts go: a file, http(s)://..., pubsub:projects/P/topics/T (default: DIR/alerts.jsonl)",
    )
    group.add_argument(
        "--timestamp_attribute",
        metavar="NAME",
        help="attribute of Pub/Sub messages that tells the event time",
    )


def _add_gates(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--max_failure_ratio",
        type=float,
        metavar="SHARE",
        help="largest share (0..1) of records and conversations that may be lost",
    )
    group.add_argument(
        "--fail_on",
        nargs="+",
        action="extend",
        metavar="CRITERION",
        help="fail if a conversation fails, or is undecided, on one of these criteria (or evaluation_status)",
    )


def command_parser() -> argparse.ArgumentParser:
    """Returns the parser that prints `turnwise run --help`."""
    parser = argparse.ArgumentParser(
        prog="turnwise run",
        description="Scores recorded conversations, turn by turn, and writes scores, results and metrics.",
        epilog="Apache Beam's options are accepted too. The default runner, DirectRunner, is this process.",
        allow_abbrev=False,
    )
    add_arguments(parser)
    parser.add_argument(
        "--streaming", action="store_true", help="score conversations as they arrive, until stopped"
    )
    return parser
