"""Runs the batch job."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from msgspec import to_builtins

from turnwise.pipeline.batch.alerts import check_alerts, raise_alerts
from turnwise.pipeline.batch.build import build
from turnwise.pipeline.batch.execution import (
    counters,
    judge_usage,
    log_source,
    made_pipeline,
    only_translates,
    replaces_earlier,
    run_to_the_end,
    translate,
)
from turnwise.pipeline.batch.process import Interrupted, interrupted_by_signal
from turnwise.pipeline.batch.processes import run_in_workers
from turnwise.pipeline.batch.remote import RemoteRunError
from turnwise.pipeline.io.containers import join_path, path_exists
from turnwise.pipeline.io.files import file_patterns, list_inputs
from turnwise.pipeline.io.run_writer import (
    Finished,
    NullSink,
    RunSink,
    check_directory,
    clear_unfinished,
    folder_name,
    locked,
    name_full_disk,
    read_run_file,
)
from turnwise.pipeline.io.sinks.base import (
    complete_service,
    completes,
    discard_service,
    discarding,
    find_service,
    open_service,
    prepare_service,
    recorded,
)
from turnwise.pipeline.io.sources import FileSource, Source
from turnwise.pipeline.io.terminal import complain, say
from turnwise.pipeline.report.ending import begun_document, end_run, figures_of, report
from turnwise.pipeline.report.gate import check_baseline, with_baseline
from turnwise.pipeline.report.terminal import Figures, estimate_text, show_progress, usage_of
from turnwise.pipeline.runs.directory import written_run
from turnwise.pipeline.settings.options import SinkPlace, shown_address
from turnwise.pipeline.settings.remote_workers import are_elsewhere, check_access, try_staging
from turnwise.pipeline.settings.run import PREVIOUS, RunSettings, try_judge
from turnwise.schemas.config import ConfigError
from turnwise.schemas.jsonio import JsonObject, is_local, is_store_url
from turnwise.schemas.rows import ReadAgain
from turnwise.schemas.run import RUN_FILE, InputFiles
from turnwise.transforms.judging.backends.base import AuthenticationError
from turnwise.transforms.judging.setup import open_judge
from turnwise.transforms.scoring.redaction import redact_document


def run(settings: RunSettings, options: PipelineOptions) -> int:
    """Runs the batch job and reports on it.

    Returns the exit status: 0, or 1 if the run failed or missed a gate (`--max_failure_ratio`, a rule).
    Raises ConfigError if the options or inputs are wrong; nothing was run then.
    """
    if not only_translates(options):
        check_access(settings)
    logs = log_source(settings)
    cases = _case_source(settings)
    with made_pipeline(options) as pipeline:
        if settings.judge.only_estimates:
            return _estimate(pipeline, logs, cases, settings)
        if settings.baseline is not None:
            if settings.baseline == PREVIOUS and only_translates(options):
                raise ConfigError("--baseline previous: a template would keep it; name an output directory")
            settings = with_baseline(settings, begun_document(settings))
        sink = _sink(settings, options)
        if only_translates(options):
            build(pipeline, logs, cases, settings, sink)
            translate(pipeline)
            print("the pipeline was translated; nothing was run")
            return 0
        if settings.workers > 1 and isinstance(logs, FileSource):
            work = partial(run_in_workers, pipeline, logs, cases, settings, sink)
        else:
            build(pipeline, logs, cases, settings, sink)
            work = partial(_run_here, pipeline)
        with discarding(settings.store_place, goes_on=settings.is_distributed):
            return _run_checked(pipeline, settings, work)


def _run_here(pipeline: beam.Pipeline) -> None:
    with show_progress():
        run_to_the_end(pipeline)


def _run_checked(pipeline: beam.Pipeline, settings: RunSettings, work: Callable[[], None]) -> int:
    check_directory(settings.output, replaces_earlier(settings), settings.is_distributed)
    if are_elsewhere(pipeline.runner, pipeline.options):
        try_staging(pipeline.options)
    for sink_place in settings.places:
        prepare_service(sink_place)
    try_judge(settings)
    check_alerts(settings)
    keep_inputs(settings)
    open_own_judge(settings)
    with locked(settings.output, settings.run) as killed:
        check_directory(
            *(settings.output, replaces_earlier(settings), settings.is_distributed),
            was_killed=killed is not None,
        )
        _clear(settings)
        if killed and killed.run_id and settings.store_place:
            # A process that was killed could not write itself that its run broke off.
            run_id, time = killed.run_id, killed.create_time
            sink_place = settings.store_place._replace(run_id=run_id, create_time=time)
            if record := find_service("--store", sink_place.url).record:
                record.break_off(sink_place, "ERROR", "its process was killed")
        try:
            with _recorded(settings), interrupted_by_signal():
                work()
                return report_batch(settings)
        except Interrupted as error:
            _clear(settings)
            raise Interrupted(error.number, _left(settings), _kept(settings)) from None
        except RemoteRunError as error:
            _clear(settings)
            if settings.workers == 1:
                raise
            parts = filter(None, (f"{error}{_kept(settings)}", _left(settings)))
            raise RemoteRunError("; ".join(parts)) from None
        except OSError as error:
            named = name_full_disk(error, settings.output)
            if not settings.is_distributed:
                _clear(settings)
            raise named from None
        except (KeyboardInterrupt, AuthenticationError):
            _clear(settings)
            raise


def _recorded(settings: RunSettings) -> AbstractContextManager[None]:
    sink_place = settings.store_place
    record = find_service("--store", sink_place.url).record if sink_place else None
    if sink_place is None or record is None:
        return nullcontext()
    return recorded(record, sink_place, begun_document(settings), goes_on=settings.is_distributed)


def _kept(settings: RunSettings) -> str:
    """Returns what became of an interrupted run, as part of a sentence."""
    if settings.is_distributed:
        return "; the job may go on, and then ends itself"
    files = "; no file of this run was kept"
    return files if is_local(settings.output) else "; its files are named by no run.json, and removed later"


def _clear(settings: RunSettings) -> None:
    """Removes what unfinished runs left in a local directory; elsewhere another one may be writing."""
    if is_local(settings.output):
        clear_unfinished(settings.output)


def _case_source(settings: RunSettings) -> Source | None:
    paths = tuple(path for path in settings.eval_cases if not is_store_url(path))
    patterns = file_patterns("--eval_cases", paths)
    files = FileSource(patterns, settings.max_record_bytes, "rejected_cases") if patterns else None
    if len(paths) == len(settings.eval_cases):
        return files
    from turnwise.pipeline.io.store import with_stores

    return with_stores(files, settings)


def _sink(settings: RunSettings, options: PipelineOptions) -> RunSink:
    services = [open_service(sink_place) for sink_place in settings.places]
    staging = [sink_place for sink_place in settings.places if completes(sink_place)]
    discard = partial(_discard, staging) if staging else None
    inputs = _listed(settings) if settings.date and not only_translates(options) else None
    concluded = partial(conclude, settings, inputs=inputs)
    folder = folder_name() if settings.workers > 1 else None
    return RunSink(
        settings.output, settings.output_format, concluded, services, discard=discard, folder=folder
    )


def _discard(places: Sequence[SinkPlace]) -> None:
    for sink_place in places:
        discard_service(sink_place)


def _listed(settings: RunSettings) -> InputFiles | None:
    """Returns the input files of a run with a date; raises ConfigError if a path names none."""
    for path in settings.input:
        listed = list_inputs([path])
        if listed is not None and not listed.count:
            raise ConfigError(f"--input {shown_address(path)}: there is no input of {settings.date}")
    return list_inputs(settings.input)


def _left(settings: RunSettings) -> str:
    sink_place = settings.store_place
    return find_service("--store", sink_place.url).left(sink_place) if sink_place else ""


def conclude(settings: RunSettings, finished: Finished, inputs: InputFiles | None = None) -> JsonObject:
    """Returns the content of a batch run's `run.json`, when its tables are written."""
    sink_place = settings.store_place
    figures = figures_of(settings, finished.counts, judge_usage(finished.counts), finished.versions)
    lost = [
        line
        for number, service in enumerate(settings.places)
        for line in complete_service(service, [stored for of, stored in finished.stored if of == number])
    ]
    figures = figures._replace(to_read=finished.to_read, problems=lost)
    alerts, problems = raise_alerts(settings, finished.versions, begun_document(settings))
    figures = figures._replace(problems=(*figures.problems, *problems))
    document = end_run(settings, figures, finished.tables, partial(written_run, settings.output))
    document |= {"alerts": to_builtins(alerts), "input_files": to_builtins(inputs)}
    document = redact_document(document, settings.config.redact)
    record = find_service("--store", sink_place.url).record if sink_place else None
    if sink_place and record:
        record.complete(sink_place, document)
    return document


def report_batch(settings: RunSettings) -> int:
    """Reports on a finished batch run by what it wrote, perhaps in other processes.

    Returns the exit status. Raises OSError if the run left no run.json, another one has replaced it, or it
    cannot be read back.
    """
    run_of_batch = settings.run
    document = read_run_file(settings.output) if path_exists(join_path(settings.output, RUN_FILE)) else {}
    run_id, create_time = document.get("run_id"), document.get("create_time") or ""
    # Every execution of a date has the same run_id.
    if (run_id, create_time) != (run_of_batch.run_id, run_of_batch.create_time):
        if not document or (run_id == run_of_batch.run_id and create_time < run_of_batch.create_time):
            raise OSError(f"{settings.output}: the run has ended, but left no run.json")
        raise OSError(f"{settings.output}: another run, {run_id} of {create_time}, has replaced this one")
    try:
        rows = ReadAgain(partial(written_run(settings.output, document).rows, "metrics_by_app_version"))
        for _ in rows:
            pass
    except ConfigError as error:  # what was written cannot be read back: no fault of the options
        raise OSError(str(error)) from None
    judge = document["judge"]
    figures = Figures(
        document["counts"],
        {model: usage_of(numbers) for model, numbers in judge.get("usage", {}).items()},
        document["guessed_tools"],
        rows,
        to_read=document["to_read"],
        joint={key: judge.get(key, {}) for key in ("not_applicable", "panels", "cascades")},
        redacted=document.get("redacted", {}),
        absent_paths=document.get("absent_paths", ()),
    )
    status = report(settings, figures, document)
    for line in (document["alerts"] or {}).get("untested", ()):
        complain(f"alert rules not tested: {line}")
    return status


def _estimate(pipeline: beam.Pipeline, logs: Source, cases: Source | None, settings: RunSettings) -> int:
    build(pipeline, logs, cases, settings, NullSink())
    with interrupted_by_signal(), show_progress():
        result = run_to_the_end(pipeline)
    say(estimate_text(settings, judge_usage(counters(result))))
    return 0


def open_own_judge(settings: RunSettings) -> None:
    """Opens the judge that this process will ask, so that one that cannot be opened ends no run midway."""
    if settings.judged and settings.judge.kind.connect and not settings.is_distributed:
        open_judge(settings.judge)


def keep_inputs(settings: RunSettings) -> None:
    """Raises ConfigError if --overwrite could remove an input, or the baseline cannot be read."""
    if settings.baseline is not None:
        check_baseline(settings)
    output = Path(settings.output).resolve()
    # A baseline may be DIR#VERSION.
    baseline = settings.baseline or ""
    places = filter(None, (baseline, baseline.rpartition("#")[0]))
    for path in (*settings.input, *settings.eval_cases, *places):
        folder = Path(path).resolve()
        may_remove = settings.overwrite or settings.date
        if may_remove and is_local(path) and output in (folder, *folder.parents):
            raise ConfigError(
                f"--output {settings.output}: holds the input {path}, which --overwrite could remove"
            )
