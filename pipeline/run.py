"""Runs a pipeline and accounts for everything that went in."""

import gc
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import apache_beam as beam
from apache_beam.metrics.metric import MetricsFilter
from apache_beam.options.pipeline_options import GoogleCloudOptions, PipelineOptions, TestOptions
from apache_beam.runners.runner import PipelineResult

from pipeline.build import REASONS, VERSION_MARK, VERSIONS, build
from pipeline.directory import check_directory, clear_directory, read_rows, write_run_file
from pipeline.live import show_progress
from pipeline.lock import locked
from pipeline.report import balance_text, version_table
from pipeline.settings import Settings
from pipeline.sinks import FileSink
from pipeline.sources import FileSource, file_patterns
from schemas.config import ConfigError
from schemas.values import JsonObject
from transforms.counting import NAMESPACE

_OBJECTS_BETWEEN_COLLECTIONS = 50_000
_COUNTERS = (
    "records",
    "unread_records",
    "parsed_records",
    "lost_records",
    "conversations",
    "lost_conversations",
    "results",
    "cases",
    "lost_cases",
    "unused_cases",
    "joined_entries",
)


def run(settings: Settings, options: PipelineOptions) -> int:
    """Runs the main job and reports on it.

    Returns:
        Exit status: 0, or 1 if a gate of the run (`--max_failure_ratio`, `--fail_on`) was missed.

    Raises:
        ConfigError: Something the user must put right; nothing was run.
    """
    limit, spread = settings.max_record_bytes, settings.is_distributed
    logs = FileSource(file_patterns("--input", settings.input), limit, "unread_records", spread)
    case_patterns = file_patterns("--eval_cases", settings.eval_cases)
    cases = FileSource(case_patterns, limit, "lost_cases") if case_patterns else None
    pipeline = beam.Pipeline(options=options)
    build(pipeline, logs, cases, settings, FileSink(settings.output, settings.output_format))
    if _only_translates(options):
        _translate(pipeline)
        print("the pipeline was translated; nothing was run")
        return 0
    check_directory(settings.output, settings.overwrite)
    _keep_inputs(settings)
    with locked(settings.output):
        check_directory(settings.output, settings.overwrite)
        clear_directory(settings.output)
        try:
            result = _run_to_the_end(pipeline)
        except KeyboardInterrupt:
            clear_directory(settings.output)
            raise
        return report(settings, run_counts(result))


def _run_to_the_end(pipeline: beam.Pipeline) -> PipelineResult:
    calm_collector()
    try:
        with show_progress():
            result = pipeline.run()
            result.wait_until_finish()
            return result
    except RuntimeError as error:
        if "KeyboardInterrupt" in str(error):
            raise KeyboardInterrupt from None
        raise


def _keep_inputs(settings: Settings) -> None:
    """Raises ConfigError if --overwrite could remove what is to be read."""
    output = Path(settings.output).resolve()
    for path in (*settings.input, *settings.eval_cases):
        place = Path(path).resolve()
        if settings.overwrite and "://" not in path and output in (place, *place.parents):
            raise ConfigError(
                f"--output {settings.output}: holds the input {path}, which --overwrite would endanger"
            )


def calm_collector() -> None:
    """Makes the garbage collector run seldom: records live shortly and hold no cycles, modules live on."""
    gc.freeze()
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS, 20, 20)


def _only_translates(options: PipelineOptions) -> bool:
    is_template = options.view_as(GoogleCloudOptions).template_location is not None
    return is_template or bool(options.view_as(TestOptions).dry_run)


def _translate(pipeline: beam.Pipeline) -> None:
    """Translates a pipeline without running it; of Beam's runners only Dataflow's can do that itself."""
    if type(pipeline.runner).__name__ == "DataflowRunner":
        pipeline.run()
    else:
        pipeline.to_runner_api()


def run_counts(result: PipelineResult) -> JsonObject:
    """Returns how many records, conversations and results there were, and how many were lost where."""
    counters = result.metrics().query(MetricsFilter().with_namespace(NAMESPACE))["counters"]
    found = dict.fromkeys(_COUNTERS, 0)
    for counter in counters:
        found[counter.key.metric.name] += counter.committed or 0
    unread = found.pop("unread_records")
    found["lost_records"] += unread
    found["records"] += unread
    return {**found, "failures": _counted(result, REASONS), "failures_by_version": _by_version(result)}


def _by_version(result: PipelineResult) -> dict[str, int]:
    counts = _counted(result, VERSIONS)
    return {name.removeprefix(VERSION_MARK): count for name, count in counts.items()}


def _counted(result: PipelineResult, namespace: str) -> dict[str, int]:
    """Returns the counters of a namespace, the largest first."""
    counters = result.metrics().query(MetricsFilter().with_namespace(namespace))["counters"]
    counts = {counter.key.metric.name: counter.committed or 0 for counter in counters}
    return dict(sorted(counts.items(), key=lambda entry: (-entry[1], entry[0])))


def report(settings: Settings, counts: JsonObject) -> int:
    """Prints the table and the balance, writes `run.json` and returns the exit status."""
    rows = read_rows(settings.output, "metrics_by_app_version", settings.output_format)
    problems = gate_problems(settings, counts, rows)
    names = [criterion.name for criterion in settings.criteria]
    print(version_table(rows, names, counts["failures_by_version"]) if rows else "no conversation was scored")
    print(f"\n{balance_text(counts)}")
    print(f"files: {settings.output}")
    for problem in problems:
        print(f"turnwise: {problem}", file=sys.stderr)
    status = 1 if problems else 0
    write_run_file(settings.output, _run_document(settings, counts, problems, status))
    return status


def _run_document(settings: Settings, counts: JsonObject, problems: Sequence[str], status: int) -> JsonObject:
    return {
        "run_id": settings.run.run_id,
        "create_time": settings.run.create_time,
        "input": list(settings.input),
        "input_format": settings.input_format,
        "eval_cases": list(settings.eval_cases),
        "output_format": settings.output_format,
        "config": settings.config.model_dump(mode="json"),
        "criteria": {criterion.name: criterion.model_dump(mode="json") for criterion in settings.criteria},
        "versions": {
            "turnwise": version("turnwise"),
            "apache-beam": beam.__version__,
            "python": sys.version.split()[0],
        },
        "counts": counts,
        "problems": list(problems),
        "exit_status": status,
    }


def gate_problems(settings: Settings, counts: JsonObject, rows: Sequence[JsonObject]) -> list[str]:
    """Returns why the run fails, one line each; empty: it does not."""
    problems = []
    if not _is_balanced(counts):
        problems.append(f"the run lost track of something: {balance_text(counts)}")
    lost = counts["lost_records"] + counts["lost_conversations"]
    total = counts["lost_records"] + counts["conversations"]
    limit = settings.max_failure_ratio
    if limit is not None and total and lost / total > limit:
        problems.append(
            f"{lost} of {total} records and conversations failed, more than --max_failure_ratio {limit:g}"
        )
    return problems + [line for name in settings.fail_on for line in _gate(name, settings, counts, rows)]


def _is_balanced(counts: JsonObject) -> bool:
    conversations = counts["results"] + counts["lost_conversations"]
    records = counts["parsed_records"] + counts["lost_records"]
    return bool(conversations == counts["conversations"] and records == counts["records"])


def _gate(name: str, settings: Settings, counts: JsonObject, rows: Sequence[JsonObject]) -> list[str]:
    own = [row for row in rows if row["criterion"] == name and row["level"] == "conversation"]
    failed = sum(row["fail_count"] for row in own)
    undecided = sum(row["count"] - row["pass_count"] - row["fail_count"] for row in own)
    undecided += sum(row["errors"] for row in rows if row["criterion"] == name)
    undecided += counts["lost_cases"] + counts["unused_cases"]
    if settings.max_failure_ratio is None:
        undecided += counts["lost_records"] + counts["lost_conversations"]
    if not sum(row["count"] for row in own):
        return [f"{name}: nothing was scored"]
    if not failed and not undecided:
        return []
    return [f"{name}: {failed} failed, {undecided} not decided"]
