"""Runs whose output is on another filesystem than the local one: an object store in this process."""

import gzip
import json
import re
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import PipelineOptions

from tests import object_store
from tests.object_store import FAULTS, OBJECTS, READS, StoredObject
from turnwise.pipeline.batch.build import build
from turnwise.pipeline.batch.run import conclude
from turnwise.pipeline.cli.main import main
from turnwise.pipeline.io.files import file_patterns
from turnwise.pipeline.io.records import SizedPath, file_records
from turnwise.pipeline.io.run_writer import RunSink
from turnwise.pipeline.io.sources import FileSource
from turnwise.pipeline.runs.directory import open_run
from turnwise.pipeline.settings.run import RunSettings
from turnwise.schemas.config import ConfigError, EvalConfig
from turnwise.schemas.conversation import Record
from turnwise.schemas.rows import TABLES
from turnwise.schemas.run import RunInfo
from turnwise.schemas.score import Failure
from turnwise.transforms.scoring.config import build_criteria

OUT = "objects://bucket/out"
MINE = {
    f"{OUT}/{name}": StoredObject(b"mine", 0.0)
    for name in ("notes.txt", "run-2026/scores-00000-of-00001.jsonl")
}
RULES = {"rules": [{"rule": "not_worse", "margin": 0.5, "criterion": "response_match_score"}]}
CONFIG = EvalConfig.model_validate({"criteria": {"response_match_score": 0.5}, "gate": RULES})


@pytest.fixture(autouse=True)
def store() -> Iterator[None]:
    object_store.clear()
    yield
    object_store.clear()


def logs(folder: Path, version: str, agent: str = "yes it is", number: int = 24, end: str = "") -> Path:
    turn = {"agent": agent, "expected": {"response": "yes it is"}}
    named = [(f"c{i}", {"user": f"Is it {i}?", **turn}) for i in range(number)]
    rows = [{"conversation_id": name, "app_version": version, "turns": [one]} for name, one in named]
    path = folder / f"{version}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows) + end)
    return path


@pytest.fixture
def score(tmp_path: Path) -> Callable[..., int]:
    config = tmp_path / "config.json"
    config.write_text(CONFIG.model_dump_json(include={"criteria", "gate"}))

    def run(version: str, output: str, *options: str, **made: Any) -> int:
        paths = ["--input", str(logs(tmp_path, version, **made)), "--config", str(config)]
        return main(["run", *paths, "--output", output, *options])

    return run


def document(output: str = OUT) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(OBJECTS[f"{output}/run.json"][0])
    return found


def folders(output: str = OUT) -> set[str]:
    """Returns the folders of runs that hold an object."""
    return {path.split("/")[4] for path in OBJECTS if path.startswith(f"{output}/run-") and path not in MINE}


def test_gates_baselines_and_every_command(score, tmp_path, capsys):
    base = "objects://bucket/base"
    OBJECTS.update(MINE)
    assert score("v1", base) == 1, "there is no baseline yet"
    assert score("v2", OUT, "--baseline", base) == 0 and document()["problems"] == []
    assert score("v3", OUT, "--baseline", base, "--overwrite", agent="no") == 1
    assert document()["problems"][0].startswith("gate: response_match_score: not worse")
    assert folders() == {document()["folder"]}
    label = {"conversation_id": "c0", "turn_index": 0, "criterion": "response_match_score", "label": "FAIL"}
    (tmp_path / "labels.jsonl").write_text(json.dumps(label) + "\n")
    html, made = tmp_path / "report.html", tmp_path / "cases.jsonl"
    capsys.readouterr()
    for command, status in (
        (["gate", OUT, "--baseline", base], 1),
        (["status", OUT], 1),
        (["compare", base, OUT], 0),
        (["report", OUT, "--html", str(html)], 0),
        (["calibrate", OUT, "--labels", str(tmp_path / "labels.jsonl")], 0),
        (["cases", "--from", OUT, "--select", "failed", "--to", str(made)], 0),
        (["convert", OUT, str(tmp_path / "x.evalset_result.json"), "--to", "adk_eval_result"], 0),
    ):
        assert main(command) == status, (command, capsys.readouterr().err)
    assert html.exists() and "Is it" in made.read_text()
    assert f"{OUT}/calibration.json" in OBJECTS


def test_objects_are_read_in_large_pieces(tmp_path):
    path = "objects://bucket/logs.jsonl"
    OBJECTS[path] = StoredObject(logs(tmp_path, "v1").read_bytes(), 0.0)
    assert main(["run", "--input", path, "--judge", "none", "--output", OUT]) == 0
    assert len(list(open_run(OUT).results())) == 24
    assert READS[path] < 20 and sum(READS.values()) < 200, "not one read a byte"


def test_what_was_copied_in_part_is_refused(score):
    score("v1", OUT)
    [path] = [path for path in OBJECTS if "/scores-" in path]
    content, changed = OBJECTS[path]
    OBJECTS[path] = StoredObject(content[: content.index(b"\n") + 1], changed)
    with pytest.raises(ConfigError, match=r"holds 1 rows, and run\.json counts 48"):
        open_run(OUT)
    del OBJECTS[path]
    with pytest.raises(ConfigError, match=r"1 of 8 files that run\.json names are missing"):
        open_run(OUT)


@pytest.mark.parametrize("operation", ["create", "rename"])
def test_an_overwrite_that_ends_early_leaves_the_earlier_run(score, operation):
    score("v1", OUT)
    earlier, written = document(), dict(OBJECTS)
    OBJECTS.update(MINE)
    last = f"{OUT}/run.json" if operation == "create" else "/scores."
    FAULTS.fails = lambda name, path, number: name == operation and last in path
    assert score("v2", OUT, "--overwrite") == 1
    assert document() == earlier and len(list(open_run(OUT).results())) == 24
    assert written.items() <= OBJECTS.items() and len(folders()) == 2
    [left] = folders() - {earlier["folder"]}
    object_store.FAULTS.fails = lambda name, path, number: False
    score("v3", OUT, "--overwrite")
    assert folders() == {document()["folder"], left}, "another process may write into it"
    for path in [path for path in OBJECTS if left in path]:
        OBJECTS[path] = OBJECTS[path]._replace(time=OBJECTS[path].time - 4 * 24 * 3600)
    score("v4", OUT, "--overwrite")
    assert folders() == {document()["folder"]} and MINE.items() <= OBJECTS.items()


class Template:
    """A pipeline that is made once, with one run id, and may run several times, as a classic template."""

    def __init__(self, path: Path, runner: str = "FnApiRunner") -> None:
        run = RunInfo("run-1", "2026-11-21T00:00:00.000Z")
        self._settings = RunSettings(run=run, config=CONFIG, criteria=build_criteria(CONFIG), output=OUT)
        self._path, self._runner = path, runner

    def run(self) -> None:
        source = FileSource(file_patterns("--input", (str(self._path),)), 1 << 26, "unread_records")
        root = beam.Pipeline(options=PipelineOptions([f"--runner={self._runner}"]))
        sink = RunSink(OUT, "jsonl", partial(conclude, self._settings, inputs=None))
        build(root, source, None, self._settings, sink)
        root.run().wait_until_finish()


@pytest.mark.parametrize("moment", ["/scores.", "/run.json"])
def test_two_executions_at_the_same_time_never_mix(tmp_path, moment):
    """The second one runs as a whole while the first is about to write an object."""
    first, second = Template(logs(tmp_path, "v1")), Template(logs(tmp_path, "v2", number=7))
    begun: list[str] = []

    def interleave(name: str, path: str, number: int) -> bool:
        if moment in path and name == "create" and not begun:
            begun.append(path)
            second.run()
            assert document()["counts"]["results"] == 7
        return False

    FAULTS.fails = interleave
    first.run()
    assert begun and document()["counts"]["results"] == 24, "the one that ends last is current"
    found = open_run(OUT)
    assert {row["app_version"] for row in found.scores()} == {"v1"} and len(list(found.results())) == 24
    Template(logs(tmp_path, "v3", number=5)).run()
    assert {row["app_version"] for row in open_run(OUT).scores()} == {"v3"}


def test_bundles_that_fail_once_change_nothing(tmp_path):
    """To write, look for, and rename objects fails the first time; the runner repeats the bundle."""
    path = logs(tmp_path, "v1", end="{broken\n")
    Template(path).run()
    expected, rows = document(), {table: list(open_run(OUT).rows(table)) for table in TABLES}
    object_store.clear()
    failed: list[tuple[str, str]] = []

    def once(name: str, path: str, number: int) -> bool:
        """A bundle is tried four times, and one publishes all files."""
        written = re.search(r"[/_](scores|results|conversations|failures|metrics|run)[._]", path)
        what = name, written[1] if name == "create" and written else ""
        if name in ("list", "open", "delete", "copy") or what in failed:
            return False
        failed.append(what)
        return True

    FAULTS.fails = once
    Template(path, "BundleBasedDirectRunner").run()
    assert {"rename", "exists"} < {name for name, _ in failed} and len(failed) >= 8
    for key in ("counts", "problems", "exit_status", "to_read"):
        assert document()[key] == expected[key]
    found = open_run(OUT)
    for table in TABLES:
        assert sorted(map(json.dumps, found.rows(table))) == sorted(map(json.dumps, rows[table])), table
    named = {f"{OUT}/{document()['folder']}/{name}" for own in document()["files"].values() for name in own}
    assert set(OBJECTS) == {*named, f"{OUT}/run.json"}, "what repeated bundles left is removed"


@pytest.mark.parametrize(("days", "is_refused"), [(2, True), (4, False), (None, True)])
def test_a_run_without_an_end_is_in_the_way_until_it_was_quiet_for_days(score, capsys, days, is_refused):
    """Nobody knows of a process elsewhere that it is dead; `None`: the store states no times."""
    left = f"{OUT}/run-20261121T000000Z-0123abcd/scores.{'0' * 32}.partial"
    OBJECTS[left] = StoredObject(b"", 0.0 if days is None else time.time() - days * 86_400)
    assert (score("v1", OUT) == 2) is is_refused
    said = capsys.readouterr().err
    assert ("holds a run that has not ended (run-2026" in said) is is_refused is (left in OBJECTS)
    if is_refused:
        assert score("v1", OUT, "--overwrite") != 2


def test_a_read_that_ends_early_is_a_failure_of_unknown_size():
    """The listing states more bytes than the service gives."""
    content = b"".join(b'{"conversation_id": "c%d"}\n' % number for number in range(9))
    for name, stored in (("a.jsonl", content), ("a.jsonl.gz", gzip.compress(content))):
        path = f"objects://bucket/{name}"
        OBJECTS[path] = StoredObject(stored, 0.0)
        assert (
            sum(isinstance(one, Record) for one in file_records(SizedPath(path, len(stored)), 1 << 20)) == 9
        )
        *records, failure = file_records(SizedPath(path, len(stored) + 1), 1 << 20)
        assert len(records) == 9 and isinstance(failure, Failure)
        assert failure.error_type == "IncompleteReadError"
