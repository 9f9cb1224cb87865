"""Scheduled runs: one a date, the same one again, late files, and dates without input."""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.documentation import page
from turnwise.pipeline.cli.run_options import dates_of, run_dates
from turnwise.pipeline.io.run_reader import open_run
from turnwise.schemas.run import MOST_LISTED, RunDocument

CONFIG = {"criteria": {"response_match_score": 0.5}}


class Nights:
    """Logs by date, and the command of every night."""

    def __init__(self, folder: Path, command: Callable[..., Any]) -> None:
        self.folder, self._command = folder, command
        (folder / "config.json").write_text(json.dumps(CONFIG))

    def log(self, day: str, *names: str, file: str = "a.jsonl", agent: str = "y") -> None:
        turn = {"user": "x", "agent": agent, "expected": {"response": "y"}}
        lines = [json.dumps({"conversation_id": name, "turns": [turn]}) for name in names]
        place = self.folder / f"logs/dt={day}/{file}"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("".join(f"{line}\n" for line in lines))

    def run(self, date: str, *more: str, **places: str) -> Any:
        given = {"input": "logs/dt={date}/", "output": "out/{date}", "config": "config.json"} | places
        run_id = given.pop("run_id", None)
        options = [text for name, value in given.items() for text in (f"--{name}", self._place(value))]
        return self._command(
            "run", *options, "--date", date, *more, *([f"--run_id={run_id}"] if run_id else [])
        )

    def _place(self, text: str) -> str:
        return text if "://" in text else str(self.folder / text)

    def document(self, day: str) -> RunDocument:
        return open_run(self._place(f"out/{day}")).document

    def conversations(self, day: str) -> list[str]:
        return sorted(row["conversation_id"] for row in open_run(self._place(f"out/{day}")).conversations())


@pytest.fixture
def nights(tmp_path: Path, turnwise: Callable[..., Any]) -> Nights:
    return Nights(tmp_path, turnwise)


def ends(done: Any) -> list[str]:
    """Returns the last lines, one a date."""
    lines: list[str] = done.out.rstrip("\n").rpartition("\n\n")[2].split("\n")
    return lines


def test_a_range_is_one_run_a_date_and_a_date_without_input_stops_no_other(nights):
    nights.log("2026-11-19", "a", "b")
    nights.log("2026-11-21", "c")
    nights.log("2026-11-22", "d", agent="entirely different words")
    done = nights.run("2026-11-19..2026-11-22", "--fail_on", "response_match_score")
    assert done.status == 2
    assert nights.conversations("2026-11-19") == ["a", "b"]
    assert nights.conversations("2026-11-21") == ["c"]
    first, missing, third, failed = ends(done)
    assert first.startswith("2026-11-19  exit status 0  2 conversations in ")
    assert missing.startswith("2026-11-20  exit status 2  --input ")
    assert missing.endswith("dt=2026-11-20: no such file")
    assert third.startswith("2026-11-21  exit status 0  1 conversation in ")
    assert failed.startswith("2026-11-22  exit status 1  1 conversation in ")
    assert "response_match_score" in failed
    documents = [nights.document(f"2026-11-{day}") for day in (19, 21, 22)]
    assert [document.date for document in documents] == ["2026-11-19", "2026-11-21", "2026-11-22"]
    assert [document.exit_status for document in documents] == [0, 0, 1]
    assert len({document.run_id for document in documents}) == 3


def test_the_same_date_again_is_the_same_run_and_replaces_it(nights):
    nights.log("2026-11-21", "a", "b")
    assert nights.run("2026-11-21").status == 0
    first = nights.document("2026-11-21")
    nights.log("2026-11-21", "a", "c")
    assert nights.run("2026-11-21").status == 0
    second = nights.document("2026-11-21")
    assert first.run_id == second.run_id
    assert first.run_id.startswith("2026-11-21-")
    assert nights.conversations("2026-11-21") == ["a", "c"]


def test_another_run_is_never_replaced(nights):
    nights.log("2026-11-21", "a")
    assert nights.run("2026-11-21").status == 0
    before = nights.document("2026-11-21")
    (nights.folder / "config.json").write_text(json.dumps({"criteria": {"response_match_score": 0.6}}))
    done = nights.run("2026-11-21")
    assert done.status == 2
    assert f"holds the run {before.run_id}, not 2026-11-21-" in done.err
    assert done.err.count("\n") == 1
    assert nights.document("2026-11-21") == before
    assert nights.run("2026-11-21", "--overwrite").status == 0
    assert nights.document("2026-11-21").run_id != before.run_id


def test_a_run_without_a_date_and_a_stream_are_not_replaced(nights):
    nights.log("2026-11-21", "a")
    out = nights.folder / "out/2026-11-21"
    out.mkdir(parents=True)
    for name in ("progress.sqlite", "received.sqlite", "alerts.jsonl"):
        (out / name).write_text("")
        done = nights.run("2026-11-21")
        assert (done.status, "holds an earlier run" in done.err) == (2, True)
        (out / name).unlink()
    (out / "run.json").write_text("{broken")
    done = nights.run("2026-11-21")
    assert (done.status, "of a broken run.json" in done.err) == (2, True)
    (out / "run.json").write_text(json.dumps({"run_id": "nightly"}))
    assert nights.run("2026-11-21").status == 2
    assert json.loads((out / "run.json").read_text()) == {"run_id": "nightly"}


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
    assert told[0].endswith("there is no such directory")
    assert "2026-11-18  exit status 0  run again: 1 new (" in told[1]
    assert "b.jsonl" in told[1]
    assert "2026-11-19  exit status 0  run again: 1 changed (" in told[2]
    assert told[3] == "2026-11-20  exit status 0  not run again: 1 input file as before"
    assert told[4].startswith("2026-11-21  exit status 0  1 conversation in")
    assert nights.conversations("2026-11-18") == ["late-1", "of-18"]
    assert nights.conversations("2026-11-19") == ["late-2", "of-19"]
    assert nights.document("2026-11-20") == before[20]
    assert nights.document("2026-11-18").run_id == before[18].run_id


def test_a_date_that_stays_keeps_the_status_of_its_run(nights):
    nights.log("2026-11-18", "bad", agent="entirely different words")
    nights.log("2026-11-19")
    nights.log("2026-11-20", "good")
    nights.log("2026-11-21", "new")
    gate = ("--fail_on", "response_match_score")
    assert nights.run("2026-11-18..2026-11-20", *gate).status == 1
    (nights.folder / "logs/dt=2026-11-18/a.jsonl").unlink()
    done = nights.run("2026-11-21", "--lookback", "3", *gate)
    assert done.status == 1
    failed, empty, good, new = ends(done)
    assert failed.startswith("2026-11-18  exit status 1  not run again: there is no input; its run stays; ")
    assert "response_match_score" in failed
    assert empty.startswith(
        "2026-11-19  exit status 1  not run again: 1 input file as before; no conversation"
    )
    assert good == "2026-11-20  exit status 0  not run again: 1 input file as before"
    assert new.startswith("2026-11-21  exit status 0  1 conversation in")
    nights.log("2026-11-19", "late")
    nights.log("2026-11-18", "better")
    assert nights.run("2026-11-21", "--lookback", "3", *gate).status == 0


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


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("input=logs/dt=2026-{date:%m}", "would read the same"),
        ("output=out/{date:%Y-%m}", "would have one output directory"),
        ("run_id=n-{date:%m}", "would be one run"),
    ],
)
@pytest.mark.parametrize(
    ("dates", "two"),
    [
        (("2026-12-31..2027-01-01", "--lookback=365"), "2026-01-01 and 2026-01-02"),
    ],
)
def test_dates_that_would_share_a_place_are_refused_before_the_first_run(nights, dates, two, option, said):
    for day in ("2026-11-20", "2026-10-30", "2026-12-31"):
        nights.log(day, "a")
    name, _, value = option.partition("=")
    done = nights.run(*dates, "--overwrite", **{name: value})
    assert (done.status, done.out) == (2, "")
    assert f"{two} {said}" in done.err and done.err.count("\n") == 1
    assert not (nights.folder / "out").exists()


def test_forms_that_tell_the_dates_apart_are_taken(nights):
    nights.log("2026-11-30", "a")
    nights.log("2026-12-01", "b")
    nights.log("of-all", "c")
    shared = ("--input", str(nights.folder / "logs/dt=of-all"))
    places = {"output": "out/{date:%m}", "run_id": "n-{date:%d}", "input": "logs/dt={date:%Y-%m-%d}/"}
    assert nights.run("2026-11-30..2026-12-01", *shared, **places).status == 0
    assert nights.conversations("11") == ["a", "c"] and nights.conversations("12") == ["b", "c"]


def test_another_date_with_the_same_id_is_never_replaced(nights):
    nights.log("2026-11-20", "a")
    nights.log("2026-11-21", "b")
    places = {"output": "out/month-{date:%m}", "run_id": "n-{date:%m}"}
    assert nights.run("2026-11-20", **places).status == 0
    done = nights.run("2026-11-21", **places)
    assert done.status == 2 and "holds the run n-11 of 2026-11-20, not of 2026-11-21" in done.err
    assert nights.conversations("month-11") == ["a"]
    assert nights.run("2026-11-20", **places).status == 0


def test_a_broken_run_without_input_is_told(nights):
    nights.log("2026-11-21", "a")
    for day, text in (("19", "{broken"), ("20", "")):
        out = nights.folder / f"out/2026-11-{day}"
        out.mkdir(parents=True)
        (out / ("run.json" if text else f"scores.{'0' * 32}.partial")).write_text(text)
    broken, unfinished, _ = ends(nights.run("2026-11-21", "--lookback", "2"))
    assert "exit status 2" in broken and "run.json: JSON is malformed" in broken
    assert "exit status 2" in unfinished and "the run has not finished" in unfinished


def test_a_signal_in_a_range_tells_how_the_dates_ended(nights, capsys):
    given = ["--input={date}", "--output={date}", "--date=2026-11-20..2026-11-22"]
    statuses = iter([0])

    def run(argv: Sequence[str]) -> int:
        for status in statuses:
            return status
        raise KeyboardInterrupt

    dates = dates_of(given)
    assert dates
    with pytest.raises(KeyboardInterrupt):
        run_dates(given, dates, run)
    told = capsys.readouterr().out.rstrip("\n").split("\n")[-3:]
    assert told[0].startswith("2026-11-20  exit status 0  ")
    assert told[1:] == [f"2026-11-{day}  interrupted, or not begun" for day in (21, 22)]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--input", "logs/{date}", "--output", "out"], "--input logs/{date}: {date} needs --date"),
        (["--input", "a/{date:%H}", "--output", "o", "--date", "today"], "has %Y, %m, %d and %j only"),
        (["--input={date}", "--date=2026-01-01..2026-01-02"], "--output is missing"),
        (["--input", "{date}", "--output", "{date}", "--lookback", "1"], "--lookback needs --date"),
        (
            ["--input", "{date}", "--output", "{date}", "--date", "today", "--lookback", "-1"],
            "--lookback must lie between",
        ),
        (
            ["--input={date}", "--output={date}", "--date=today", "--lookback=1", "--template_location=t"],
            "a template is one job: name one --date",
        ),
        (
            ["--input", "{date}", "--output", "o/{date}", "--date", "today", "--streaming"],
            "--date cannot be used with --streaming",
        ),
    ],
)
def test_a_wrong_use_is_one_line(turnwise, arguments, said):
    done = turnwise("run", *arguments)
    assert done.status == 2
    assert said in done.err
    assert done.err.count("\n") == 1


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
    done = subprocess.run(["sh", "-c", script], env={"HOME": str(nights.folder)}, timeout=300)
    log = (nights.folder / "nightly.log").read_text()
    assert done.returncode == 0, log
    assert f"{day}  exit status 0  1 conversation in out/{day}" in log
    assert nights.conversations(day) == ["a"]


def test_changes_cannot_be_known_of_a_database(nights):
    for day in (20, 21):
        nights.log(f"2026-11-{day}", "a")
    url = "postgresql://nobody@127.0.0.1:1/logs"
    done = nights.run("2026-11-21", "--lookback", "1", input=f"{url}?d={{date}}")
    assert done.status == 2
    assert "2026-11-20  exit status 2  --lookback: inputs are not all files and tables" in done.out
