"""`turnwise status`: the exit status of a job that no command waited for."""

import json
import shutil
from pathlib import Path

import pytest

from tests.tables import as_earlier_version, document_of, file_of, folder_of
from turnwise.pipeline.cli.main import main


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("status")
    turn = {"user": "Hi", "agent": "Hello", "expected": {"response": "Hello"}}
    (folder / "log.jsonl").write_text(json.dumps({"conversation_id": "c", "turns": [turn]}))
    assert main(["run", "--input", str(folder / "log.jsonl"), "--output", str(folder / "out")]) == 0
    return folder / "out"


@pytest.fixture
def copy(out: Path, tmp_path: Path) -> Path:
    return shutil.copytree(out, tmp_path / "copy")


def change(copy: Path, **fields: object) -> None:
    (copy / "run.json").write_text(json.dumps(document_of(copy, "run.json") | fields))


def test_the_status_is_that_of_the_run(copy, capsys):
    capsys.readouterr()
    assert main(["status", str(copy)]) == 0
    document = document_of(copy, "run.json")
    said = f"{document['run_id']}, ended {document['end_time']}: 1 conversation, exit status 0\n"
    assert capsys.readouterr() == (said, "")
    change(copy, exit_status=1, problems=["gate: missed", "no conversation was scored"])
    assert main(["status", str(copy)]) == 1
    found = capsys.readouterr()
    assert found.err == "turnwise: gate: missed\nturnwise: no conversation was scored\n"
    assert found.out.endswith("exit status 1\n")


def test_a_run_that_began_earlier_is_not_the_one_that_is_asked_for(copy, capsys):
    """Where tonight's job failed, last night's run is still current, however long it took."""
    folder = "run-20261121T022000Z-0123abcd"
    folder_of(copy).rename(copy / folder)
    change(copy, folder=folder, create_time="2026-11-01T00:00:00Z", end_time="2026-11-22T00:00:00Z")
    for time, status in (
        ("2026-11-21T02:15:00Z", 0),
        ("2026-11-21T02:20:00.900Z", 0),
        ("2026-11-21T02:20:01Z", 2),
        ("2026-11-21T05:15:00+02:00", 2),
        ("yesterday", 2),
    ):
        capsys.readouterr()
        assert main(["status", str(copy), "--after", time]) == status, time
        assert capsys.readouterr().err.count("\n") == (1 if status else 0)


def test_what_is_no_finished_run_is_2(copy, tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    for directory in (tmp_path / "empty", tmp_path / "none"):
        assert main(["status", str(directory)]) == 2
    file_of(copy, "scores").unlink()
    assert main(["status", str(copy)]) == 2
    assert "files that run.json names are missing" in capsys.readouterr().err


def test_nothing_was_due_where_there_is_neither_input_nor_run(copy, tmp_path, capsys):
    quiet, logs = str(tmp_path / "none"), tmp_path / "logs"
    logs.mkdir()
    assert main(["status", quiet, "--input", str(logs)]) == 0
    assert "nothing was due" in capsys.readouterr().out
    change(copy, exit_status=1, problems=["gate: missed"])
    assert main(["status", str(copy), "--input", str(logs)]) == 1, "a run is told whatever its input is now"
    (logs / "a.jsonl").write_text("{}")
    assert main(["status", quiet, "--input", str(logs)]) == 2


@pytest.mark.parametrize(
    "fields", [{"exit_status": 256}, {"problems": ["gate: missed"]}, {"counts": {}}], ids=str
)
def test_a_document_that_contradicts_itself_is_2(copy, fields, capsys):
    change(copy, **fields)
    capsys.readouterr()
    assert main(["status", str(copy)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_run_beside_its_run_json_began_when_it_was_made(copy):
    """A stream, or a run of an earlier version."""
    as_earlier_version(copy)
    change(copy, create_time="2026-11-21T02:20:00Z")
    assert main(["status", str(copy)]) == 0
    assert main(["status", str(copy), "--after", "2026-11-21T02:19:00Z"]) == 0
    assert main(["status", str(copy), "--after", "2026-11-21T02:21:00Z"]) == 2
