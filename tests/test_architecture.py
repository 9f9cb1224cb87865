"""The files that the page on architecture names are those that work on a record."""

import ast
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


def test_the_files_of_the_table_are_those_that_work_on_every_record(tmp_path: Path) -> None:
    few, many = calls_by_file(2, tmp_path), calls_by_file(6, tmp_path)
    used = {name for name, calls in many.items() if calls - few.get(name, 0) >= 4}
    layers = tuple(f"{ROOT / layer}/" for layer in ("schemas", "transforms", "pipeline"))
    section = page("architecture").split("## One record, file by file")[1].split("Once a run:")[0]
    named = re.findall(r"`((?:schemas|transforms|pipeline)/[\w/]+\.py)`", section)
    assert len(named) > 20
    assert sorted(named) == sorted(
        str(Path(name).relative_to(ROOT)) for name in used if name.startswith(layers)
    )


def drawn_floors() -> dict[str, dict[str, int]]:
    """Returns layer -> folder -> number of its line in the drawing, from the top."""
    drawing = page("architecture").split("## The folders")[1].split("```text\n")[1].split("```")[0]
    floors: dict[str, dict[str, int]] = {}
    layer = ""
    for number, line in enumerate(drawing.splitlines()):
        *start, rest = re.split(r"(?<=^ )(\w+)/", line) if re.match(r" \w", line) else [line]
        layer = start[1] if start else layer
        floors.setdefault(layer, {}).update(dict.fromkeys(re.findall(r"(\w+)/", rest), number))
    return floors


def imported_folders(layer: str, folder: str) -> set[str]:
    """Returns the folders of the same layer from which the modules of a folder import."""
    found = set()
    for path in (ROOT / layer / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
                found |= {name.split(".")[2] for name in names if name.startswith(f"turnwise.{layer}.")}
    return {name for name in found if (ROOT / layer / name).is_dir()} - {folder}


def test_every_module_of_a_layer_lies_in_a_folder() -> None:
    loose = [str(path) for layer in ("transforms", "pipeline") for path in (ROOT / layer).glob("*.py")]
    assert [name for name in loose if not name.endswith("__init__.py")] == []


def test_folders_import_only_from_those_that_are_drawn_below() -> None:
    floors = drawn_floors()
    assert list(floors) == ["pipeline", "transforms", "schemas"]
    for layer, drawn in floors.items():
        folders = {path.parent.name for path in (ROOT / layer).glob("*/__init__.py")}
        assert set(drawn) == folders, layer
        upwards = [
            (folder, other)
            for folder in drawn
            for other in imported_folders(layer, folder)
            if drawn[other] <= drawn[folder]
        ]
        assert upwards == []
