"""Reports on a finished run: text on the terminal, `run.json`, exit status."""

import shutil
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version

import apache_beam as beam
from msgspec import to_builtins

from turnwise.pipeline.batch.execution import judge_usage
from turnwise.pipeline.io.listing import join_path, path_exists
from turnwise.pipeline.io.run_writer import Finished, read_run_file
from turnwise.pipeline.io.sinks.base import complete_service, find_service
from turnwise.pipeline.io.terminal import LONGEST_LINE, complain, names_text, printable, say
from turnwise.pipeline.report.gate import rule_problems
from turnwise.pipeline.report.terminal import (
    Figures,
    gate_problems,
    guesses_by_tool,
    joint_document,
    judge_document,
    records_by_worker,
    run_counts,
    summary_text,
    usage_of,
    versions_of,
)
from turnwise.pipeline.runs.directory import written_run
from turnwise.pipeline.settings.run import RunSettings
from turnwise.pipeline.store.urls import shown_place
from turnwise.schemas.config import ConfigError
from turnwise.schemas.jsonio import JsonObject, shown_url
from turnwise.schemas.rows import MetricsByAppVersionRow
from turnwise.schemas.run import RUN_FILE, InputFiles, time_text
from turnwise.transforms.decisions.comparison.collect import compared_versions

_WIDTH = 110


def conclude(settings: RunSettings, finished: Finished, inputs: InputFiles | None = None) -> JsonObject:
    """Returns the content of a batch run's `run.json`, when its tables are written."""
    counts, usage = run_counts(finished.counts), judge_usage(finished.counts)
    guesses, workers = guesses_by_tool(finished.counts), records_by_worker(finished.counts)
    place = settings.place
    not_stored = complete_service(place, finished.stored) if place else ()
    figures = Figures(
        counts,
        usage,
        guesses,
        to_read=finished.to_read,
        workers=workers,
        problems=not_stored,
        joint=joint_document(settings, finished.counts),
    )
    document = run_document(settings, figures, finished.versions, finished.tables)
    document |= {"input_files": to_builtins(inputs)}
    record = find_service("--store", place.url).record if place else None
    if place and record:
        record.complete(place, document)
    return document


def report_batch(settings: RunSettings) -> int:
    """Reports on a finished batch run by what it wrote.

    Returns:
        The exit status.

    Raises:
        OSError: It left no run.json, another run has replaced it, or it cannot be read back.
    """
    document = _own_document(settings)
    try:
        rows = written_run(settings.output, document).metrics()
    except ConfigError as error:  # what was written cannot be read back: no fault of the options
        raise OSError(str(error)) from None
    return report(settings, _figures(document), rows, document)


def _own_document(settings: RunSettings) -> JsonObject:
    """Returns the run.json that this execution wrote; every execution of a date has the same run_id."""
    own = settings.run
    document = read_run_file(settings.output) if path_exists(join_path(settings.output, RUN_FILE)) else {}
    run_id, create_time = document.get("run_id"), document.get("create_time") or ""
    if (run_id, create_time) == (own.run_id, own.create_time):
        return document
    if not document or (run_id == own.run_id and create_time < own.create_time):
        raise OSError(f"{settings.output}: the run has ended, but left no run.json")
    raise OSError(f"{settings.output}: another run, {run_id} of {create_time}, has replaced this one")


def _figures(document: JsonObject) -> Figures:
    usage = {model: usage_of(figures) for model, figures in document["judge"].get("usage", {}).items()}
    joint = {key: document["judge"].get(key, {}) for key in ("not_applicable", "panels", "cascades")}
    return Figures(
        document["counts"], usage, document["guessed_tools"], to_read=document["to_read"], joint=joint
    )


def run_document(
    settings: RunSettings, figures: Figures, rows: Sequence[MetricsByAppVersionRow], tables: JsonObject
) -> JsonObject:
    """Returns the content of `run.json`, when the tables of the run are written.

    Args:
        settings: Settings of the run.
        figures: Figures of the run.
        rows: Rows of `metrics_by_app_version` over the whole run.
        tables: Where the tables are: `folder` and, of a batch, `files`.
    """
    problems = [*figures.problems, *gate_problems(settings, figures.counts, rows)]
    document = _document(settings, figures, rows, problems, tables)
    problems += rule_problems(settings, document)
    place = settings.place
    replaced = find_service("--store", place.url).replaced if place else None
    return document | {
        "problems": problems,
        "exit_status": 1 if problems else 0,
        "replaced_in_store": replaced(place, figures.counts["results"]) if place and replaced else None,
        "guessed_tools": figures.guesses,
        "unread": list(figures.unread),
        "to_read": None if figures.to_read is None else list(map(_to_read, figures.to_read)),
    }


def report(
    settings: RunSettings, figures: Figures, rows: Sequence[MetricsByAppVersionRow], document: JsonObject
) -> int:
    """Prints the report of a finished run and returns its exit status.

    Args:
        settings: Settings of the run.
        figures: Figures of the run.
        rows: Rows of `metrics_by_app_version` over the whole run.
        document: Content of `run.json`.
    """
    say(summary_text(settings, figures._replace(difference=_difference(settings, document, rows)), rows))
    tables = "" if document["folder"] == "." else f"; tables in {document['folder']}"
    say(f"files: {printable(settings.output)}{tables}")
    if settings.store:
        say(f"store: {printable(shown_url(settings.store))}{_replaced_text(settings, document)}")
    if figures.unread:
        names = names_text(figures.unread, LONGEST_LINE)
        complain(f"not read: {names}; start again to read it once it is complete")
    for problem in document["problems"]:
        complain(problem)
    status: int = document["exit_status"]
    return status


def _difference(settings: RunSettings, document: JsonObject, rows: Sequence[MetricsByAppVersionRow]) -> str:
    versions = versions_of(rows)
    if settings.is_streaming or not (compared_versions(versions) or settings.baseline):
        return ""
    # Imported late: a run of one version does not wait for numpy.
    from turnwise.pipeline.report.comparison import difference_text

    width = shutil.get_terminal_size((_WIDTH, 24)).columns
    try:
        return difference_text(written_run(settings.output, document), versions, settings.baseline, width)
    except (ConfigError, OSError) as error:
        return f"\nnot compared: {printable(str(error))}"


def _to_read(row: Mapping[str, object]) -> JsonObject:
    names = ("conversation_id", "app_version", "eval_id", "verdict", "why", "harm", "harm_term", "cluster")
    return {name: row[name] for name in names}


def _replaced_text(settings: RunSettings, document: JsonObject) -> str:
    """Returns what is said of results that replaced others of the same run in the store."""
    count = document["replaced_in_store"]
    if count is None:
        is_counted = find_service("--store", settings.store).replaced
        return "\nstore: results replaced within the run: not counted" if is_counted else ""
    told = "results were replaced by others of the same conversation, case and app version"
    return f"\nstore: {count} {told}" if count else ""


def _document(
    settings: RunSettings,
    figures: Figures,
    rows: Sequence[MetricsByAppVersionRow],
    problems: Sequence[str],
    tables: JsonObject,
) -> JsonObject:
    return {
        "run_id": settings.run.run_id,
        "create_time": settings.run.create_time,
        "end_time": time_text(datetime.now(UTC)),
        "date": settings.date,
        **_inputs(settings),
        **tables,
        **_setup(settings),
        "counts": figures.counts,
        "records_by_worker": dict(figures.workers or {}),
        "judge": judge_document(settings, figures.usage, rows, figures.joint),
        "problems": list(problems),
        "exit_status": 1 if problems else 0,
    }


def begun_document(settings: RunSettings) -> JsonObject:
    """Returns what is known of `run.json` when a run begins."""
    run = settings.run
    begun = {"run_id": run.run_id, "create_time": run.create_time, "date": settings.date}
    return begun | _inputs(settings) | _setup(settings) | {"judge": judge_document(settings, {}, ())}


def _inputs(settings: RunSettings) -> JsonObject:
    return {
        "input": list(map(shown_place, settings.input)),
        "input_format": settings.input_format,
        "eval_cases": list(map(shown_place, settings.eval_cases)),
        "output_format": settings.output_format,
    }


def _setup(settings: RunSettings) -> JsonObject:
    config = settings.config.model_dump(mode="json")
    config["judge"]["cache"] = shown_place(config["judge"]["cache"] or "") or None
    return {
        "store": shown_url(settings.store) or None,
        "config": config,
        "criteria": {criterion.name: criterion.model_dump(mode="json") for criterion in settings.criteria},
        "versions": {
            "turnwise": version("turnwise"),
            "apache-beam": beam.__version__,
            "python": sys.version.split()[0],
        },
        "max_failure_ratio": settings.max_failure_ratio,
    }
