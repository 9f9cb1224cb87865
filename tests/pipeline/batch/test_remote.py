"""What is told of jobs that failed on other runners: their address and the last error, in one line."""

import io
import json
import logging
from functools import partial
from pathlib import Path
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.runner import PipelineResult, PipelineRunner

from tests.tables import document_of
from turnwise.pipeline.batch.build import build
from turnwise.pipeline.batch.execution import RemoteRunError, cause_text, job_address, run_remotely
from turnwise.pipeline.batch.run import conclude
from turnwise.pipeline.io.files import file_patterns
from turnwise.pipeline.io.run_writer import ConcludeFn, Finished, RunSink, named_files, publish_named
from turnwise.pipeline.io.sources import FileSource
from turnwise.pipeline.settings.run import RunSettings
from turnwise.schemas.config import EvalConfig
from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.run import RunInfo
from turnwise.transforms.scoring.config import build_criteria

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


FOLDER = "run-20261121T022000Z-0123abcd"


def test_a_repeated_end_changes_nothing(tmp_path):
    """Rows that were staged are gone then, so that they cannot be counted again."""
    staged = ["rows"]

    def conclude(finished: Finished) -> JsonObject:
        return {"problems": [] if staged else ["no row was written"], **finished.tables}

    named = named_files(("", []), "jsonl", ("", FOLDER))
    (tmp_path / FOLDER).mkdir()
    published = [publish_named((name, [file]), str(tmp_path), "jsonl")[1] for name, file in named]
    for _ in range(2):
        end = ConcludeFn(str(tmp_path), "jsonl", conclude, staged.clear)
        end.process(("", published), ("", FOLDER))
        assert document_of(tmp_path, "run.json")["problems"] == []
    assert staged == []


def detached(output: Path, sample: Path, config: EvalConfig) -> dict[str, Any]:
    """Runs the pipeline alone, and returns the `run.json` that it wrote."""
    run = RunInfo("run-1", "2026-11-21T00:00:00.000Z")
    settings = RunSettings(
        run=run,
        config=config,
        criteria=build_criteria(config),
        output=str(output),
        eval_cases=(str(sample / "cases"),),
    )
    source, cases = (
        FileSource(file_patterns(option, (str(sample / name),)), 1 << 26, rejected)
        for option, name, rejected in (
            ("--input", "conversations", "unread_records"),
            ("--eval_cases", "cases", "rejected_cases"),
        )
    )
    root = beam.Pipeline(options=PipelineOptions(["--runner=FnApiRunner"]))
    build(
        root, source, cases, settings, RunSink(str(output), "jsonl", partial(conclude, settings, inputs=None))
    )
    root.run().wait_until_finish()
    document: dict[str, Any] = json.loads((output / "run.json").read_text())
    return document


def test_the_pipeline_writes_what_the_command_writes(sample, tmp_path, turnwise):
    config = EvalConfig(criteria={"tool_trajectory_avg_score": 1.0})
    document = detached(tmp_path / "out", sample, config)
    (tmp_path / "config.json").write_text('{"criteria": {"tool_trajectory_avg_score": 1.0}}')
    paths = ["--input", str(sample / "conversations"), "--eval_cases", str(sample / "cases")]
    done = turnwise("run", *paths, "--config", str(tmp_path / "config.json"), output=tmp_path / "run")
    expected = done.document("run.json")
    for name in ("counts", "problems", "exit_status", "to_read", "guessed_tools", "versions"):
        assert document[name] == expected[name], name
    assert document["counts"]["results"] == 59 and document["to_read"]


def test_a_missed_rule_is_in_the_exit_status(sample, tmp_path):
    gate = {"rules": [{"rule": "all_pass", "criterion": "tool_trajectory_avg_score"}]}
    config = EvalConfig.model_validate({"criteria": {"tool_trajectory_avg_score": 1.0}, "gate": gate})
    document = detached(tmp_path, sample, config)
    assert document["exit_status"] == 1 and document["problems"]
