"""Defines the options of `turnwise run`. Does not import Beam, so that help is fast."""

import argparse
from typing import get_args

from turnwise.pipeline.io.sinks import file_formats, services
from turnwise.pipeline.settings import options as declared
from turnwise.pipeline.settings.options import FLAG, STORE, OptionRows, add_options
from turnwise.pipeline.streaming.inputs.open import INPUT_KINDS
from turnwise.schemas.config import DEFAULT_CRITERIA, DEFAULT_MODEL, REDACTED_KINDS, MatchCasesBy
from turnwise.transforms.formats.registry import AUTO, log_formats
from turnwise.transforms.judging.judges import JUDGES

PLUGIN = (
    "--plugin",
    {"action": "append", "default": [], "metavar": "MODULE_OR_FILE"},
    "Python module or .py file that adds criteria, input formats, sinks or judges; may be repeated",
)
PATHS = {"nargs": "+", "action": "extend", "metavar": "PATH"}


def add_arguments(parser: argparse.ArgumentParser, *, streaming: bool = False) -> None:
    """Adds turnwise's own options to a parser; `--streaming`, an option of Beam, only if asked for."""
    _add_input(parser.add_argument_group("input"))
    judging: OptionRows = (
        *judge_options(),
        ("--sample_rate", {"type": float, "default": 1.0, "metavar": "SHARE"},
         "share (0..1) of conversations to judge, the same in every run (default: 1)"),
        ("--judge_batch", FLAG,
         "ask by the provider's batch jobs, at half the price (gemini with an API key, openai, azure)"),
        ("--judge_batch_wait", {"type": float, "metavar": "S"},
         "seconds to wait for batch jobs; the next run takes the results of later ones (default: 21600)"),
        ("--estimate", FLAG, "print the number of judge calls and their cost; call no judge, write nothing"),
    )  # fmt: skip
    add_options(parser.add_argument_group("judge"), judging)
    _add_output(parser.add_argument_group("output"))
    stream = parser.add_argument_group("streaming (with --streaming); times in seconds")
    if streaming:
        add_options(stream, [("--streaming", FLAG, "score conversations as they arrive, until stopped")])
    seconds, number = {"type": float, "metavar": "S"}, {"type": int, "metavar": "S"}
    streaming_options: OptionRows = (
        ("--session_gap", seconds, "silence that ends a conversation of single events (default: 600)"),
        ("--window", seconds, "length of the metrics' windows (default: 3600)"),
        ("--allowed_lateness", seconds, "how long late records still change a window (default: 86400)"),
        ("--pane_every", number, "interval at which an open window is written (default: 60)"),
        ("--refresh_cases", seconds, "interval at which changed eval cases are read again (default: 60)"),
        ("--max_run_time", seconds, "end after this time"),
        ("--stop_after", {"type": int, "metavar": "N"}, "end after N conversations"),
        ("--timestamp_attribute", {"metavar": "NAME"},
         "attribute of Pub/Sub messages that holds the event time"),
    )  # fmt: skip
    add_options(stream, streaming_options)
    gates: OptionRows = (
        ("--max_failure_ratio", {"type": float, "metavar": "SHARE"},
         "fail if a larger share (0..1) of records and conversations is rejected (default: more than half)"),
        ("--baseline", {"metavar": "OUT"},
         "app version of this run, or output directory of the run to compare with (OUT#VERSION: one of its "
         "versions), by the report and the config's rules (`gate`); with {date} that of the last earlier "
         "date with a run; previous: the last run of --store"),
        ("--candidate", {"metavar": "VERSION"}, "app version of this run to compare (default: the last)"),
        ("--alerts", {"metavar": "URI"},
         "sink for the alerts of the config's rules: a file, http(s)://..., pubsub:projects/P/topics/T "
         "(default: run.json, of a stream DIR/alerts.jsonl)"),
        ("--fail_on", {"nargs": "+", "action": "extend", "metavar": "CRITERION"},
         "adds the rule all_pass to the gate: fail if a conversation fails, or has no verdict, on one of "
         "these criteria (or verdict)"),
    )  # fmt: skip
    add_options(parser.add_argument_group("gates (exit status 1)"), gates)


def _add_input(group: argparse._ArgumentGroup) -> None:
    streams = ", ".join(kind.form for kind in INPUT_KINDS)
    defaults = ", ".join(
        name if threshold is None else f"{name} {threshold}"
        for name, given in DEFAULT_CRITERIA.items()
        for threshold in [given.get("threshold") if isinstance(given, dict) else given]
    )
    options: OptionRows = (
        ("--input", PATHS,
         "conversation logs: files, directories, globs, URLs of session databases (postgresql://...), rows "
         f"of BigQuery (bigquery://PROJECT/DATASET/TABLE, ...); with --streaming also {streams} (required)"),
        ("--input_format", {"default": AUTO, "metavar": "FORMAT"}, format_help()),
        ("--eval_cases", PATHS, "eval cases: files, directories, globs or URLs of stores"),
        ("--match_cases_by", {"choices": get_args(MatchCasesBy), "metavar": "WHAT"},
         "first_user_message: hold a conversation that names no eval case against the one case whose first "
         "user message is the same, but for letter case and white space"),
        ("--date", {"metavar": "DATE"},
         "date of the run: ISO date, yesterday, today (UTC), or A..B, one run a date; fills {date} in "
         "--input, --eval_cases, --output, --store, --run_id, and in --baseline with an earlier date"),
        ("--lookback", {"type": int, "metavar": "N"},
         "with --date: run those of the N dates before again whose input files changed since their run"),
        ("--empty_dates", {"choices": get_args(declared.EmptyDates), "default": "fail"},
         "with --date: what a date is that has neither input nor a run: exit status 2 (fail, the default), "
         "or 0 with a warning (warn) or without (ok)"),
        PLUGIN,
        ("--config", {"metavar": "FILE"},
         f"criteria and thresholds: ADK's EvalConfig JSON (default: {defaults}; the first two inform only "
         "where a case states the actions of the whole conversation)"),
        ("--max_record_mb", {"type": float, "default": 64.0, "metavar": "MB"},
         "a larger record is a failure (default: 64)"),
        ("--max_bigquery_gb", {"type": float, "metavar": "GB"},
         "end before anything is read if BigQuery would read or scan more than this for --input, in units of "
         "2**30 bytes (default: no limit)"),
        ("--workers", {"type": int, "metavar": "N"},
         "processes that read and score a batch on this machine (default: one for each processor, as far "
         "as each has 4 MiB to read)"),
    )  # fmt: skip
    add_options(group, options)


def reading_options(config: str) -> OptionRows:
    """Returns how records are read, as options of a command beside `run`; `config` is help."""
    formats = {"default": AUTO, "metavar": "FORMAT"}
    return ("--input_format", formats, format_help()), ("--config", {"metavar": "FILE"}, config), PLUGIN


def format_help() -> str:
    """Returns the help of `--input_format`: the formats there are."""
    return f"format of the log records: {', '.join(sorted(log_formats()))} (default: {AUTO}, by their keys)"


def judge_options() -> OptionRows:
    """Returns who judges, and how, as options."""
    judges = "; ".join(f"{name}: {kind.help}" for name, kind in sorted(JUDGES.items()))
    return (
        ("--judge", {"metavar": "NAME"},
         f"who judges: {judges} (default: gemini where the environment has credentials, else none)"),
        ("--judge_model", {"metavar": "NAME"},
         f"model of criteria that name none (default with gemini: {DEFAULT_MODEL})"),
        ("--judge_concurrency", {"type": int, "default": 64, "metavar": "N"},
         "calls in flight, over all workers if their number is known, else for each (default: 64)"),
        ("--judge_cache", {"metavar": "PLACE"},
         "where replies and shared limits are kept: SQLite file, postgresql://..., or none (default: "
         "~/.cache/turnwise/replies.sqlite)"),
    )  # fmt: skip


def _add_output(group: argparse._ArgumentGroup) -> None:
    formats = ", ".join(f"{name} ({kind.help})" for name, kind in sorted(file_formats().items()))
    options: OptionRows = (
        ("--output", {"metavar": "DIR"}, "directory of the run's files (required, but not with --estimate)"),
        ("--output_format", {"default": declared.DEFAULT_OUTPUT_FORMAT, "metavar": "FORMAT"},
         f"format of the tables: {formats} (default: {declared.DEFAULT_OUTPUT_FORMAT})"),
        ("--overwrite", FLAG, "replace an earlier run in DIR"),
        ("--no_transcripts", FLAG,
         "leave transcripts out of conversations-*; other columns and tables still quote words"),
        ("--redact", {"nargs": "+", "action": "extend", "metavar": "KIND"},
         f"write markers such as <EMAIL_1> in place of personal data, and show judges nothing else: default "
         f"(all kinds), or some of {', '.join(REDACTED_KINDS)}"),
        ("--verbose", FLAG,
         "print the traceback of a job on another runner, or of a worker process, that failed"),
        ("--run_id", {"metavar": "ID"}, "id of the run (default: from its start time)"),
        ("--store", STORE,
         f"also write results, scores, conversations and failures to a store: {services('--store')}"),
        ("--scores_to", STORE, f"also send every score as an OpenTelemetry event: {services('--scores_to')}"),
        ("--store_app", {"metavar": "APP"}, "projects/P/locations/L/apps/A: app of results that name none"),
    )  # fmt: skip
    add_options(group, options)


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
