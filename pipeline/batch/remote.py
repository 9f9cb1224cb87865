"""Runs pipelines whose workers are other processes, and says in one line why one failed."""

import logging
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from traceback import format_exception
from typing import Any, TextIO, cast

import apache_beam as beam
import grpc
from apache_beam.options.pipeline_options import (
    FlinkRunnerOptions,
    GoogleCloudOptions,
    PipelineOptions,
    PortableOptions,
    SparkRunnerOptions,
)
from apache_beam.runners.runner import PipelineResult, PipelineState

from turnwise.pipeline.io.terminal import complain_at_length
from turnwise.transforms.judging.backends.base import one_line

_TRACEBACK = "Traceback (most recent call last)"
_ENDS = (PipelineState.DRAINED, PipelineState.UPDATED)
_ERROR = re.compile(
    r"^(?!java\.|org\.|During |The above )[\w.]*(?:Error|Exception|Exit|Interrupt)\b.*", re.MULTILINE
)
_STEP = re.compile(r" \[while running '[^']*'\].*")
_LONGEST = 400
_NOISE = "No semi_persistent_directory found"
_TELLING_ERRORS = ("portable_runner", "apiclient")
"""Beam's modules that log the errors of a job, or of its start, which they raise as well."""
_YEARS_S = 10 * 365 * 24 * 3600


class RemoteRunError(OSError):
    """A job with other workers failed, or could not be started. The error that Beam raised is its cause."""


def run_remotely(pipeline: beam.Pipeline) -> PipelineResult:
    """Runs a pipeline on its runner and waits for its end; a job that is drained has ended.

    Raises RemoteRunError if it failed, in one line with the job's address; with `--verbose`, the traceback
    is printed.
    """
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
    """Lets a job take longer than a request to the job service may.

    Beam gives `job_server_timeout` to the stream of a job's states, too, where the service lets it be opened
    before the job begins, and stops such a job when the time is over. Raises ConnectionError if the job
    service did not answer in that time.
    """
    # Imported late: no run in this process needs it.
    from apache_beam.runners.portability.portable_runner import PortableRunner

    if not isinstance(pipeline.runner, PortableRunner):
        return
    portable = pipeline.options.view_as(PortableOptions)
    endpoint, seconds = portable.job_endpoint, portable.job_server_timeout
    if endpoint and endpoint != "embed":
        with grpc.insecure_channel(endpoint) as channel:
            try:
                grpc.channel_ready_future(channel).result(timeout=seconds)
            except grpc.FutureTimeoutError:
                raise ConnectionError(f"no answer in {seconds} s") from None
    portable.job_server_timeout = _YEARS_S


def job_address(options: PipelineOptions, kind: str, job: Any) -> str:
    """Returns where a job can be looked at: a URL of Google's console, or its id and the cluster.

    `kind` is the name of the runner, `job` Beam's result of the pipeline; None: it was not started.
    """
    if "Dataflow" in kind:
        cloud = options.view_as(GoogleCloudOptions)
        page = f"https://console.cloud.google.com/dataflow/jobs/{cloud.region}"
        name = f"{page}/{job.job_id()}" if job is not None and job.has_job else page
        return f"{name}?project={cloud.project}"
    stated = options.view_as(PortableOptions).job_endpoint
    if not stated and kind == "FlinkRunner":
        stated = options.view_as(FlinkRunnerOptions).flink_master
    if not stated and kind == "SparkRunner":
        stated = options.view_as(SparkRunnerOptions).spark_master_url
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
    is_told_at_the_end = record.levelno >= logging.ERROR and record.module in _TELLING_ERRORS
    return (
        record.exc_info is None and not is_told_at_the_end and _TRACEBACK not in text and _NOISE not in text
    )
