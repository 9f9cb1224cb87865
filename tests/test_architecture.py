"""The files that the page on architecture names are those that work on a record."""

import json
import re
import subprocess
import sys
from pathlib import Path

from tests.documentation import ROOT, page

RECORD = {
    "app_version": "v1",
    "turns": [
        {
            "user": "hi",
            "agent": "Hello",
            "tool_calls": [{"name": "get", "args": {"a": 1}}],
            "expected": {"response": "Hello", "tool_calls": [{"name": "get", "args": {"a": 1}}]},
        }
    ],
}
COUNT_CALLS = """
import collections, json, os, runpy, sys, threading
found, *sys.argv = sys.argv[1:]
calls = collections.Counter()
def profile(frame, event, _):
    if event == "call":
        calls[frame.f_code.co_filename] += 1
threading.setprofile(profile)
sys.setprofile(profile)
try:
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
except SystemExit:
    pass
finally:
    sys.setprofile(None)
    json.dump({os.path.realpath(name): number for name, number in calls.items()}, open(found, "w"))
"""


def calls_by_file(records: int, place: Path) -> dict[str, int]:
    """Returns how often functions of each file are called in a run over so many records."""
    log, config, found = (place / f"{records}.{kind}" for kind in ("jsonl", "config.json", "found"))
    log.write_text("".join(json.dumps({**RECORD, "conversation_id": f"c{i}"}) + "\n" for i in range(records)))
    config.write_text('{"criteria": {"tool_trajectory_avg_score": 1.0}}')
    options = ["--judge", "none", "--input", log, "--config", config, "--output", place / f"out{records}"]
    command = [sys.executable, "-c", COUNT_CALLS, found, "turnwise", "run", *options]
    subprocess.run(list(map(str, command)), check=True, stdout=subprocess.DEVNULL, cwd=ROOT)
    counted: dict[str, int] = json.loads(found.read_text())
    return counted


def test_every_file_of_the_table_works_on_every_record(tmp_path: Path) -> None:
    few, many = calls_by_file(2, tmp_path), calls_by_file(6, tmp_path)
    section = page("architecture").split("## One record, file by file")[1].split("Once a run:")[0]
    named = re.findall(r"`((?:schemas|transforms|pipeline)/[\w/]+\.py)`", section)
    assert len(named) > 20
    idle = [name for name in named if many.get(str(ROOT / name), 0) - few.get(str(ROOT / name), 0) < 4]
    assert idle == []
