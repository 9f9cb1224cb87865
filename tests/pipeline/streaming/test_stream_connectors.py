"""The sources of a stream on other runners: translated for Dataflow, and their steps on given elements."""

import os
import subprocess
import sys
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import apache_beam as beam
import pytest
from apache_beam.io.filesystem import FileMetadata
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.pvalue import TaggedOutput

from tests.tables import stated
from turnwise.pipeline.batch.execution import made_pipeline
from turnwise.pipeline.streaming.beam import (
    ArrivalsFn,
    _WriteBundleFn,
    read_arrivals,
    records_of_file,
    records_of_message,
    records_of_row,
)
from turnwise.pipeline.streaming.inputs.base import SourceOptions
from turnwise.schemas.config import ConfigError

ROOT = Path(__file__).parents[3]
LIMIT = 100
OVERSIZED = b'"' + b"x" * 2 * LIMIT + b'"'


OPTIONS = SourceOptions(LIMIT, timestamp_attribute="at")
OF_MESSAGE = {"source": "s", "attribute": "at"}


def given(find, element, **known):
    """Returns the arrivals of what is found in an element as (source, position, data, time), and errors."""
    outputs = list(ArrivalsFn(partial(find, **known), LIMIT).process(element))
    rejected = [one.value.error_type for one in outputs if isinstance(one, TaggedOutput)]
    kept = [one for one in outputs if not isinstance(one, TaggedOutput)]
    assert all(one.timestamp == one.value.event_time for one in kept)
    return [(*vars_of(one.value),) for one in kept], rejected


def vars_of(arrival):
    return arrival.source.rsplit("/", 1)[-1], arrival.position, arrival.data, arrival.event_time


def test_files(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"event_time":5}\n\n{"n":1}\n' + OVERSIZED + b"\nno\n")
    found = given(records_of_file, FileMetadata(str(path), 1, 77.0), limit=LIMIT)
    rows = [(1, b'{"event_time":5}', 5.0), (3, b'{"n":1}', 77.0), (5, b"no", 77.0)]
    assert found == ([("a.jsonl", *row) for row in rows], ["OversizedRecordError"])


def test_files_that_cannot_be_read(tmp_path):
    assert given(records_of_file, FileMetadata(str(tmp_path / "a.json"), 1, 77.0), limit=LIMIT)[1] != []
    for name in ("a.csv", ".a.json", "a.json.tmp"):
        assert given(records_of_file, FileMetadata(str(tmp_path / name), 1, 77.0), limit=LIMIT) == ([], [])


@pytest.mark.parametrize(
    ("data", "attributes", "time"),
    [(b'{"event_time":5}', {}, 5.0), (b'{"event_time":5}', {"at": "6000"}, 6.0), (b"{}", {}, 100.0)],
)
def test_messages(data, attributes, time):
    published = datetime.fromtimestamp(100, UTC)
    message = SimpleNamespace(data=data, attributes=attributes, message_id="12", publish_time=published)
    assert given(records_of_message, message, **OF_MESSAGE) == ([("s", 12, data, time)], [])
    large = SimpleNamespace(data=OVERSIZED, attributes={}, message_id="a", publish_time=published)
    assert given(records_of_message, large, **OF_MESSAGE) == ([], ["OversizedRecordError"])


def test_kafka_rows():
    row = SimpleNamespace(topic="t", partition=3, offset=9, timestamp=8000, value=b"{}")
    assert given(records_of_row, row) == ([("t[3]", 9, b"{}", 8.0)], [])
    row.value = None
    assert given(records_of_row, row) == ([], [])


@pytest.fixture
def dataflow():
    """A pipeline that is translated for Dataflow and not sent."""
    pytest.importorskip("google.cloud.pubsub_v1")
    arguments = (
        "--runner=DataflowRunner --dry_run=True --streaming --project=some-project --region=us-central1"
    )
    options = PipelineOptions([*arguments.split(), "--temp_location=gs://some-bucket/t"])
    with made_pipeline(options) as pipeline:
        yield pipeline


def test_a_stream_is_translated_for_dataflow(dataflow):
    inputs = [
        "pubsub:projects/some-project/subscriptions/s",
        "pubsub:projects/some-project/topics/t",
        "gs://some-bucket/logs/",
    ]
    arrivals, failures = read_arrivals(dataflow, inputs, OPTIONS)
    seconds = beam.window.FixedWindows(60)
    arrivals | beam.WindowInto(seconds) | beam.Map(lambda one: (one.source, 1)) | beam.CombinePerKey(sum)
    failures | "Failures" >> beam.Map(lambda one: one.stage)
    dataflow.run()
    transforms = dataflow.runner.proto_pipeline.components.transforms.values()
    reads = [one.spec.payload for one in transforms if one.spec.urn == "beam:transform:pubsub_read:v1"]
    assert len(reads) == 2
    assert all(b"at" in payload for payload in reads)
    assert any(b"projects/some-project/subscriptions/s" in payload for payload in reads)
    assert any(b"projects/some-project/topics/t" in payload for payload in reads)
    names = {one.unique_name for one in transforms}
    assert {"Input1Arrive", "Input2Arrive", "Input3Arrive", "AllArrivals"} <= names


@stated("refused", "name, said")
def test_inputs_that_other_runners_cannot_read(name, said):
    options = PipelineOptions(["--runner=FnApiRunner"])
    with made_pipeline(options) as pipeline, pytest.raises(ConfigError, match=said):
        read_arrivals(pipeline, [name], OPTIONS)


def test_kafka_without_its_java_part_is_refused_in_one_line(tmp_path):
    program = (
        "from apache_beam.options.pipeline_options import PipelineOptions\n"
        "from turnwise.pipeline.batch.execution import made_pipeline\n"
        "from turnwise.pipeline.streaming.beam import read_arrivals\n"
        "from turnwise.pipeline.streaming.inputs.base import SourceOptions\n"
        "try:\n"
        "  with made_pipeline(PipelineOptions(['--runner=FnApiRunner'])) as pipeline:\n"
        "    read_arrivals(pipeline, ['kafka://b:1/t'], SourceOptions(9))\n"
        "except ValueError as error: print(repr(error))\n"
    )
    nowhere = {"HOME": str(tmp_path), "https_proxy": "http://127.0.0.1:1", "http_proxy": "http://127.0.0.1:1"}
    command = [sys.executable, "-c", program]
    environment = {"PATH": os.environ["PATH"], **nowhere}
    said = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True).stdout
    assert said.startswith("ConfigError('--input kafka://b:1/t: ") and said.count("\n") == 1


def test_a_bundle_of_files_leaves_no_line_behind_and_a_repeated_one_no_other_file(tmp_path):
    writing = _WriteBundleFn(str(tmp_path))
    for _ in range(2):
        writing.start_bundle()
        for line in (("scores/0", b"1"), ("results-r00000/3", b"2"), ("scores/2", b"3")):
            writing.process(line)
        writing.finish_bundle()
    files = {path.name.rpartition("-")[0]: path.read_bytes() for path in tmp_path.iterdir()}
    assert files == {"scores": b"1\n3\n", "results-r00000": b"2\n"}
    assert len(list(tmp_path.iterdir())) == 2
