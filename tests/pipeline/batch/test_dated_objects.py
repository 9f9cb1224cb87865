"""Scheduled runs over a store of objects, by Beam's filesystems."""

import json
import re
from collections.abc import Iterator

import pytest

from tests.object_store import OBJECTS, StoredObject
from turnwise.pipeline.batch.summary import report_batch
from turnwise.pipeline.io.run_reader import open_run
from turnwise.pipeline.settings.run import RunSettings
from turnwise.schemas.config import EvalConfig
from turnwise.schemas.run import InputFile, RunInfo


@pytest.fixture(autouse=True)
def no_objects() -> Iterator[None]:
    OBJECTS.clear()
    yield
    OBJECTS.clear()


def log(day: str, *names: str, file: str = "a.jsonl", time: float = 1763719200.0) -> None:
    turn = {"user": "x", "agent": "y", "expected": {"response": "y"}}
    lines = [json.dumps({"conversation_id": name, "turns": [turn]}) for name in names]
    OBJECTS[f"objects://logs/dt={day}/{file}"] = StoredObject("\n".join(lines).encode(), time)


def conversations(day: str) -> list[str]:
    return sorted(row["conversation_id"] for row in open_run(f"objects://out/{day}").conversations())


def test_dates_late_objects_and_the_same_date_again(turnwise, tmp_path):
    options = ["--input", "objects://logs/dt={date}/", "--output", "objects://out/{date}"]
    log("2026-11-20", "a")
    log("2026-11-21", "b")
    done = turnwise("run", *options, "--date", "2026-11-19..2026-11-20")
    assert done.status == 2
    assert "2026-11-19  exit status 2  --input objects://logs/dt=2026-11-19/: there is no input" in done.out
    assert not any(name.startswith("objects://out/2026-11-19") for name in OBJECTS)
    document = open_run("objects://out/2026-11-20").document
    assert document.input_files is not None
    size = len(OBJECTS["objects://logs/dt=2026-11-20/a.jsonl"].content)
    assert document.input_files.files == [
        InputFile("objects://logs/dt=2026-11-20/a.jsonl", size, "2025-11-21T10:00:00.000000+00:00")
    ]
    log("2026-11-20", "late", file="b.jsonl")
    log("2026-11-20", "a", time=1763719201.0)
    done = turnwise("run", *options, "--date", "2026-11-21", "--lookback", "2")
    assert done.status == 2, done.err
    assert "2026-11-19  exit status 2  not run again: there is no input, and no run" in done.out
    again = (
        "2026-11-20  exit status 0  run again: 1 new (objects://logs/dt=2026-11-20/b.jsonl); "
        "1 changed (objects://logs/dt=2026-11-20/a.jsonl): 2 conversations in objects://out/2026-11-20"
    )
    assert again in done.out
    assert (conversations("2026-11-20"), conversations("2026-11-21")) == (["a", "late"], ["b"])
    assert open_run("objects://out/2026-11-20").document.run_id == document.run_id


@pytest.mark.parametrize(
    ("written", "why"),
    [
        (None, "the run has ended, but left no run.json"),
        (("2026-11-21-a", "2026-11-22T03:00:00.000Z"), "another run, 2026-11-21-a of 2026-11-22T03:00:00"),
        (("2026-11-21-b", "2026-11-20T02:00:00.000Z"), "another run, 2026-11-21-b of 2026-11-20T02:00:00"),
    ],
)
def test_a_run_is_not_told_by_the_document_of_another(written, why):
    """A job elsewhere may end without having written its own one; every night of a date has the same id."""
    own = RunInfo("2026-11-21-a", "2026-11-22T02:00:00.000Z")
    settings = RunSettings(run=own, config=EvalConfig(), criteria=(), output="objects://out/d")
    if written:
        document = dict(zip(("run_id", "create_time"), written, strict=True))
        OBJECTS["objects://out/d/run.json"] = StoredObject(json.dumps(document).encode(), 0.0)
    with pytest.raises(OSError, match=re.escape(why)):
        report_batch(settings)
