"""Reports on a finished run: text on the terminal, `run.json`, exit status."""

import shutil
import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import cast

import apache_beam as beam
from apache_beam.runners.runner import PipelineResult

from turnwise.pipeline.batch.counters import counters, judge_usage
from turnwise.pipeline.gating.decide import rule_problems
from turnwise.pipeline.io.directory import READING_LIST, read_rows, take_document, write_run_file
from turnwise.pipeline.io.run_reader import written_run
from turnwise.pipeline.io.sinks.base import find_service
from turnwise.pipeline.io.terminal import LONGEST_LINE, complain, names_text, printable, say
from turnwise.pipeline.report.counts import RunCounts, guesses_by_tool, run_counts
from turnwise.pipeline.report.gates import gate_problems
from turnwise.pipeline.report.judge import UsageByModel, judge_document
from turnwise.pipeline.report.summary import Figures, summary_text
from turnwise.pipeline.report.table import versions_of
from turnwise.pipeline.settings.run import RunSettings
from turnwise.pipeline.store.urls import shown_place, shown_url
from turnwise.schemas.config import ConfigError
from turnwise.schemas.conversation_row import ConversationRow
from turnwise.schemas.rows import MetricsByAppVersionRow
from turnwise.schemas.values import JsonObject
from turnwise.transforms.comparison.versions import compared_versions

_WIDTH = 110


def report_batch(settings: RunSettings, result: PipelineResult) -> int:
    """Reports on a finished batch run; returns the exit status."""
    table = read_rows(settings.output, "metrics_by_app_version", settings.output_format)
    rows = cast("list[MetricsByAppVersionRow]", table)
    counts = counters(result)
    to_read = take_document(settings.output, READING_LIST).get("conversations", ())
    usage, guesses = judge_usage(result), guesses_by_tool(counts)
    return report(settings, Figures(run_counts(counts), usage, guesses, to_read=to_read), rows)


def report(settings: RunSettings, figures: Figures, rows: Sequence[MetricsByAppVersionRow]) -> int:
    """Prints the report, writes `run.json` and returns the exit status.

    Args:
        settings: Settings of the run.
        figures: Figures of the run.
        rows: Rows of `metrics_by_app_version` over the whole run.
    """
    counts, usage, guesses, unread, to_read, _ = figures
    problems = gate_problems(settings, counts, rows)
    problems += rule_problems(settings, _run_document(settings, counts, usage, problems, 0))
    document = _run_document(settings, counts, usage, problems, 0)
    say(summary_text(settings, figures._replace(difference=_difference(settings, document, rows)), rows))
    say(f"files: {printable(settings.output)}")
    replaced, text = _replaced(settings, counts["results"])
    if settings.store:
        say(f"store: {printable(shown_url(settings.store))}{text}")
    if unread:
        complain(f"not read: {names_text(unread, LONGEST_LINE)}; start again to read it once it is complete")
    for problem in problems:
        complain(problem)
    status = 1 if problems else 0
    document |= {"exit_status": status, "replaced_in_store": replaced}
    more = {
        "guessed_tools": guesses,
        "unread": list(unread),
        "to_read": None if to_read is None else list(map(_to_read, to_read)),
    }
    write_run_file(settings.output, document | more)
    return status


def _difference(settings: RunSettings, document: JsonObject, rows: Sequence[MetricsByAppVersionRow]) -> str:
    """Returns the lines about the difference between two versions, or from the baseline."""
    versions = versions_of(rows)
    if settings.is_streaming or not (compared_versions(versions) or settings.baseline):
        return ""
    # Imported late: a run of one version does not wait for numpy.
    from turnwise.pipeline.comparison.run_end import difference_text

    width = shutil.get_terminal_size((_WIDTH, 24)).columns
    try:
        return difference_text(written_run(settings.output, document), versions, settings.baseline, width)
    except (ConfigError, OSError) as error:
        return f"\nnot compared: {printable(str(error))}"


def _to_read(row: ConversationRow) -> JsonObject:
    """Returns what `run.json` says of a conversation to read."""
    names = ("conversation_id", "app_version", "eval_id", "verdict", "why", "harm", "harm_term", "cluster")
    return {name: row[name] for name in names}  # type: ignore[literal-required]


def _replaced(settings: RunSettings, results: int) -> tuple[int | None, str]:
    """Returns how many results replaced one of the same run in the store, and what is said of it."""
    place = settings.place
    count = find_service("--store", place.url).replaced if place else None
    if place is None or count is None:
        return None, ""
    replaced = count(place, results)
    if replaced is None:
        return None, "\nstore: results replaced within the run: not counted"
    told = "results were replaced by others of the same conversation, case and app version"
    return replaced, f"\nstore: {replaced} {told}" if replaced else ""


def _run_document(
    settings: RunSettings, counts: RunCounts, usage: UsageByModel, problems: Sequence[str], status: int
) -> JsonObject:
    return {
        "run_id": settings.run.run_id,
        "create_time": settings.run.create_time,
        "input": list(map(shown_place, settings.input)),
        "input_format": settings.input_format,
        "eval_cases": list(map(shown_place, settings.eval_cases)),
        "output_format": settings.output_format,
        "store": shown_url(settings.store) or None,
        "config": settings.config.model_dump(mode="json"),
        "criteria": {criterion.name: criterion.model_dump(mode="json") for criterion in settings.criteria},
        "versions": {
            "turnwise": version("turnwise"),
            "apache-beam": beam.__version__,
            "python": sys.version.split()[0],
        },
        "max_failure_ratio": settings.max_failure_ratio,
        "counts": counts,
        "judge": judge_document(settings, usage),
        "problems": list(problems),
        "exit_status": status,
    }
