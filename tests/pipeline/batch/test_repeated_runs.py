"""Runs in one process leave nothing behind: no directory, no memory, no setting of the garbage collector."""

import contextlib
import gc
import io
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

from tests.served import terminal
from turnwise.pipeline.report.terminal import progress_line, show_progress

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


@pytest.mark.parametrize(
    ("conversations", "turns", "seconds", "line"),
    [
        (0, 0, 3.0, "0 conversations, 0 turns, 0 turns/s"),
        (1234, 5678, 2.0, "1,234 conversations, 5,678 turns, 2,839 turns/s"),
    ],
)
def test_progress_line(conversations, turns, seconds, line):
    assert progress_line(conversations, turns, seconds) == line


def test_nothing_is_shown_without_a_terminal():
    err = io.StringIO()
    with contextlib.redirect_stderr(err), show_progress():
        time.sleep(3.3)
    assert err.getvalue() == ""


MOVING = """
import time
from turnwise.pipeline.report.terminal import show_progress
from turnwise.schemas.run import PROGRESS
PROGRESS.conversations = 1000
with show_progress():
    for _ in range(46):
        PROGRESS.conversations += 1
        PROGRESS.turns += 2
        time.sleep(0.1)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_it_moves_on_a_terminal_and_leaves_no_trace():
    shown = on_terminal(MOVING)
    lines = [line for line in shown.split("\r") if "turns/s" in line]
    counts = [int(line.split(" ", 1)[0].replace(",", "")) for line in lines]
    assert len(counts) >= 2
    assert counts == sorted(set(counts)) and counts[-1] <= 46, "counts of this run only, and growing"
    assert shown.endswith("\r\x1b[K")


def on_terminal(code: str) -> str:
    """Runs a program whose standard error is a pseudo-terminal and returns what it showed there."""
    with terminal() as (theirs, shown):
        process = subprocess.Popen([sys.executable, "-c", code], stderr=theirs, stdin=subprocess.DEVNULL)
        os.close(theirs)
        assert process.wait(timeout=120) == 0
    return b"".join(shown).decode()
