"""A pipeline that no command waits for: what it leaves in the output directory is complete."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import PipelineOptions

from turnwise.pipeline.batch.build import build
from turnwise.pipeline.batch.summary import conclude
from turnwise.pipeline.io.files import file_patterns
from turnwise.pipeline.io.run_writer import RunSink
from turnwise.pipeline.io.sources import FileSource
from turnwise.pipeline.settings.run import RunSettings
from turnwise.schemas.config import EvalConfig
from turnwise.schemas.run import RunInfo
from turnwise.transforms.scoring.config import build_criteria


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
        FileSource(file_patterns(option, (str(sample / name),)), 1 << 26, lost)
        for option, name, lost in (
            ("--input", "conversations", "unread_records"),
            ("--eval_cases", "cases", "lost_cases"),
        )
    )
    root = beam.Pipeline(options=PipelineOptions(["--runner=FnApiRunner"]))
    build(root, source, cases, settings, RunSink(str(output), "jsonl", partial(conclude, settings)))
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


@pytest.mark.parametrize("name", ["run.json", "scores-00007-of-00008.jsonl", "report.html"])
def test_files_of_an_earlier_run_in_the_directory_are_removed(sample, tmp_path, name):
    (tmp_path / name).write_text("earlier")
    (tmp_path / "notes.txt").write_text("mine")
    detached(tmp_path, sample, EvalConfig())
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert all(file.read_text() != "earlier" for file in tmp_path.rglob("*") if file.is_file())
