"""Without the extras the main job runs; what needs one ends with a line that names it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from turnwise.pipeline.settings.extras import check_places
from turnwise.schemas.config import ConfigError

ROOT = Path(__file__).parents[3]
SAMPLE = ROOT / "pipeline/sample_data"
LOGS = str(SAMPLE / "conversations")


def turnwise(*arguments: str, cwd: Path) -> "subprocess.CompletedProcess[str]":
    """Runs the command without the packages of the extras."""
    command = [sys.executable, str(ROOT / "tests/base_environment.py"), *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, stdin=subprocess.DEVNULL)


def test_the_main_job_needs_no_extra(tmp_path: Path) -> None:
    arguments = ["--input", LOGS, "--eval_cases", str(SAMPLE / "cases"), "--judge", "local"]
    done = turnwise("run", *arguments, "--output", "out", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads((tmp_path / "out/run.json").read_text())["counts"]["results"] > 50


@pytest.mark.parametrize(
    ("arguments", "needed"),
    [
        (["run", "--input", "gs://b/logs/", "--output", "out"], "turnwise[gcp]"),
        (["run", "--input", LOGS, "--eval_cases", "gs://b/cases/", "--output", "out"], "turnwise[gcp]"),
        (["run", "--input", LOGS, "--output", "gs://b/out"], "turnwise[gcp]"),
        (["run", "--input", "s3://b/logs/", "--output", "out"], "apache-beam[aws]"),
        (["run", "--input", "azfs://b/logs/", "--output", "out"], "apache-beam[azure]"),
        (["run", "--input", "hdfs://b/logs/", "--output", "out"], "apache-beam[hadoop]"),
        (["run", "--input", LOGS, "--output", "out", "--runner", "DataflowRunner"], "turnwise[gcp]"),
        (["run", "--input", LOGS, "--output", "out", "--store", "sqlite:///x.db"], "turnwise[store]"),
        (["run", "--input", LOGS, "--output", "out", "--eval_cases", "sqlite:///x.db"], "turnwise[store]"),
        (["run", "--input", LOGS, "--output", "out", "--store", "postgresql://h/d"], "turnwise[postgres]"),
        (["run", "--streaming", "--input", "kafka://h:9/t?group=g", "--output", "out"], "turnwise[kafka]"),
        (
            ["run", "--streaming", "--input", "pubsub:projects/p/subscriptions/s", "--output", "out"],
            "turnwise[gcp]",
        ),
        (
            [
                "run",
                "--streaming",
                "--input",
                LOGS,
                "--output",
                "out",
                "--alerts",
                "pubsub:projects/p/topics/t",
            ],
            "turnwise[gcp]",
        ),
        (["tools", "gs://b/logs/"], "turnwise[gcp]"),
        (["serve", "--store", "sqlite:///x.db"], "turnwise[store]"),
        (["serve", "--store", "postgresql://h/d"], "turnwise[postgres]"),
    ],
)
def test_what_needs_an_extra_names_it(tmp_path: Path, arguments: list[str], needed: str) -> None:
    done = turnwise(*arguments, cwd=tmp_path)
    (line,) = done.stderr.splitlines()
    assert line.endswith(f": needs {needed}, which is not installed: pip install '{needed}'")
    assert (done.returncode, done.stdout) == (2, "")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize("path", ["ftp://h/logs/", "gss://b/logs"])
def test_an_unknown_file_system_is_refused(path: str) -> None:
    with pytest.raises(ConfigError, match="unknown file system"):
        check_places("--input", [path])
