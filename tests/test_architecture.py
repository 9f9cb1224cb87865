"""The page on architecture names the rooms that are there, and a record takes a short way through them."""

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

from tests.documentation import ROOT, page, table

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
FILES, CHANGES, CALLS = 16, 30, 99
"""Most files, changes of file and calls for one further record, as DESIGN.md bounds them."""

COUNT_CALLS = """
import collections, json, os, runpy, sys, threading
root, found, *sys.argv = sys.argv[1:]
layers = tuple(os.path.join(root, layer, "") for layer in ("schemas", "transforms", "pipeline"))
files = {}
calls, changes = collections.Counter(), 0
last = None
def profile(frame, event, _):
    global changes, last
    if event == "call":
        name = frame.f_code.co_filename
        if name not in files:
            files[name] = os.path.realpath(name)
        if files[name].startswith(layers):
            calls[files[name]] += 1
            changes += files[name] != last
            last = files[name]
threading.setprofile(profile)
sys.setprofile(profile)
try:
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
except SystemExit:
    pass
finally:
    sys.setprofile(None)
    json.dump([calls, changes], open(found, "w"))
"""


def counted(records, place):
    """Returns calls by file of a run over so many records, and how often the next call is of another file."""
    log, config, found = (place / f"{records}.{kind}" for kind in ("jsonl", "config.json", "found"))
    log.write_text("".join(json.dumps({**RECORD, "conversation_id": f"c{i}"}) + "\n" for i in range(records)))
    config.write_text('{"criteria": {"tool_trajectory_avg_score": 1.0}}')
    options = ["--judge", "none", "--input", log, "--config", config, "--output", place / f"out{records}"]
    command = [sys.executable, "-c", COUNT_CALLS, ROOT, found, "turnwise", "run", *options]
    subprocess.run(list(map(str, command)), check=True, stdout=subprocess.DEVNULL, cwd=ROOT)
    calls, changes = json.loads(found.read_text())
    return Counter(calls), changes


def test_the_way_of_a_record_is_bounded(tmp_path):
    (few, few_changes), (many, many_changes) = counted(2, tmp_path), counted(6, tmp_path)
    files = [name for name, calls in many.items() if calls - few[name] >= 4]
    changes, calls = (many_changes - few_changes) / 4, (many.total() - few.total()) / 4
    assert 10 < len(files) <= FILES, sorted(files)
    assert 10 < changes <= CHANGES
    assert 50 < calls <= CALLS
    section = page("architecture").split("## One record")[1].split("\n## ")[0]
    rooms = re.findall(r"`(\w+/\w+)/`", " ".join(row[1] for row in table(section, "step")))
    taken = {"/".join(Path(name).relative_to(ROOT).parts[:2]) for name in files}
    assert {room for room in taken if not room.startswith("schemas/")} == set(rooms)


def named_rooms():
    """Returns layer -> rooms that the tables of the page name."""
    section = page("architecture").split("## The rooms")[1].split("\n## ")[0]
    tables = {layer: table(section, f"room of `{layer}/`") for layer in ("schemas", "transforms", "pipeline")}
    return {
        layer: re.findall(r"`(\w+)/`", " ".join(row[0] for row in rows)) for layer, rows in tables.items()
    }


def test_every_room_has_its_row():
    for layer, named in named_rooms().items():
        assert sorted(named) == sorted(path.parent.name for path in (ROOT / layer).glob("*/__init__.py")), (
            layer
        )


def test_folders_that_are_named_are_there():
    layers = [ROOT / layer for layer in ("schemas", "transforms", "pipeline")]
    there = {path.name for layer in layers for path in (layer, *layer.rglob("*")) if path.is_dir()}
    rooms = page("architecture").split("## The rooms")[1].split("\n## ")[0]
    assert set(re.findall(r"`(\w+)/`", rooms)) <= there


def test_every_module_of_a_layer_lies_in_a_folder():
    loose = [str(path) for layer in ("transforms", "pipeline") for path in (ROOT / layer).glob("*.py")]
    assert [name for name in loose if not name.endswith("__init__.py")] == []
