"""Runs in one process leave nothing behind: no directory, no memory, no setting of the garbage collector."""

import gc
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

LOG = '{"conversation_id": "a", "turns": [{"user": "x", "agent": "y", "expected": {"response": "y"}}]}\n'
KINDS = {
    "batch": [],
    "estimate": ["--estimate"],
    "stream": ["--streaming", "--stop_after", "1"],
    "refused": [],
}


@pytest.fixture
def temporary(tmp_path: Path) -> Any:
    """Makes a directory the one of temporary files of this process."""
    own = tempfile.tempdir
    (tmp_path / "temporary").mkdir()
    tempfile.tempdir = str(tmp_path / "temporary")
    yield tmp_path / "temporary"
    tempfile.tempdir = own


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_leaves_nothing_behind(turnwise, tmp_path, temporary, kind):
    (tmp_path / "log.jsonl").write_text(LOG)
    if kind == "refused":
        (tmp_path / "out").mkdir()
        (tmp_path / "out/run.json").write_text("{}")
    before = gc.get_threshold(), gc.get_freeze_count(), gc.isenabled()
    done = turnwise("run", "--input", tmp_path / "log.jsonl", *KINDS[kind], output=tmp_path / "out")
    assert done.status == (2 if kind == "refused" else 0), done.err
    assert list(temporary.iterdir()) == []
    assert (gc.get_threshold(), gc.get_freeze_count(), gc.isenabled()) == before


def test_graphs_of_earlier_runs_are_freed(tmp_path):
    # In a process of its own: in this one, other tests may hold pipelines.
    (tmp_path / "log.jsonl").write_text(LOG)
    code = (
        "import gc, sys; from apache_beam import Pipeline; from turnwise.pipeline.cli.main import main\n"
        "log, *outputs = sys.argv[1:]\n"
        "for output in outputs: assert main(['run', '--input', log, '--output', output]) == 0\n"
        "gc.collect()\n"
        "print(sum(isinstance(thing, Pipeline) for thing in gc.get_objects()), file=sys.stderr)"
    )
    outputs = [str(tmp_path / str(number)) for number in range(3)]
    command = [sys.executable, "-c", code, str(tmp_path / "log.jsonl"), *outputs]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr in ("0\n", "1\n")


def test_a_small_run_begins_no_collection_once_beam_is_imported(tmp_path):
    (tmp_path / "log.jsonl").write_text(LOG)
    code = (
        "import gc, sys; from turnwise.pipeline.cli.main import main; begun = []\n"
        "gc.callbacks.append(lambda phase, info: begun.append('apache_beam' in sys.modules))\n"
        "print(main(sys.argv[1:]), sum(begun), file=sys.stderr)"
    )
    run = ("run", "--input", str(tmp_path / "log.jsonl"), "--output", str(tmp_path / "out"))
    done = subprocess.run([sys.executable, "-c", code, *run], capture_output=True, text=True, check=True)
    assert done.stderr == "0 0\n"
