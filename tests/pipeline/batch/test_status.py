"""`turnwise status`: the exit status of a job that no command waited for."""

import json

import pytest

from tests.pipeline.logs import ROUGE, log
from tests.tables import document_of, file_of, folder_of
from turnwise.pipeline.cli.main import main


@pytest.fixture
def copy(score_logs):
    return score_logs([log()], ROUGE).directory


def change(copy, **fields):
    (copy / "run.json").write_text(json.dumps(document_of(copy, "run.json") | fields))


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


def test_a_run_of_which_files_are_missing_is_not_finished(copy, capsys):
    file_of(copy, "scores").unlink()
    assert main(["status", str(copy)]) == 2
    assert "files that run.json names are missing" in capsys.readouterr().err
