"""`./run_local.sh stream` ends by itself and leaves what a batch run leaves."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.tables import document_of, rows_of
from turnwise.pipeline.cli.main import main

ROOT = Path(__file__).parents[1]
SAMPLE = ROOT / "pipeline/sample_data"
OF_THE_RUN = ("run_id", "createTime", "evaluationRun", "source", "repeats")


def rows(directory, table):
    """Returns the rows of a table, without what differs from run to run, in one order."""
    return sorted(json.dumps(without(row), sort_keys=True) for row in rows_of(directory, table))


def without(row):
    return {name: value for name, value in row.items() if name not in OF_THE_RUN}


def is_prepared():
    """Tells whether run_local.sh would leave its environment as it is below this test."""
    marks = {".prepared": "requirements.lock", ".project": "pyproject.toml"}
    for mark, name in marks.items():
        path = ROOT / ".venv" / mark
        checksum = subprocess.run(
            ["cksum"], input=(ROOT / name).read_bytes(), check=True, capture_output=True
        )
        if not path.exists() or checksum.stdout.decode().strip() not in path.read_text():
            return False
    return True


@pytest.mark.skipif(not is_prepared(), reason="run_local.sh has not made the environment")
def test_the_stream_leaves_what_the_batch_leaves(tmp_path):
    ran = subprocess.run(
        ["bash", str(ROOT / "run_local.sh"), "stream"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert ran.returncode == 0, ran.stderr
    assert "47 records = 46 parsed + 1 rejected; 60 conversations = 59 results + 1 rejected" in ran.stdout
    arguments = ["--input", str(SAMPLE / "conversations"), "--eval_cases", str(SAMPLE / "cases")]
    arguments += ["--config", str(SAMPLE / "config.json"), "--judge", "local", "--output", str(tmp_path)]
    assert main(["run", *arguments]) == 0
    stream = ROOT / "out/stream"
    for table in ("scores", "results", "failures"):
        assert rows(stream, table) == rows(tmp_path, table) != []
    batch, name = tmp_path, "aggregated_metrics.json"
    assert document_of(stream, name) == document_of(batch, name)
    assert counted(stream) == counted(tmp_path)


def counted(directory):
    """Returns the counts of `metrics_by_app_version`, over all windows."""
    sums = {}
    for row in rows_of(directory, "metrics_by_app_version"):
        key = (row["app_version"] or "", row["criterion"], row["level"])
        figures = [row[name] for name in ("count", "scored", "pass_count", "fail_count")]
        before = sums.get(key, (0,) * len(figures))
        sums[key] = tuple(a + b for a, b in zip(before, figures, strict=True))
    return sums
