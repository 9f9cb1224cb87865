"""Scheduled runs: one a date, the same one again, late files, and dates without input."""

import json
import multiprocessing
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.documentation import page
from tests.object_store import OBJECTS, StoredObject
from tests.pipeline.logs import lines, log, write
from turnwise.pipeline.batch.run import report_batch
from turnwise.pipeline.cli.run_options import run_dates
from turnwise.pipeline.io.run_writer import locked
from turnwise.pipeline.runs.directory import open_run
from turnwise.pipeline.settings.run import RunSettings
from turnwise.schemas.config import EvalConfig
from turnwise.schemas.run import MOST_LISTED, InputFile, RunInfo


class Nights:
    """Logs by date, and the command of every night."""

    def __init__(self, folder, command):
        self.folder, self._command = folder, command
        self.threshold(0.5)

    def threshold(self, value):
        write(self.folder / "config.json", {"criteria": {"response_match_score": value}})

    def log(self, day, *names, file="a.jsonl", agent="Hello"):
        write(self.folder / f"logs/dt={day}/{file}", *(log(name, agent) for name in names))

    def run(self, date, *more):
        given = {"input": "logs/dt={date}/", "output": "out/{date}", "config": "config.json"}
        options = [text for name, path in given.items() for text in (f"--{name}", self.folder / path)]
        return self._command("run", *options, "--date", date, *more)

    def document(self, day):
        return open_run(str(self.folder / f"out/{day}")).document

    def conversations(self, day):
        return sorted(
            row["conversation_id"] for row in open_run(str(self.folder / f"out/{day}")).conversations()
        )


@pytest.fixture
def nights(tmp_path, turnwise):
    return Nights(tmp_path, turnwise)


def ends(done):
    """Returns the last lines, one a date."""
    return done.out.rstrip("\n").rpartition("\n\n")[2].split("\n")


def test_another_run_is_never_replaced(nights):
    nights.log("2026-11-21", "a")
    assert nights.run("2026-11-21").status == 0
    before = nights.document("2026-11-21")
    nights.threshold(0.6)
    done = nights.run("2026-11-21")
    assert done.status == 2
    assert f"holds the run {before.run_id}, not 2026-11-21-" in done.err
    assert done.err.count("\n") == 1
    assert nights.document("2026-11-21") == before
    assert nights.run("2026-11-21", "--overwrite").status == 0
    assert nights.document("2026-11-21").run_id != before.run_id


def test_late_files_run_a_date_again_and_nothing_else_does(nights):
    for day in (18, 19, 20, 21):
        nights.log(f"2026-11-{day}", f"of-{day}")
    assert nights.run("2026-11-18..2026-11-20").status == 0
    before = {day: nights.document(f"2026-11-{day}") for day in (18, 19, 20)}
    nights.log("2026-11-18", "late-1", file="b.jsonl")
    nights.log("2026-11-19", "of-19", "late-2")
    done = nights.run("2026-11-21", "--lookback", "4")
    assert done.status == 2
    told = ends(done)
    assert told[0].startswith("2026-11-17  exit status 2  not run again: there is no input, and no run: ")
    assert told[0].endswith("--empty_dates warn lets a date of which nothing was due pass")
    assert "2026-11-18  exit status 0  run again: 1 new (" in told[1]
    assert "b.jsonl" in told[1]
    assert "2026-11-19  exit status 0  run again: 1 changed (" in told[2]
    assert told[3] == "2026-11-20  exit status 0  not run again: 1 input file as before"
    assert told[4].startswith("2026-11-21  exit status 0  1 conversation in")
    assert nights.conversations("2026-11-18") == ["late-1", "of-18"]
    assert nights.conversations("2026-11-19") == ["late-2", "of-19"]
    assert nights.document("2026-11-20") == before[20]
    assert nights.document("2026-11-18").run_id == before[18].run_id


def test_of_many_files_the_number_and_a_digest_are_kept(nights):
    nights.log("2026-11-20", "new")
    for number in range(MOST_LISTED + 1):
        nights.log("2026-11-19", f"c-{number}", file=f"{number}.jsonl")
    assert nights.run("2026-11-19").status == 0
    files = nights.document("2026-11-19").input_files
    assert files is not None
    assert (files.count, files.files) == (MOST_LISTED + 1, None)
    assert files.bytes == sum(path.stat().st_size for path in nights.folder.glob("logs/dt=2026-11-19/*"))
    path = nights.folder / "logs/dt=2026-11-19/7.jsonl"
    about = path.stat()
    os.utime(path, (about.st_atime, about.st_mtime + 1))
    told = ends(nights.run("2026-11-20", "--lookback", "1"))
    assert f"run again: {MOST_LISTED + 1} files of {files.bytes:,} bytes, not those" in told[0]


def test_a_signal_in_a_range_tells_how_the_dates_ended(nights, capsys):
    given = ["--input={date}", "--output=out/{date}", "--date=2026-11-20..2026-11-22"]
    statuses = iter([0])

    def run(argv):
        for status in statuses:
            return status
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_dates(given, run)
    told = capsys.readouterr().out.rstrip("\n").split("\n")[-3:]
    assert told[0].startswith("2026-11-20  exit status 0  ")
    assert told[1:] == [f"2026-11-{day}  interrupted, or not begun" for day in (21, 22)]


def test_the_line_for_cron_runs(nights):
    today = datetime.now(UTC).date()
    *before, day = ((today - timedelta(days)).isoformat() for days in (4, 3, 2, 1))
    for each in (*before, day):
        nights.log(each, "a")
    command = Path(sys.prefix, "bin/turnwise")
    if not command.is_file():
        pytest.skip("the command is not installed")
    (nights.folder / ".venv/bin").mkdir(parents=True)
    (nights.folder / ".venv/bin/turnwise").symlink_to(command)
    [line] = [line for line in page("nightly").splitlines() if line.startswith("15 2 * * * ")]
    assert "%" not in line.replace("\\%", "")
    script = line.removeprefix("15 2 * * * ").replace("/srv/turnwise", shlex.quote(str(nights.folder)))

    def mailed():
        environment = {"HOME": str(nights.folder), "PATH": os.environ["PATH"]}
        return subprocess.run(["sh", "-c", script], env=environment, stdout=subprocess.PIPE, timeout=300)

    done = mailed()
    log = (nights.folder / "nightly.log").read_text()
    assert (done.returncode, done.stdout) == (0, b""), log
    assert f"{day}  exit status 0  1 conversation in out/{day}" in log
    assert nights.conversations(day) == ["a"]
    (nights.folder / "config.json").unlink()
    assert b"config.json" in mailed().stdout


@pytest.fixture
def objects():
    """Returns a function that writes a log into a store of objects."""

    def put(day, *names, file="a.jsonl", time=1763719200.0):
        OBJECTS[f"objects://logs/dt={day}/{file}"] = StoredObject(lines(*map(log, names)).encode(), time)

    OBJECTS.clear()
    yield put
    OBJECTS.clear()


def test_dates_late_objects_and_the_same_date_again(turnwise, objects):
    def found(day):
        return sorted(row["conversation_id"] for row in open_run(f"objects://out/{day}").conversations())

    options = ["--input", "objects://logs/dt={date}/", "--output", "objects://out/{date}"]
    objects("2026-11-20", "a")
    objects("2026-11-21", "b")
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
    objects("2026-11-20", "late", file="b.jsonl")
    objects("2026-11-20", "a", time=1763719201.0)
    done = turnwise("run", *options, "--date", "2026-11-21", "--lookback", "2")
    assert done.status == 2, done.err
    assert "2026-11-19  exit status 2  not run again: there is no input, and no run" in done.out
    again = (
        "2026-11-20  exit status 0  run again: 1 new (objects://logs/dt=2026-11-20/b.jsonl); "
        "1 changed (objects://logs/dt=2026-11-20/a.jsonl): 2 conversations in objects://out/2026-11-20"
    )
    assert again in done.out
    assert [found(day) for day in ("2026-11-20", "2026-11-21")] == [["a", "late"], ["b"]]
    assert open_run("objects://out/2026-11-20").document.run_id == document.run_id


@pytest.mark.parametrize(
    ("written", "why"),
    [
        (None, "the run has ended, but left no run.json"),
        (("2026-11-21-a", "2026-11-22T03:00:00.000Z"), "another run, 2026-11-21-a of 2026-11-22T03:00:00"),
        (("2026-11-21-b", "2026-11-20T02:00:00.000Z"), "another run, 2026-11-21-b of 2026-11-20T02:00:00"),
    ],
)
def test_a_run_is_not_told_by_the_document_of_another(objects, written, why):
    """A job elsewhere may end without having written its own one; every night of a date has the same id."""
    own = RunInfo("2026-11-21-a", "2026-11-22T02:00:00.000Z")
    settings = RunSettings(run=own, config=EvalConfig(), criteria=(), output="objects://out/d")
    if written:
        document = dict(zip(("run_id", "create_time"), written, strict=True))
        OBJECTS["objects://out/d/run.json"] = StoredObject(json.dumps(document).encode(), 0.0)
    with pytest.raises(OSError, match=re.escape(why)):
        report_batch(settings)


def _hold(directory: str, is_held: Any, is_over: Any) -> None:
    with locked(directory):
        is_held.set()
        is_over.wait(60)


@pytest.fixture
def other_process(nights: Nights) -> Iterator[None]:
    """Another process that writes into the directory of a date."""
    context = multiprocessing.get_context("fork")
    is_held, is_over = context.Event(), context.Event()
    process = context.Process(
        target=_hold, args=(str(nights.folder / "out/2026-11-21"), is_held, is_over), daemon=True
    )
    process.start()
    try:
        assert is_held.wait(60)
        yield
    finally:
        is_over.set()
        process.join(60)
        process.kill()


def test_of_two_processes_on_one_date_one_is_refused(nights, other_process):
    nights.log("2026-11-20", "a")
    nights.log("2026-11-21", "b")
    done = nights.run("2026-11-20..2026-11-21")
    assert done.status == 2
    assert ends(done)[1].endswith("another run is writing into it")
    assert nights.conversations("2026-11-20") == ["a"]
