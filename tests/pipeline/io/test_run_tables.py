"""Which files a run has is what `run.json` names: a directory that was copied in part is refused."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.tables import as_earlier_version, document_of, file_of, folder_of, rows_of
from turnwise.pipeline.cli.main import main
from turnwise.pipeline.io.run_reader import open_run
from turnwise.pipeline.io.run_writer import SINGLE_FILES
from turnwise.schemas.config import ConfigError
from turnwise.schemas.rows import TABLES

Damage = Callable[[Path], object]
CRITERION = "response_match_score"
RULES = {"gate": {"rules": [{"rule": "coverage", "at_least": 0.1}]}}


@pytest.fixture(scope="module", params=["jsonl", "avro"])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(request.param)
    turn = {"user": "Hi", "agent": "Hello", "expected": {"response": "Hello"}}
    labelled = {"app_version": "v1", "turns": [turn, turn], "tags": ["skipped:NO"]}
    logs = [{"conversation_id": f"c{i}", **labelled} for i in range(4)]
    path = folder / "logs.jsonl"
    path.write_text("\n".join(map(json.dumps, [*logs, {"conversation_id": "bad", "turns": []}])))
    (folder / "config.json").write_text(json.dumps({"criteria": {CRITERION: 0.5}, **RULES}))
    arguments = ["--input", str(path), "--config", str(folder / "config.json"), "--output_format"]
    assert main(["run", *arguments, request.param, "--output", str(folder / "out")]) == 0
    return folder / "out"


@pytest.fixture
def copy(run: Path, tmp_path: Path) -> Path:
    return shutil.copytree(run, tmp_path / "copy")


def test_run_json_names_every_file_with_its_rows(run: Path) -> None:
    document = document_of(run, "run.json")
    names = {path.name: path.stat().st_size for path in folder_of(run).iterdir()}
    files = {name: stated for own in document["files"].values() for name, stated in own.items()}
    assert document["folder"] != "." and set(document["files"]) == {*TABLES, "aggregated_metrics"}
    assert {name: stated["bytes"] for name, stated in files.items()} == names
    found = open_run(str(run))
    for table in TABLES:
        assert sum(stated["rows"] for stated in document["files"][table].values()) == len(
            list(found.rows(table))
        )
    assert sum(stated["rows"] for stated in document["files"]["results"].values()) == 4
    assert document["create_time"] < document["end_time"]


def cut(table: str) -> Damage:
    """Removes the last row of a file; what is left looks whole."""

    def damage(directory: Path) -> None:
        path = file_of(directory, table)
        if path.suffix == ".avro":
            path.write_bytes(path.read_bytes()[:-16])
        else:
            path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))

    return damage


def cut_alike(directory: Path) -> None:
    """Removes the rows of one conversation from all tables of rows."""
    for table in ("scores", "results", "conversations"):
        path = file_of(directory, table)
        path.write_text("".join(line for line in path.open() if '"c3"' not in line))


@pytest.mark.parametrize("table", [name for name in TABLES if name != "metrics_by_slice"])
def test_a_table_that_was_cut_is_refused_whoever_reads_it(copy: Path, table: str) -> None:
    cut(table)(copy)
    with pytest.raises(ConfigError) as error:
        open_run(str(copy))
    assert file_of(copy, table).name in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("table", [*TABLES, "aggregated_metrics"])
def test_a_file_that_is_gone_is_refused(copy: Path, table: str) -> None:
    path = file_of(copy, table)
    path.unlink()
    with pytest.raises(ConfigError, match=f"1 of .* files that run.json names are missing.*{path.name}"):
        open_run(str(copy))


COMMANDS = {
    "compare": lambda run, copy: ["compare", run, copy],
    "report": lambda run, copy: ["report", copy],
    "gate": lambda run, copy: ["gate", copy],
    "baseline": lambda run, copy: ["gate", run, "--baseline", copy],
    "calibrate": lambda run, copy: ["calibrate", copy, "--labels", f"{copy}/labels.jsonl"],
    "cases": lambda run, copy: ["cases", "--from", copy, "--select", "sample", "--to", f"{copy}/made.json"],
    "convert": lambda run, copy: [
        "convert",
        copy,
        f"{copy}/made.evalset_result.json",
        "--to",
        "adk_eval_result",
    ],
}


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("damage", [cut_alike, cut("failures"), cut("metrics_by_turn")])
def test_each_command_refuses_part_of_a_run(
    run: Path, copy: Path, capsys: pytest.CaptureFixture[str], name: str, damage: Damage
) -> None:
    """A gate over a directory of which all tables were cut alike must not pass."""
    if run.parent.name.startswith("avro"):
        pytest.skip("one format is enough")
    damage(copy)
    label = {"conversation_id": "c0", "criterion": "evaluation_status", "label": "PASS"}
    (copy / "labels.jsonl").write_text(json.dumps(label) + "\n")
    capsys.readouterr()
    assert main(COMMANDS[name](str(run), str(copy))) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1) and "copy the directory again" in err and str(copy) in err


def test_rows_that_were_edited_can_be_read(copy: Path) -> None:
    """Such as words that were removed from transcripts."""
    path = file_of(copy, "conversations")
    if path.suffix == ".jsonl":
        path.write_text(path.read_text().replace("Hello", "[removed]"))
        assert len(list(open_run(str(copy)).conversations())) == 4


def test_a_run_json_of_another_run_is_refused(run: Path, copy: Path) -> None:
    document = document_of(copy, "run.json")
    (copy / "run.json").write_text(json.dumps(document | {"folder": "run-20260101T000000Z-00000000"}))
    with pytest.raises(ConfigError, match=r"files that run\.json names are missing"):
        open_run(str(copy))


@pytest.mark.parametrize("table", [None, *TABLES])
def test_a_run_of_an_earlier_version_is_read_as_before(run: Path, copy: Path, table: Any) -> None:
    as_earlier_version(copy)
    assert [path.name for path in copy.iterdir() if path.is_dir()] == []
    then, now = open_run(str(copy)), open_run(str(run))
    assert then.document.folder == "." and then.document.files is None
    for name in TABLES if table is None else (table,):
        assert list(then.rows(name)) == list(now.rows(name))


def test_the_folder_of_a_run_is_no_output_directory(run: Path) -> None:
    with pytest.raises(ConfigError, match="it is a folder of a run; name the output directory"):
        open_run(str(folder_of(run)))


@pytest.mark.parametrize("table", SINGLE_FILES)
def test_the_helper_of_the_tests_reads_what_the_reader_reads(run: Path, table: str) -> None:
    if file_of(run, table).suffix == ".jsonl":
        assert rows_of(run, table) == list(open_run(str(run)).rows(table))
