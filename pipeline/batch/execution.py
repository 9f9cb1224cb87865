"""Makes pipelines, runs them to their end, here or on remote workers, and says whether a run may begin."""

import logging
import re
import shutil
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr
from traceback import format_exception
from typing import Any, NamedTuple, TextIO, cast

import apache_beam as beam
import grpc
from apache_beam.metrics.metric import MetricsFilter
from apache_beam.options import pipeline_options as beam_options
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.runner import PipelineResult, PipelineState

from turnwise.pipeline.batch.process import calm_collector
from turnwise.pipeline.io import run_writer
from turnwise.pipeline.io.bigquery_source import bounded, prepare_query
from turnwise.pipeline.io.files import file_patterns, holds_unread, list_inputs, names_nothing
from turnwise.pipeline.io.sources import BigQuerySource, FileSource, Source
from turnwise.pipeline.io.terminal import complain, complain_at_length
from turnwise.pipeline.report.terminal import UsageByModel
from turnwise.pipeline.runs.directory import open_run
from turnwise.pipeline.settings.options import is_bigquery
from turnwise.pipeline.settings.remote_workers import is_in_process
from turnwise.pipeline.settings.run import RunSettings
from turnwise.schemas.config import ConfigError
from turnwise.schemas.jsonio import counted
from turnwise.schemas.registry import error_text, plugin_place
from turnwise.schemas.run import RUN_FILE, InputFiles, files_changed
from turnwise.transforms.beam.steps import JUDGE_USAGE, NAMESPACE, UNUSABLE
from turnwise.transforms.judging.backends.base import AuthenticationError, one_line
from turnwise.transforms.judging.judges import JUDGING
from turnwise.transforms.judging.limits import JudgeUsage
from turnwise.transforms.judging.setup import BATCHES_GO_ON, WAITING, close_judges


def run_to_the_end(pipeline: beam.Pipeline, is_worker: bool = False) -> PipelineResult:
    """Runs a pipeline and waits for its end; for workers, the process that ends them says that it waits.

    Raises RemoteRunError if workers outside this process failed, AuthenticationError if the judge was
    refused, ConfigError if a setting cannot be used, OSError if a disk or network failed, KeyboardInterrupt
    after a signal, and SystemExit if code of a plugin raised it.
    """
    calm_collector()
    # Beam also logs, with a traceback, every error that it raises.
    for name in ("common", "direct.executor"):
        logging.getLogger(f"apache_beam.runners.{name}").setLevel(logging.CRITICAL)
    try:
        if not is_in_process(pipeline.runner):
            return run_remotely(pipeline)
        result = pipeline.run()
        result.wait_until_finish()
        return result
    except RemoteRunError:
        raise
    except (AuthenticationError, ConfigError, OSError) as error:
        if isinstance(error, AuthenticationError):
            close_judges()  # what is in flight is refused, too: nobody is told to wait for it
        kind = next(kind for kind in (AuthenticationError, ConfigError, OSError) if isinstance(error, kind))
        # Beam appends the step to the message.
        message = str(error).partition(" [while running")[0]
        raise kind(f"{message}{plugin_place(error)}") from None
    except Exception as error:
        if isinstance(error, RuntimeError) and "KeyboardInterrupt" in str(error):
            raise KeyboardInterrupt from None
        # Beam appends the step, or wraps an error that it cannot recreate.
        cause = error.__cause__ or error.__context__ or error
        if isinstance(cause, Exception) and (line := plugin_place(cause)):
            raise OSError(f"{error_text(cause)}{line}") from error
        raise (cause if isinstance(cause, OSError | SystemExit) else error) from None
    finally:
        if JUDGING.asking and not is_worker:
            complain(BATCHES_GO_ON if JUDGING.jobs else WAITING)
        close_judges()


def only_translates(options: PipelineOptions) -> bool:
    """Returns whether the pipeline is only translated for a runner, not run."""
    is_template = options.view_as(beam_options.GoogleCloudOptions).template_location is not None
    return is_template or bool(options.view_as(beam_options.TestOptions).dry_run)


def translate(pipeline: beam.Pipeline) -> None:
    """Translates a pipeline without running it, and says so. Only Dataflow's runner does this in `run`."""
    if type(pipeline.runner).__name__ == "DataflowRunner":
        pipeline.run()
    else:
        pipeline.to_runner_api()
    print("the pipeline was translated; nothing was run")


class BeamOptions(PipelineOptions):
    """Beam's options, each view of which is made once.

    Beam asks for several hundred views while it builds a pipeline, and would parse the command line for each.
    """

    def view_as(self, cls: Any) -> Any:
        """Returns a view on these options, which shares their values."""
        views = self.__dict__.setdefault("_views", {})
        if cls not in views:
            views[cls] = super().view_as(cls)
        return views[cls]

    def __getstate__(self) -> dict[str, Any]:
        """Leaves out the views: Beam copies the options, and a copy makes its own."""
        return {name: value for name, value in super().__getstate__().items() if name != "_views"}


@contextmanager
def made_pipeline(options: PipelineOptions) -> Iterator[beam.Pipeline]:
    """Makes a pipeline, and in the end removes the directory that Beam made for it.

    Beam removes it only when the pipeline has run, which one that is refused or only translated does not.
    """
    pipeline = beam.Pipeline(options=options)
    try:
        yield pipeline
    finally:
        shutil.rmtree(pipeline.local_tempdir, ignore_errors=True)


_OF_STREAMS = (run_writer.PROGRESS_FILE, run_writer.RECEIVED_FILE, run_writer.ALERTS_FILE)


def replaces_earlier(settings: RunSettings) -> bool:
    """Returns whether a run may replace an earlier one in its output directory.

    It may with `--overwrite`. A run with a date also replaces itself, and what batches that did not finish
    left. Raises ConfigError if it meets a finished run with another id, or of another date.
    """
    if settings.overwrite or settings.date is None:
        return settings.overwrite
    names = [path.rsplit("/", 1)[-1] for path in run_writer.earlier_files(settings.output)]
    if RUN_FILE not in names:
        return not any(name.startswith(_OF_STREAMS) for name in names)
    try:
        document = run_writer.read_run_file(settings.output)
        run_id, date = document.get("run_id"), document.get("date")
    except (ValueError, AttributeError):
        run_id, date = "of a broken run.json", None
    if run_id != settings.run.run_id:
        what = f"holds the run {run_id}, not {settings.run.run_id}: inputs, eval cases or config are others"
    elif date != settings.date:
        what = f"holds the run {run_id} of {date}, not of {settings.date}"
    else:
        return True
    steps = "--overwrite replaces it, and another --output keeps both"
    raise ConfigError(f"--output {settings.output}: {what}; {steps}")


_REJECTED = "unread_records"


def log_source(settings: RunSettings) -> Source:
    """Returns the source of all logs of a run; raises ConfigError if one does not exist or cannot be read."""
    limit, spread = settings.max_record_bytes, settings.is_distributed
    patterns = file_patterns("--input", [path for path in settings.input if not is_bigquery(path)])
    files = FileSource(patterns, limit, _REJECTED, spread)
    rows = [path for path in settings.input if is_bigquery(path)]
    if not rows:
        return files
    try:
        queries = bounded([prepare_query(path) for path in dict.fromkeys(rows)], settings.max_bigquery_gb)
    except ConfigError as error:
        raise ConfigError(f"--input: {error}") from None
    for query in queries:
        complain(query.plan)
    return BigQuerySource(queries, files if patterns else None, limit, _REJECTED, spread)


FIRST_RUN = "first run of this date"


class Again(NamedTuple):
    """Whether a date runs again, and why; status of the run that stays (2: none), or nothing was due."""

    runs: bool
    why: str
    status: int = 0
    is_quiet: bool = False


def why_again(settings: RunSettings, may_be_empty: bool) -> Again:
    """Compares the input files with those of the finished run in the output directory.

    A date whose input is gone keeps its run: to repeat it would lose it. `may_be_empty`: nothing was due of
    a date without input and run. Raises ConfigError if the input files cannot be listed, so that it is not
    known whether they changed, and OSError if a filesystem does not answer.
    """
    now = list_inputs([path for path in settings.input if not names_nothing(path)])
    if now is None:
        raise ConfigError("--lookback: inputs are not all files and tables: changes of others are not known")
    if not _holds_something(now, settings.input):
        may_be_empty = may_be_empty and not any(map(holds_unread, settings.input))
        return _stays_without_input(settings.output, may_be_empty, now)
    try:
        before = open_run(settings.output).document
    except ConfigError as error:
        is_first = not run_writer.earlier_files(settings.output)
        return Again(True, FIRST_RUN if is_first else f"there is no run: {error}")
    if before.input_files is None:
        return Again(True, "its run.json does not list its input files")
    if left := before.counts.get("short_of_batch"):
        return Again(True, f"batch jobs of its judge left {counted(left, 'conversation')} without a score")
    changes = files_changed(before.input_files, now)
    if changes:
        return Again(True, changes)
    why = f"{counted(now.count, 'input file')} as before"
    if before.run_id != settings.run.run_id and before.run_id.startswith(f"{settings.date}-"):
        why += "; eval cases, config or judge are others since: "
        why += f"--date {settings.date} --overwrite runs it again"
    return Again(False, "; ".join((why, *before.problems)), before.exit_status)


def why_empty(inputs: Sequence[str], output: str) -> Again | None:
    """Returns why a date without input, of which nothing was due, does not run; None: there is input."""
    now = list_inputs([path for path in inputs if not names_nothing(path)])
    if now is None or _holds_something(now, inputs):
        return None
    if any(map(holds_unread, inputs)) and not run_writer.earlier_files(output):
        return None
    return _stays_without_input(output, True, now)


def _holds_something(now: InputFiles, inputs: Sequence[str]) -> bool:
    """Returns whether there is input: no empty files, but tables: streamed rows have no bytes at first."""
    return bool(now.bytes or (now.count and any(map(is_bigquery, inputs))))


def _stays_without_input(output: str, may_be_empty: bool, now: InputFiles) -> Again:
    # A file without a byte may be what an export that died has left: it is named.
    named = f" ({now.files[0].name})" if now.files else ""
    gone = f"{counted(now.count, 'input file')} without a byte{named}" if now.count else "there is no input"
    try:
        run = open_run(output).document
        return Again(False, "; ".join((f"{gone}; its run stays", *run.problems)), run.exit_status)
    except ConfigError as error:
        if run_writer.earlier_files(output):
            return Again(False, f"{gone}, and no run: {error}", 2)
        if may_be_empty:
            return Again(False, f"{gone}, and no run: nothing was due", is_quiet=True)
        step = "--empty_dates warn lets a date of which nothing was due pass"
        return Again(False, f"{gone}, and no run: {error}; {step}", 2)


def counters(result: PipelineResult) -> dict[str, int]:
    """Returns the numbers of Beam's counters by name, for runs that write nothing."""
    counts = Counter[str]()
    for counter in result.metrics().query(MetricsFilter().with_namespace(NAMESPACE))["counters"]:
        counts[counter.key.metric.name] += counter.committed or 0
    return counts


def judge_usage(counts: Mapping[str, int]) -> UsageByModel:
    """Returns what was asked of every model, by the counts of a run."""
    usage: UsageByModel = {}
    for name, number in counts.items():
        if not name.startswith(JUDGE_USAGE):
            continue
        model, _, figure = name.removeprefix(JUDGE_USAGE).rpartition("|")
        of_model = usage.setdefault(model, JudgeUsage())
        if figure.startswith(UNUSABLE):
            of_model.unusable[figure.removeprefix(UNUSABLE)] += number  # type: ignore[index]
        else:
            setattr(of_model, figure, getattr(of_model, figure) + number)
    return usage


# Pipelines whose workers are other processes, and why one failed, in one line.

_TRACEBACK = "Traceback (most recent call last)"
_ENDS = (PipelineState.DRAINED, PipelineState.UPDATED)
_ERROR = re.compile(r"(?m)^(?!java\.|org\.|During |The above )[\w.]*(?:Error|Exception|Exit|Interrupt)\b.*")
_STEP = re.compile(r" \[while running '[^']*'\].*")
_LONGEST = 400
_NOISE = "No semi_persistent_directory found"
_TELLING_ERRORS = ("portable_runner", "apiclient")
"""Beam's modules that log the errors of a job, or of its start, which they raise as well."""
_YEARS_S = 10 * 365 * 24 * 3600


class RemoteRunError(OSError):
    """A job with other workers failed, or could not be started. The error that Beam raised is its cause."""


def run_remotely(pipeline: beam.Pipeline) -> PipelineResult:
    """Runs a job to its end, or until it is drained; raises RemoteRunError, with its address in one line."""
    job: Any = None
    try:
        with _without_tracebacks():
            _lift_deadline(pipeline)
            job = pipeline.run()
            job.wait_until_finish()
    except Exception as error:
        job = job or getattr(error, "result", None)
        if job is None or job.state not in _ENDS:
            if pipeline.options.get_all_options().get("verbose"):
                complain_at_length("".join(format_exception(error)))
            what = "the job could not be started" if job is None else "the job failed"
            address = job_address(pipeline.options, type(pipeline.runner).__name__, job)
            raise RemoteRunError(f"{what}: {address}: {cause_text(error)}") from error
    return job


def _lift_deadline(pipeline: beam.Pipeline) -> None:
    """Lets a job take longer than a request to the job service may, or raises ConnectionError without one.

    Beam gives `job_server_timeout` to the stream of a job's states, too, where the service lets it be opened
    before the job begins, and stops such a job when the time is over.
    """
    # Imported late: no run in this process needs it.
    from apache_beam.runners.portability.portable_runner import PortableRunner

    if not isinstance(pipeline.runner, PortableRunner):
        return
    portable = pipeline.options.view_as(beam_options.PortableOptions)
    endpoint, seconds = portable.job_endpoint, portable.job_server_timeout
    if endpoint and endpoint != "embed":
        with grpc.insecure_channel(endpoint) as channel:
            try:
                grpc.channel_ready_future(channel).result(timeout=seconds)
            except grpc.FutureTimeoutError:
                raise ConnectionError(f"no answer in {seconds} s") from None
    portable.job_server_timeout = _YEARS_S


def job_address(options: PipelineOptions, kind: str, job: Any) -> str:
    """Returns where a job of a kind of runner can be looked at; `job` is Beam's result, if it was started."""
    if "Dataflow" in kind:
        cloud = options.view_as(beam_options.GoogleCloudOptions)
        page = f"https://console.cloud.google.com/dataflow/jobs/{cloud.region}"
        name = f"{page}/{job.job_id()}" if job is not None and job.has_job else page
        return f"{name}?project={cloud.project}"
    given = options.get_all_options()
    masters = {"FlinkRunner": given["flink_master"], "SparkRunner": given["spark_master_url"]}
    stated = given["job_endpoint"] or masters.get(kind)
    cluster = f"{kind} {stated}" if stated else kind
    number = getattr(job, "_job_id", None)
    return f"job {number} on {cluster}" if number else cluster


def cause_text(error: BaseException) -> str:
    """Returns the last error that a failed job names, without tracebacks and the step, in one line."""
    text = str(error).replace("\\n", "\n")
    named = _ERROR.findall(text)
    cause = named[-1] if named else text.partition(_TRACEBACK)[0].strip() or type(error).__name__
    return one_line(_STEP.sub("", cause), _LONGEST)


class _ShortText:
    """A stream that leaves out tracebacks, which Beam's worker in this process prints itself."""

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._has_skipped = stream, False

    def write(self, text: str) -> int:
        has_skipped, self._has_skipped = self._has_skipped, text.startswith(_TRACEBACK)
        is_left_out = self._has_skipped or (has_skipped and text == "\n")
        return len(text) if is_left_out else self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def _without_tracebacks() -> Iterator[None]:
    """Keeps tracebacks of runners and workers from the terminal: the failure itself is told."""
    handlers = list(logging.root.handlers)
    # It tells at the end of the process that it ends a job service.
    logging.getLogger("apache_beam.utils.subprocess_server").setLevel(logging.ERROR)
    for handler in handlers:
        handler.addFilter(_is_short)
    try:
        with redirect_stderr(cast(TextIO, _ShortText(sys.stderr))):
            yield
    finally:
        for handler in handlers:
            handler.removeFilter(_is_short)


def _is_short(record: logging.LogRecord) -> bool:
    text = record.getMessage()
    is_told_later = record.levelno >= logging.ERROR and record.module in _TELLING_ERRORS
    return record.exc_info is None and not is_told_later and _TRACEBACK not in text and _NOISE not in text
