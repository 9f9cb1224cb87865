"""The live display: only on a terminal, and it moves."""

import contextlib
import io
import os
import select
import subprocess
import sys
import time

import pytest

from turnwise.pipeline.report.terminal import progress_line, show_progress


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
    import pty

    ours, theirs = pty.openpty()
    process = subprocess.Popen([sys.executable, "-c", code], stderr=theirs, stdin=subprocess.DEVNULL)
    os.close(theirs)
    shown, deadline = b"", time.monotonic() + 120
    while time.monotonic() < deadline:
        if not select.select([ours], [], [], 0.2)[0]:
            if process.poll() is not None:
                break
            continue
        try:
            part = os.read(ours, 4096)
        except OSError:
            break
        if not part:
            break
        shown += part
    os.close(ours)
    assert process.wait(timeout=60) == 0
    return shown.decode()
