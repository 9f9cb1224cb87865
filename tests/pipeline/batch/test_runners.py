"""The same graph on other runners: Dataflow's translation, a portable job service, several processes."""

import base64
import bz2
import json
import pickletools
import re
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.portability.api import beam_runner_api_pb2

from benchmarks.engines.engines import ENGINES, find_tools
from benchmarks.engines.tables import differences, tables
from turnwise.pipeline.batch.build import build
from turnwise.pipeline.batch.run import conclude
from turnwise.pipeline.io.files import file_patterns
from turnwise.pipeline.io.run_writer import RunSink
from turnwise.pipeline.io.sources import FileSource, file_ranges
from turnwise.pipeline.settings.run import RunSettings
from turnwise.schemas.config import EvalConfig
from turnwise.schemas.run import RunInfo
from turnwise.transforms.scoring.config import build_criteria

[LOCAL_SERVICE] = (engine for engine in ENGINES if engine.name == "Beam's job service")
TOOLS = find_tools()
DATAFLOW = [
    "--runner=DataflowRunner",
    "--dry_run=True",
    "--project=some-project",
    "--region=us-central1",
    "--temp_location=gs://valid-bucket-name/t",
    "--sdk_container_image=example.com/turnwise:1",
    "--no_save_main_session",
]
STEPS = [
    *("LogsStart", "LogsFiles", "LogsSpreadFiles", "LogsCountLines", "LogsGatherRanges"),
    *("LogsNumberLines", "LogsSpreadRanges", "LogsRead"),
    *(
        "ParseConversations",
        "Events",
        "NameGroups",
        "JoinSessions",
        "CasesStart",
        "CasesRead",
        "ParseEvalCases",
    ),
    *("MatchCases", "ScoreTurns", "Metrics", "MatchCasesSessions", "ScoreTurnsSessions", "MetricsSessions"),
    *("AllMetrics", "MetricsOfRun", "GatherMetrics", "MetricRows", "Failures", "FailureRows"),
]


@pytest.fixture(scope="module")
def translated() -> Any:
    pytest.importorskip("google.cloud.storage")
    config = EvalConfig()
    settings = RunSettings(
        run=RunInfo("run-1", "2026-11-21T00:00:00.000Z"),
        config=config,
        criteria=build_criteria(config),
        is_distributed=True,
    )
    root: Any = beam.Pipeline(options=PipelineOptions(DATAFLOW))
    logs = FileSource(
        file_patterns("--input", ("gs://some-logs/day=1/*.jsonl.gz",)), 1 << 26, "unread_records", True
    )
    cases = FileSource(file_patterns("--eval_cases", ("gs://some-cases/",)), 1 << 26, "rejected_cases")
    build(
        root,
        logs,
        cases,
        settings,
        RunSink("gs://some-results/out", "jsonl", partial(conclude, settings, inputs=None)),
    )
    root.run()
    return root.runner.proto_pipeline


def test_step_names_of_the_graph_are_stable(translated):
    transforms = translated.components.transforms
    (top,) = (transforms[name] for name in translated.root_transform_ids)
    names = [transforms[name].unique_name for name in top.subtransforms]
    steps = [name for name in names if not name.startswith("Write_")]
    assert sorted(steps) == sorted(STEPS)


def test_the_graph_of_one_process_is_small(sample):
    """Beam takes some milliseconds for every step of a run, however little there is to score."""
    config = EvalConfig()
    settings = RunSettings(
        run=RunInfo("run-1", "2026-11-21T00:00:00.000Z"), config=config, criteria=build_criteria(config)
    )
    root = beam.Pipeline()
    logs, cases = (
        FileSource([str(sample / name)], 1 << 26, "rejected") for name in ("conversations", "cases")
    )
    build(root, logs, cases, settings, RunSink("out", "jsonl", partial(conclude, settings, inputs=None)))
    steps = root.to_runner_api().components.transforms.values()
    Path(root.local_tempdir).rmdir()
    kinds = Counter(step.spec.urn for step in steps)
    assert kinds["beam:transform:pardo:v1"] <= 16 and kinds["beam:transform:group_by_key:v1"] <= 4


TRANSLATED = "the pipeline was translated; nothing was run\n"


def test_a_dry_run_for_dataflow_only_translates(turnwise):
    pytest.importorskip("google.cloud.storage")
    paths = ["--input", "gs://some-logs/day=1/*.jsonl.gz", "--eval_cases", "gs://some-cases/"]
    done = turnwise("run", *paths, "--output", "gs://some-results/out", *DATAFLOW)
    assert (done.status, done.out, done.err) == (0, TRANSLATED, "")


def test_a_dry_run_in_this_process_writes_nothing(turnwise, sample_arguments, tmp_path):
    done = turnwise(*sample_arguments, "--dry_run=True", output=tmp_path / "out")
    assert (done.status, done.out, done.err) == (0, TRANSLATED, "")
    assert not (tmp_path / "out").exists()


def dofn_pickles(pipeline: Any) -> Iterator[tuple[str, bytes]]:
    for transform in pipeline.components.transforms.values():
        if transform.spec.urn == "beam:transform:pardo:v1":
            payload = beam_runner_api_pb2.ParDoPayload.FromString(transform.spec.payload)
            if payload.do_fn.urn == "beam:dofn:pickled_python_info:v1":
                yield transform.unique_name, bz2.decompress(base64.b64decode(payload.do_fn.payload))


def test_every_step_is_importable_by_reference(translated):
    """A function that is pickled by value brings its file's name along; Beam has some of its own."""
    by_value = {}
    pickles = list(dofn_pickles(translated))
    for name, data in pickles:
        texts = [text for _, text, _ in pickletools.genops(data) if isinstance(text, str)]
        ours = [
            t for t in texts if t.endswith(".py") and "/apache_beam/" not in t and "/site-packages/" not in t
        ]
        if ours or "__main__" in texts:
            by_value[name] = ours
    assert by_value == {}
    assert len(pickles) > 30 and max(len(data) for _, data in pickles) < 50_000


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
def test_every_engine_gives_the_same_tables(engine, turnwise, sample_arguments, sample_run, tmp_path):
    if lack := engine.lacks(TOOLS):
        pytest.skip(f"no {lack}")
    expected = sample_run.document("run.json")
    with engine.started(TOOLS, tmp_path) as options:
        # A job may take longer than a request.
        arguments = [*sample_arguments, "--run_id", expected["run_id"], "--job_server_timeout=2", *options]
        done = turnwise(*arguments, output=tmp_path / "out")
    assert done.status == 0, done.err
    assert differences(tables(sample_run.directory), tables(tmp_path / "out")) == []
    document = done.document("run.json")
    assert (done.status, document["counts"]) == (0, expected["counts"])
    assert done.document("aggregated_metrics.json") == sample_run.document("aggregated_metrics.json")
    assert sum(document["records_by_worker"].values()) == document["counts"]["records"]
    assert expected["records_by_worker"] == {}


@pytest.fixture
def refused_judge(server: Any, with_credentials: None, tmp_path: Path) -> list[str]:
    """A run whose judge is refused in the middle."""
    server.script({"skip": 2, "status": 401, "message": "revoked"})
    turn = {"agent": "Hello", "expected": {"response": "Hello"}}
    rows = ({"conversation_id": f"c{i}", "turns": [{**turn, "user": f"hi {i}"}]} for i in range(9))
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    config = {"criteria": {"final_response_match_v2": 0.5}, "judge": {"base_url": server.url}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    places = ["--input", str(tmp_path / "log.jsonl"), "--config", str(tmp_path / "config.json")]
    return ["run", *places, "--judge_cache=none"]


def test_a_job_that_fails_elsewhere_is_one_line_with_its_address(turnwise, refused_judge, tmp_path):
    with LOCAL_SERVICE.started(TOOLS, tmp_path) as options:
        done = turnwise(*refused_judge, *options, output=tmp_path / "out")
        again = turnwise(*refused_judge, *options, "--verbose", output=tmp_path / "out")
    assert (done.status, done.out, done.err.count("\n")) == (1, "", 1), done.err
    where = r"job job-\S+ on PortableRunner localhost:\d+"
    told = rf"turnwise: the job failed: {where}: \S+Error: judge: the credentials are refused"
    assert re.match(told, done.err) and "while running" not in done.err
    assert again.status == 1 and "Traceback (most recent call last):" in again.err
    assert re.match(told, again.err.splitlines()[-1])


def test_a_job_service_that_is_not_there_is_one_line(turnwise, refused_judge, tmp_path):
    nowhere = ["--runner=PortableRunner", "--environment_type=LOOPBACK"]
    nowhere += ["--job_endpoint=localhost:1", "--job_server_timeout=1"]
    done = turnwise(*refused_judge, *nowhere, output=tmp_path / "out")
    assert (done.status, done.out, done.err.count("\n")) == (1, "", 1), done.err
    assert done.err == (
        "turnwise: the job could not be started: PortableRunner localhost:1: no answer in 1 s\n"
    )


@pytest.mark.skipif(TOOLS.prism is None, reason="prism is not installed (go install .../cmd/prism)")
def test_prism_reads_the_ranges_of_a_file_like_one_process(turnwise, tmp_path):
    logs, config = tmp_path / "logs.jsonl", tmp_path / "config.json"
    config.write_text('{"criteria": {"response_match_score": 0.5}}')
    turn = '{"user": "%s", "agent": "Hi", "expected": {"response": "Hi"}}' % ("Hello " * 500)
    lines = [f'{{"conversation_id": "c{i}", "turns": [{turn}]}}\n' for i in range(700)]
    logs.write_text("".join([*lines[:400], "{broken\n", *lines[400:]]))
    assert len(file_ranges(b"", [str(logs)])) == 2
    arguments = ["run", "--input", logs, "--config", config, "--judge", "none"]
    here = turnwise(*arguments, output=tmp_path / "here")
    prism = ["--runner=PrismRunner", f"--prism_location={TOOLS.prism}", "--environment_type=LOOPBACK"]
    there = turnwise(*arguments, *prism, output=tmp_path / "there")
    for table in ("scores", "conversations", "failures"):
        one, other = ([{**row, "run_id": ""} for row in run.rows(table)] for run in (here, there))
        assert sorted(one, key=str) == sorted(other, key=str) and one
    assert sum(there.document("run.json")["records_by_worker"].values()) == 701
