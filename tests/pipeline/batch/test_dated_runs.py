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
from turnwise.pipeline.cli.run_options import dates_of, run_dates
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

    def run(self, date, *more, **places):
        given = {"input": "logs/dt={date}/", "output": "out/{date}", "config": "config.json"} | places
        run_id = [f"--run_id={given.pop('run_id')}"] if "run_id" in given else []
        options = [text for name, value in given.items() for text in (f"--{name}", self._place(value))]
        return self._command("run", *options, "--date", date, *more, *run_id)

    def gate(self, day, baseline):
        rules = [{"rule": "not_worse", "criterion": "response_match_score", "margin": 0.02}]
        write(
            self.folder / "rules.json", {"criteria": {"response_match_score": 0.5}, "gate": {"rules": rules}}
        )
        options = ["--config", str(self.folder / "rules.json"), "--baseline", baseline]
        return self._command("gate", self._place(f"out/{day}"), *options)

    def _place(self, text):
        return text if "://" in text else str(self.folder / text)

    def document(self, day):
        return open_run(self._place(f"out/{day}")).document

    def conversations(self, day):
        return sorted(row["conversation_id"] for row in open_run(self._place(f"out/{day}")).conversations())


@pytest.fixture
def nights(tmp_path, turnwise):
    return Nights(tmp_path, turnwise)


def ends(done):
    """Returns the last lines, one a date."""
    return done.out.rstrip("\n").rpartition("\n\n")[2].split("\n")


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


@pytest.mark.parametrize("is_stored", [False, True])
def test_a_night_is_compared_with_the_one_before_it(nights, is_stored):
    store = f"sqlite:///{nights.folder / 'store.db'}"
    previous = ("--baseline", "previous", "--store", store)
    more = previous if is_stored else ("--baseline", str(nights.folder / "out/{date}"))
    for day, agent in ((17, "Hello"), (19, "Hello"), (20, "entirely different words")):
        nights.log(f"2026-11-{day}", "a", "b", agent=agent)
    first = nights.run("2026-11-17", *more)
    none = (
        "the store holds no finished run"
        if is_stored
        else "no finished run on the 92 dates before 2026-11-17"
    )
    assert (first.status, first.err.count("\n")) == (0, 1)
    assert none in first.err and first.err.endswith(": nothing is compared\n")
    second = nights.run("2026-11-19..2026-11-20", *more)
    assert [
        line.rpartition("/")[2][:10] for line in second.out.splitlines() if line.startswith("baseline: ")
    ] == ["2026-11-17", "2026-11-19"]
    assert "regressed 1, fixed 0" in second.out and second.status == 0
    assert "difference: 2026-11-20 less 2026-11-19" in second.out, "each by its date"
    again = nights.run("2026-11-19", *more)
    assert "/2026-11-17" in again.out and "/2026-11-20" not in again.out, (
        "a date is held against earlier ones"
    )
    assert nights.run("2026-11-17", *more).status == 0, "and ends after the dates that follow it"
    told = nights.gate("2026-11-20", "previous" if is_stored else more[1])
    assert told.status == 1 and "/2026-11-19" in told.out.splitlines()[0]
    assert "regressed 1, fixed 0" in told.out
    none = nights.gate("2026-11-17", "previous" if is_stored else more[1])
    assert none.status == 1 and none.err.startswith("turnwise: --baseline ")
    assert "nothing is compared" in none.err and "inconclusive" in none.err
    if is_stored:
        nights.threshold(0.6)
        other = nights.run("2026-11-21", *more, input="logs/dt=2026-11-20/", output="other/{date}")
        assert "the store holds no finished run of the same app and scoring settings" in other.err


RULES = [
    {"name": "worse", "criterion": "verdict", "measure": "pass_rate", "drop": {}},
    {"name": "of three", "criterion": "verdict", "measure": "pass_rate", "drop": {"baseline": 3}},
    {"name": "low", "criterion": "response_match_score", "measure": "mean", "below": 0.5, "min_count": 99},
    {"name": "canary", "criterion": "verdict", "measure": "count", "app_version": "v9", "below": 1},
    {"name": "few", "criterion": "verdict", "measure": "count", "below": 40},
]


@pytest.mark.parametrize("is_stored", [False, True])
def test_a_night_that_is_worse_than_the_last_one_raises_an_alert(nights, is_stored):
    stored = ("--baseline=previous", f"--store=sqlite:///{nights.folder / 'store.db'}")
    more = stored if is_stored else (f"--baseline={nights.folder}/out/{{date}}",)
    config = {"criteria": {"response_match_score": 0.5}, "alerts": RULES}
    write(nights.folder / "config.json", config)
    for day in (19, 20, 21, 22):
        agent = "entirely different words" if day >= 21 else "Hello"
        nights.log(f"2026-11-{day}", *map(str, range(40)), agent=agent)
    file = nights.folder / "alerts.jsonl"
    first = nights.run("2026-11-19", *more, f"--alerts={file}")
    assert first.status == 0 and not file.exists()
    assert (
        "alert rules not tested: worse (no version), of three (no version): there is no run to compare with"
        in first.err
    )
    assert "low (no version): fewer values than its min_count of 99" in first.err
    assert "canary: no conversation of such an app version was scored" in first.err
    assert nights.run("2026-11-20", *more, f"--alerts={file}").status == 0
    for _ in range(2):
        bad = nights.run("2026-11-21", *more, f"--alerts={file}")
        assert bad.status == 1
        assert (
            "turnwise: alert: worse: pass_rate of verdict (conversations) is 0 over 40, worse than 1"
            in bad.err
        )
    alerts = [json.loads(line) for line in file.read_text().splitlines()]
    found = [(alert["rule"], alert["window_start"], alert["baseline_count"]) for alert in alerts]
    assert found == [("worse", "2026-11-21T00:00:00Z", 40), ("of three", "2026-11-21T00:00:00Z", 80)]
    document = nights.document("2026-11-21")
    assert document.alerts.night == 3
    assert [one.name for one in document.alerts.raised] == [alert["name"] for alert in alerts]
    unsent = nights.run("2026-11-21", *more, "--alerts=http://127.0.0.1:9/secret")
    assert "alert: worse was not sent: webhook http://127.0.0.1" in unsent.err and "secret" not in unsent.err
    later = nights.run("2026-11-22", *more)
    assert later.status == 1 and "alert: worse:" not in later.err, "no worse than the last night"
    assert (
        "alert: of three: pass_rate of verdict (conversations) is 0 over 40, worse than 0.6667" in later.err
    )
    write(nights.folder / "config.json", config | {"criteria": {"response_match_score": 0.7}})
    changed = nights.run("2026-11-22", *more, input="logs/dt=2026-11-19/", output="new/{date}")
    why = "there is no run to compare" if is_stored else "the scoring settings changed since 2026-11-21-"
    assert f"of three (no version): {why}" in changed.err
    nights.threshold(0.5)
    refused = nights.run("2026-11-22", f"--alerts={file}", output="none/{date}")
    assert refused.status == 2 and "--alerts: the config has no rule for it: add `alerts`" in refused.err


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


@pytest.mark.parametrize("empty", ["warn", "ok"])
def test_a_day_without_traffic_turns_no_night_red(nights, empty):
    option = f"--empty_dates={empty}"
    nights.log("2026-11-21", "a")
    first = nights.run("2026-11-21", "--lookback", "1", option)
    assert first.status == 0
    assert ends(first)[0] == (
        "2026-11-20  exit status 0  not run again: there is no input, and no run: nothing was due"
    )
    assert ("2026-11-20: there is no input" in first.err) is (empty == "warn")
    quiet = nights.run("2026-11-22", option)
    assert quiet.status == 0 and ends(quiet)[-1].startswith("2026-11-22  exit status 0  not run: ")
    assert not (nights.folder / "out/2026-11-22").exists()
    nights.log("2026-11-22", "late")
    (nights.folder / "logs/dt=2026-11-23").mkdir()
    (nights.folder / "logs/dt=2026-11-23/a.jsonl").touch()
    empty_file = nights.run("2026-11-23", "--lookback", "2", option)
    assert empty_file.status == 0
    assert "not run: 1 input file without a byte (" in ends(empty_file)[-1]
    assert "a.jsonl" in ends(empty_file)[-1]
    assert nights.conversations("2026-11-22") == ["late"]


def test_what_is_missing_for_another_reason_stays_red_without_empty_dates(nights):
    nights.log("2026-11-21", "bad", agent="entirely different words")
    gate = ("--fail_on", "response_match_score", "--empty_dates", "ok")
    assert nights.run("2026-11-21", *gate).status == 1
    (nights.folder / "logs/dt=2026-11-21/a.jsonl").unlink()
    gone = nights.run("2026-11-21", *gate)
    assert gone.status == 1 and "there is no input; its run stays" in gone.out
    (nights.folder / "out/2026-11-22").mkdir()
    (nights.folder / f"out/2026-11-22/scores.{'0' * 32}.partial").touch()
    assert nights.run("2026-11-22", *gate).status == 2
    (nights.folder / "logs/dt=2026-11-23").mkdir()
    assert nights.run("2026-11-23", *gate).status == 0
    (nights.folder / "logs/dt=2026-11-23/export.log").touch()
    assert nights.run("2026-11-23", *gate).status == 2
    back = nights.run("2026-11-24", "--lookback", "1", *gate)
    assert (back.status, ends(back)[0][:25]) == (2, "2026-11-23  exit status 2")
    nights.log("2026-11-23", "a")
    assert nights.run("2026-11-23", *gate, input="logs/dt={date}/*.json").status == 2
    assert nights.run("2026-11-24", *gate, input="logs/dt={date}/*.json").status == 0
    assert nights.run("2026-11-24", *gate, input="logs/dt=2026-11-23/{date}*.jsonl").status == 0
    misspelt = nights.run("2026-11-22", *gate, input="lgos/dt={date}/")
    assert misspelt.status == 2 and "no date has input: there is no directory" in misspelt.err


def test_changed_eval_cases_are_another_run(nights):
    def cases(words, file="cases.json"):
        turn = {
            "user_content": {"role": "user", "parts": [{"text": "Hi"}]},
            "final_response": {"role": "model", "parts": [{"text": words}]},
        }
        case = {"eval_id": "a", "conversation": [turn]}
        write(nights.folder / file, {"eval_set_id": "s", "eval_cases": [case]})

    nights.log("2026-11-21", "a")
    cases("Hello")
    places = {"eval_cases": "cases.json"}
    assert nights.run("2026-11-21", **places).status == 0
    cases("Hello", "moved.json")
    assert nights.run("2026-11-21", eval_cases="moved.json").status == 0
    cases("Goodbye")
    nights.log("2026-11-22", "a")
    later = nights.run("2026-11-22", "--lookback", "1", **places)
    assert (later.status, ends(later)[0]) == (
        0,
        "2026-11-21  exit status 0  not run again: 1 input file as before; eval cases, config or judge are "
        "others since: --date 2026-11-21 --overwrite runs it again",
    )
    changed = nights.run("2026-11-21", **places)
    assert changed.status == 2
    assert "inputs, eval cases or config are others; --overwrite replaces it" in changed.err
    assert nights.run("2026-11-21", "--overwrite", **places).status == 0


def test_a_date_that_was_missed_runs(nights):
    nights.log("2026-11-20", "missed")
    nights.log("2026-11-21", "new")
    done = nights.run("2026-11-21", "--lookback", "1")
    assert done.status == 0
    assert ends(done)[0].startswith("2026-11-20  exit status 0  first run of this date: 1 conversation in ")
    assert nights.conversations("2026-11-20") == ["missed"]


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
    assert empty.startswith("2026-11-19  exit status 1  not run again: 1 input file without a byte (")
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
def test_dates_that_would_share_a_place_are_refused_before_the_first_run(nights, option, said):
    for day in ("2026-11-20", "2026-10-30", "2026-12-31"):
        nights.log(day, "a")
    name, _, value = option.partition("=")
    done = nights.run("2026-12-31..2027-01-01", "--lookback=365", "--overwrite", **{name: value})
    assert (done.status, done.out) == (2, "")
    assert f"2026-01-01 and 2026-01-02 {said}" in done.err and done.err.count("\n") == 1
    assert not (nights.folder / "out").exists()


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

    def run(argv):
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


def test_changes_cannot_be_known_of_a_database(nights):
    for day in (20, 21):
        nights.log(f"2026-11-{day}", "a")
    url = "postgresql://nobody@127.0.0.1:1/logs"
    done = nights.run("2026-11-21", "--lookback", "1", input=f"{url}?d={{date}}")
    assert done.status == 2
    assert "2026-11-20  exit status 2  --lookback: inputs are not all files and tables" in done.out


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


def test_what_a_killed_run_left_is_no_run(nights):
    nights.log("2026-11-21", "a")
    out = nights.folder / "out/2026-11-21"
    out.mkdir(parents=True)
    (out / f"scores.{'0' * 32}.partial").write_text("")
    (out / ".turnwise.lock").write_text("")
    assert nights.run("2026-11-21").status == 0
    assert nights.conversations("2026-11-21") == ["a"]


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


def test_a_late_file_never_replaces_a_run_of_another_config(nights):
    nights.log("2026-11-20", "a")
    assert nights.run("2026-11-20").status == 0
    (nights.folder / "config.json").write_text(json.dumps({"criteria": {"response_match_score": 0.6}}))
    nights.log("2026-11-20", "b", file="b.jsonl")
    nights.log("2026-11-21", "c")
    done = nights.run("2026-11-21", "--lookback", "1")
    assert done.status == 2
    assert "holds the run" in ends(done)[0]
    assert nights.conversations("2026-11-20") == ["a"]
    assert nights.conversations("2026-11-21") == ["c"]


def of_versions(words):
    """Returns 40 logs of each app version whose agent says something."""
    return [
        log(f"{version.rsplit('/', 1)[-1]}-{number}", said) | {"app_version": version}
        for version, said in words.items()
        for number in range(40)
    ]


def test_a_version_is_compared_with_itself_however_its_name_is_written(nights):
    """Another version that passed the night before makes this one no worse."""
    write(nights.folder / "config.json", {"criteria": {"response_match_score": 0.5}, "alerts": RULES[:1]})
    full = "projects/p/locations/l/apps/a/versions"
    write(
        nights.folder / "logs/dt=2026-11-19/a.jsonl",
        *of_versions({f"{full}/v1": "no", f"{full}/v2": "Hello"}),
    )
    write(nights.folder / "logs/dt=2026-11-22/a.jsonl", *of_versions({"v1": "no", "v2": "no", "v3": "no"}))
    nights.run("2026-11-19")
    later = nights.run("2026-11-22", f"--baseline={nights.folder}/out/{{date}}")
    said = [line.split("of app version ")[-1] for line in later.err.splitlines() if "alert: worse" in line]
    assert len(said) == 2 and "worse than 1" in said[0] and "worse than 0.5" in said[1], later.err
    assert nights.document("2026-11-22").alerts.night == 4, "nights without a run count"


def test_a_night_that_was_made_anew_is_not_counted_before_what_it_was_compared_with(nights):
    write(nights.folder / "config.json", {"criteria": {"response_match_score": 0.5}, "alerts": RULES[1:2]})
    for day in (19, 20, 21, 22):
        nights.log(f"2026-11-{day}", *map(str, range(40)), agent="no" if day == 22 else "Hello")
    earlier = f"--baseline={nights.folder}/out/{{date}}"
    for day in (19, 20, 21):
        assert nights.run(f"2026-11-{day}", earlier).status == 0
    anew = nights.run("2026-11-19", f"--baseline={nights.folder}/out/2026-11-21", "--overwrite")
    assert anew.status == 0
    nights.run("2026-11-22", earlier)
    (alert,) = nights.document("2026-11-22").alerts.raised
    assert alert.baseline_count == 80
