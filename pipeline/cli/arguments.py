"""Defines the options of `turnwise run`. Does not import Beam, so that help is fast."""

import argparse

from turnwise.pipeline.io.sinks.base import file_formats, services
from turnwise.pipeline.settings.options import DEFAULT_OUTPUT_FORMAT
from turnwise.pipeline.streaming.inputs.open import INPUT_KINDS
from turnwise.schemas.config import DEFAULT_CRITERIA, DEFAULT_MODEL
from turnwise.transforms.formats.registry import AUTO, log_formats
from turnwise.transforms.judging.judges import JUDGES


def _with_threshold(name: str) -> str:
    given = DEFAULT_CRITERIA[name]
    threshold = given.get("threshold") if isinstance(given, dict) else given
    return name if threshold is None else f"{name} {threshold}"


_STREAM_LENGTHS = (
    ("--session_gap", float, "silence that ends a conversation of single events (default: 600)"),
    ("--window", float, "length of the metrics' windows (default: 3600)"),
    ("--allowed_lateness", float, "how long late records still change a window (default: 86400)"),
    ("--pane_every", int, "interval at which an open window is written (default: 60)"),
    ("--refresh_cases", float, "interval at which changed eval cases are read again (default: 60)"),
    ("--max_run_time", float, "end after this time"),
)


def add_arguments(parser: argparse.ArgumentParser, *, streaming: bool = False) -> None:
    """Adds turnwise's own options to a parser; `--streaming`, an option of Beam, only if asked for."""
    read = parser.add_argument_group("input")
    _add_input(read)
    _add_judge(parser.add_argument_group("judge"))
    _add_output(parser.add_argument_group("output"))
    stream = parser.add_argument_group("streaming (with --streaming); times in seconds")
    if streaming:
        stream.add_argument(
            "--streaming", action="store_true", help="score conversations as they arrive, until stopped"
        )
    _add_stream(stream)
    _add_gates(parser.add_argument_group("gates (exit status 1)"))


def _add_input(group: argparse._ArgumentGroup) -> None:
    add_paths(
        group,
        "--input",
        "conversation logs: files, directories, globs, URLs of session databases (postgresql://...), rows of "
        "BigQuery (bigquery://PROJECT/DATASET/TABLE, ...); "
        "with --streaming also " + ", ".join(kind.form for kind in INPUT_KINDS) + " (required)",
    )
    group.add_argument("--input_format", default=AUTO, metavar="FORMAT", help=format_help())
    add_paths(group, "--eval_cases", "eval cases: files, directories, globs or URLs of stores")
    group.add_argument(
        "--date",
        metavar="DATE",
        help="date of the run: ISO date, yesterday, today (UTC), or A..B, one run a date; fills {date} in "
        "--input, --eval_cases, --output, --store, --run_id",
    )
    group.add_argument(
        "--lookback",
        type=int,
        metavar="N",
        help="with --date: run those of the N dates before again whose input files changed since their run",
    )
    add_plugin_argument(group)
    group.add_argument(
        "--config",
        metavar="FILE",
        help="criteria and thresholds: ADK's EvalConfig JSON (default: "
        + ", ".join(map(_with_threshold, DEFAULT_CRITERIA))
        + "; the first two inform only where a case states the actions of the whole conversation)",
    )
    group.add_argument(
        "--max_record_mb",
        type=float,
        default=64.0,
        metavar="MB",
        help="a larger record is a failure (default: 64)",
    )
    group.add_argument(
        "--workers",
        type=int,
        metavar="N",
        help="processes that read and score a batch on this machine (default: one for each processor, as far "
        "as each has 4 MiB to read)",
    )


def add_plugin_argument(parser: argparse._ActionsContainer) -> None:
    """Adds `--plugin` to a parser."""
    parser.add_argument(
        "--plugin",
        action="append",
        default=[],
        metavar="MODULE_OR_FILE",
        help="Python module or .py file that adds criteria, input formats, sinks or judges; may be repeated",
    )


def add_reading_arguments(parser: argparse.ArgumentParser, config: str) -> None:
    """Adds how records are read to a parser of a command beside `run`; `config` is help."""
    parser.add_argument("--input_format", default=AUTO, metavar="FORMAT", help=format_help())
    parser.add_argument("--config", metavar="FILE", help=config)
    add_plugin_argument(parser)


def format_help() -> str:
    """Returns the help of `--input_format`: the formats there are."""
    return f"format of the log records: {', '.join(sorted(log_formats()))} (default: {AUTO}, by their keys)"


def add_paths(group: argparse._ActionsContainer, name: str, text: str, required: bool = False) -> None:
    """Adds an option that takes paths."""
    group.add_argument(name, nargs="+", action="extend", metavar="PATH", help=text, required=required)


def add_judge_arguments(group: argparse._ActionsContainer) -> None:
    """Adds who judges to a parser, and how."""
    group.add_argument(
        "--judge",
        metavar="NAME",
        help="who judges: "
        + "; ".join(f"{name}: {kind.help}" for name, kind in sorted(JUDGES.items()))
        + " (default: gemini where the environment has credentials, else none)",
    )
    group.add_argument(
        "--judge_model",
        metavar="NAME",
        help=f"model of criteria that name none (default with gemini: {DEFAULT_MODEL})",
    )
    group.add_argument(
        "--judge_concurrency",
        type=int,
        default=64,
        metavar="N",
        help="calls in flight; on other runners per worker (default: 64)",
    )
    group.add_argument(
        "--judge_cache",
        metavar="PLACE",
        help="where replies and shared limits are kept: SQLite file, postgresql://..., or none (default: "
        "~/.cache/turnwise/replies.sqlite)",
    )


def _add_judge(group: argparse._ArgumentGroup) -> None:
    add_judge_arguments(group)
    group.add_argument(
        "--sample_rate",
        type=float,
        default=1.0,
        metavar="SHARE",
        help="share (0..1) of conversations to judge, the same in every run (default: 1)",
    )
    group.add_argument(
        "--estimate",
        action="store_true",
        help="print the number of judge calls and their cost; call no judge, write nothing",
    )


def _add_output(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--output", metavar="DIR", help="directory of the run's files (required, but not with --estimate)"
    )
    formats = ", ".join(f"{name} ({kind.help})" for name, kind in sorted(file_formats().items()))
    group.add_argument(
        "--output_format",
        default=DEFAULT_OUTPUT_FORMAT,
        metavar="FORMAT",
        help=f"format of the tables: {formats} (default: {DEFAULT_OUTPUT_FORMAT})",
    )
    group.add_argument("--overwrite", action="store_true", help="replace an earlier run in DIR")
    group.add_argument(
        "--no_transcripts",
        action="store_true",
        help="leave transcripts out of conversations-*; other columns and tables still quote words",
    )
    group.add_argument(
        "--verbose",
        action="store_true",
        help="print the traceback of a job on another runner, or of a worker process, that failed",
    )
    group.add_argument("--run_id", metavar="ID", help="id of the run (default: from its start time)")
    group.add_argument(
        "--store",
        metavar="URL",
        help=f"also write results, scores, conversations and failures to a store: {services()}",
    )
    group.add_argument(
        "--store_app", metavar="APP", help="projects/P/locations/L/apps/A: app of results that name none"
    )


def _add_stream(group: argparse._ArgumentGroup) -> None:
    for name, kind, text in _STREAM_LENGTHS:
        group.add_argument(name, type=kind, metavar="S", help=text)
    group.add_argument("--stop_after", type=int, metavar="N", help="end after N conversations")
    group.add_argument(
        "--alerts",
        metavar="URI",
        help="sink for alerts: a file, http(s)://..., pubsub:projects/P/topics/T (default: DIR/alerts.jsonl)",
    )
    group.add_argument(
        "--timestamp_attribute",
        metavar="NAME",
        help="attribute of Pub/Sub messages that holds the event time",
    )


def _add_gates(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--max_failure_ratio",
        type=float,
        metavar="SHARE",
        help="fail if a larger share (0..1) of records and conversations is lost",
    )
    group.add_argument(
        "--baseline",
        metavar="OUT",
        help="output directory of the run to compare with, by the report and the config's rules (`gate`)",
    )
    group.add_argument(
        "--fail_on",
        nargs="+",
        action="extend",
        metavar="CRITERION",
        help="adds the rule all_pass to the gate: fail if a conversation fails, or is undecided, on one of "
        "these criteria (or evaluation_status)",
    )


def command_parser() -> argparse.ArgumentParser:
    """Returns the parser for `turnwise run --help`."""
    parser = argparse.ArgumentParser(
        prog="turnwise run",
        description="Scores recorded conversations, turn by turn, and writes scores, results and metrics.",
        epilog="Apache Beam's options are accepted too. The default, DirectRunner, runs in this process.",
        allow_abbrev=False,
    )
    add_arguments(parser, streaming=True)
    return parser
