"""What is told of jobs that failed on other runners: their address and the last error, in one line."""

import io
import logging
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.runner import PipelineResult, PipelineRunner

from turnwise.pipeline.batch.remote import RemoteRunError, cause_text, job_address, run_remotely

CLOUD = ["--project=some-project", "--region=europe-west4"]


class EndedJob(PipelineResult):
    """A job of Dataflow, of which Beam raises an error when it is waited for."""

    has_job = True

    def job_id(self) -> str:
        return "2026-11-22_01"

    def wait_until_finish(self, duration: Any = None) -> str:
        raise Exception(
            f"Dataflow pipeline failed. State: {self.state}, Error:\nTraceback (most recent call last):\n"
            "  File \"x.py\"\nValueError: bad \u202e row [while running 'ScoreTurns-ptransform-9']\n"
        )


class FakeDataflowRunner(PipelineRunner):
    """Starts nothing, and returns a job in the state it is made with."""

    def __init__(self, state: str) -> None:
        self._ended = EndedJob(state)

    def run_pipeline(self, pipeline: beam.Pipeline, options: PipelineOptions) -> PipelineResult:
        return self._ended


class RefusingDataflowRunner(PipelineRunner):
    """Cannot start a job."""

    def run_pipeline(self, pipeline: beam.Pipeline, options: PipelineOptions) -> PipelineResult:
        record = {
            "name": "apache_beam",
            "levelno": logging.ERROR,
            "levelname": "ERROR",
            "module": "apiclient",
        }
        logging.root.handle(logging.makeLogRecord({**record, "msg": "details of server error: 403"}))
        raise RuntimeError("403 the caller does not have permission")


def test_what_beam_logs_of_a_refused_job_is_told_once():
    told = io.StringIO()
    handler = logging.StreamHandler(told)
    logging.root.addHandler(handler)
    try:
        with pytest.raises(RemoteRunError, match=r"could not be started: .*: 403 the caller does not have"):
            run_remotely(beam.Pipeline(RefusingDataflowRunner(), PipelineOptions(CLOUD)))
    finally:
        logging.root.removeHandler(handler)
    assert told.getvalue() == ""


def run(state: str) -> Any:
    pipeline = beam.Pipeline(FakeDataflowRunner(state), PipelineOptions(CLOUD))
    return run_remotely(pipeline)


def test_a_dataflow_job_is_told_with_its_page():
    with pytest.raises(RemoteRunError) as caught:
        run("FAILED")
    page = "https://console.cloud.google.com/dataflow/jobs/europe-west4/2026-11-22_01?project=some-project"
    assert str(caught.value) == f"the job failed: {page}: ValueError: bad \u202e row"
    assert "Traceback" in str(caught.value.__cause__)


@pytest.mark.parametrize("state", ["DRAINED", "UPDATED"])
def test_a_job_that_was_drained_has_ended(state):
    assert run(state).state == state


def test_addresses_of_clusters():
    flink = PipelineOptions(["--flink_master=flink:8081"])
    assert job_address(flink, "FlinkRunner", None) == "FlinkRunner flink:8081"
    spark = PipelineOptions(["--spark_master_url=spark://h:7077"])
    assert job_address(spark, "SparkRunner", None) == "SparkRunner spark://h:7077"
    assert job_address(PipelineOptions(CLOUD), "DataflowRunner", None).endswith(
        "europe-west4?project=some-project"
    )
    assert job_address(PipelineOptions([]), "PrismRunner", None) == "PrismRunner"


JAVA = """java.lang.RuntimeException: Error received from SDK harness: Traceback (most recent call last):
  File "sdk_worker.py", line 310, in _execute
OSError: [Errno 28] No space left on device [while running 'Write']

\tat org.apache.beam.sdk.util.MoreFutures.get(MoreFutures.java:61)
Caused by: java.lang.IllegalStateException: closed
"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (JAVA, "OSError: [Errno 28] No space left on device"),
        ("", "RuntimeError"),
        ("x" * 1000, "x" * 399 + "…"),
    ],
)
def test_the_last_error_is_told(text, said):
    assert cause_text(RuntimeError(text)) == said
