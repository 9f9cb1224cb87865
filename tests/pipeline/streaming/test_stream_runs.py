"""Whole streams: files that appear while they run, events one by one, standard input, their ends."""

import gzip
import json
import os
import re
import signal
import subprocess
import time
from collections import Counter

import pytest

from tests.pipeline.logs import lines, log
from tests.served import terminal
from turnwise.schemas.config import EvalConfig

RULE = {"name": "many-fail", "criterion": "verdict", "measure": "pass_rate", "below": 0.9}
# What names the run and the place, and what a stream adds.
OWN = ("run_id", "createTime", "evaluationRun", "source", "window_start", "window_end", "pane", "revision")
NOW = time.time()


def comparable(rows):
    kept = [{key: value for key, value in row.items() if key not in OWN} for row in rows]
    return sorted(kept, key=lambda row: json.dumps(row, sort_keys=True))


@pytest.fixture(scope="module")
def sample_stream(stream, drop, sample, tmp_path_factory):
    """The sample data, dropped file by file, with alerts; ended by SIGTERM, and once more by itself."""
    folder = tmp_path_factory.mktemp("sample")
    watched, config = folder / "in", folder / "config.json"
    watched.mkdir()
    alerts = [{**RULE, "min_count": 1}]
    config.write_text(json.dumps({"criteria": EvalConfig().model_dump()["criteria"], "alerts": alerts}))
    arguments = ["--input", watched, "--eval_cases", sample / "cases", "--config", config]
    arguments += ["--allowed_lateness", "31536000"]
    started = stream(folder / "out", *arguments)
    records = (sample / "conversations/ces.jsonl").read_bytes().splitlines(keepends=True)
    started.until(lambda: (folder / "out/progress.sqlite").exists())
    drop(watched / "first.jsonl", b"".join(records[:21]))
    started.until_rows("results", 5)
    with (watched / "ces.jsonl").open("wb") as file:
        for line in records[21:]:
            file.write(line)
            file.flush()
    for path in sorted((sample / "conversations").glob("*.json")):
        drop(watched / path.name, path.read_bytes())
    started.until_rows("results", 59)
    started.signal(signal.SIGTERM).finish()
    started.arguments = arguments
    return started


def test_a_stream_is_ended_in_order(sample_stream):
    assert sample_stream.status == 0
    alerts = [f"turnwise: alert: {row['message']}" for row in sample_stream.rows("alerts")]
    assert alerts and sorted(sample_stream.err.splitlines()) == sorted(
        [*alerts, "turnwise: stopping: scoring what was read (press again to stop now)"]
    )


@pytest.mark.parametrize("table", ["scores", "results", "failures"])
def test_its_rows_are_those_of_a_batch(sample_stream, sample_run, table):
    rows = comparable(sample_stream.rows(table))
    others = comparable(sample_run.rows(table))
    for row in (*rows, *others):
        row.pop("position", None)
    assert rows == sorted(others, key=lambda row: json.dumps(row, sort_keys=True)) and rows


def test_its_totals_are_those_of_a_batch(sample_stream, sample_run):
    assert by_version(sample_stream) == by_version(sample_run)
    (table, ending), (others, other_ending) = map(shown, (sample_stream, sample_run))
    assert table == others and ending == other_ending
    counts, others = (run.document("run.json")["counts"] for run in (sample_stream, sample_run))
    same = ("records", "parsed_records", "rejected_records", "results", "conversations", "failures")
    assert {name: counts[name] for name in same} == {name: others[name] for name in same}
    assert (counts["replaced"], counts["repeated"], counts["late_conversations"]) == (0, 0, 0)
    assert sum(row["conversations"] for row in sample_stream.windows().values()) == 59


def shown(run):
    """Returns the lines of the table of app versions, and the text that balances the run."""
    table = re.search(r"^(?=.*\(no version\)) +.*?(?=\n\n)", run.out, flags=re.DOTALL | re.MULTILINE)[0]
    end = r"^\d+ records = .*?(?=^eval cases were|^list the tools)"
    ending = re.search(end, run.out, flags=re.DOTALL | re.MULTILINE)[0]
    ending = re.sub(r"^ +such as .*\n(?: +.*\n)*", "", ending, flags=re.MULTILINE)
    return {re.sub(" {2,}", "|", line.strip()) for line in table.splitlines()}, ending


def by_version(run):
    entries = run.document("aggregated_metrics.json")["metricsByAppVersion"]
    found = {entry.get("appVersionId"): entry for entry in entries}
    assert len(found) == len(entries)
    return found


def test_an_alert_is_written_once_a_window(sample_stream, turnwise):
    """Also by a process that goes on with the same windows."""
    alerts = sample_stream.rows("alerts")
    rows = [row for row in sample_stream.windows().values() if row["pass_rate"] is not None]
    expected = {(row["window_start"], row["app_version"]) for row in rows if row["pass_rate"] < 0.9}
    assert {(alert["window_start"], alert["app_version"]) for alert in alerts} == expected
    assert len(expected) > 2
    assert len(alerts) == len(expected) and {alert["rule"] for alert in alerts} == {"many-fail"}
    before = {name: comparable(sample_stream.rows(name)) for name in ("results", "metrics_by_app_version")}
    arguments = (*sample_stream.arguments, "--max_run_time=0.5")
    again = turnwise("run", "--streaming", *arguments, output=sample_stream.directory)
    assert again.status == 0 and again.out == sample_stream.out
    assert sample_stream.rows("alerts") == alerts
    assert {name: comparable(sample_stream.rows(name)) for name in before} == before


def turn(name, index, at, **more):
    said = {"user": f"Where is order {index}?", "agent": f"Order {index} is on its way."}
    return {"conversation_id": name, "turn_index": index, "event_time": at, "turn": said, **more}


def ces_entry(name, index, at, **payload):
    said = {"turnIndex": index, "outputs": [{"text": f"reply {index}"}], **payload}
    return {"labels": {"session_id": name, "app_version": "v2"}, "timestamp": at, "jsonPayload": said}


def adk_event(name, number, author, at, **envelope):
    event = {"id": f"{name}-{number}", "invocation_id": f"i{number // 2}", "author": author, "timestamp": at}
    role = "user" if author == "user" else "model"
    event["content"] = {"role": role, "parts": [{"text": f"text {number}"}]}
    return {"session_id": name, "app_name": "app", "event": event, **envelope}


@pytest.fixture(scope="module")
def event_stream(stream, moment, tmp_path_factory):
    """Events of five conversations, in one growing file; what stood there when each step was done."""
    folder = tmp_path_factory.mktemp("events")
    path = folder / "events.jsonl"
    path.touch()
    started = stream(folder / "out", "--input", path, "--session_gap", "20", "--judge", "none")
    started.steps, started.path = [], path
    at = [moment(NOW - 1000 + seconds) for seconds in range(1000)]
    write = writer(path)

    def closed(*names):
        started.until(lambda: set(names) <= {row["name"] for row in called(started)})
        started.steps.append({row["name"]: row["revision"] for row in called(started)})

    write(turn("gap", 1, at[2]), turn("gap", 0, at[1]), turn("gap", 1, at[2]), turn("open", 0, at[3]))
    write(turn("ends", 0, at[1], app_version="v1"), turn("ends", 1, at[4], end=True))
    write(ces_entry("ces", 1, at[1]), ces_entry("ces", 2, at[2]))
    write(ces_entry("ces", 3, at[5], endSession={}))
    write(adk_event("adk", 0, "user", NOW - 999), adk_event("adk", 1, "agent", NOW - 998, end=True))
    closed("ends", "ces", "adk")
    write(turn("open", 1, at[20]), turn("open", 2, at[35]), turn("later", 0, at[52]))
    closed("gap")
    write(turn("gap", 2, at[9], app_version="v3"))
    started.until(lambda: any((r["name"], r["revision"]) == ("gap", 1) for r in called(started)))
    closed("gap")
    started.signal(signal.SIGINT).finish()
    return started


def called(started):
    """Returns (conversation, revision) of what is scored, one a result; turns have a score each."""
    rows = started.rows("results")
    names = {row["name"]: row["displayName"].rsplit(" - ", 1)[1] for row in rows}
    found = Counter(row["name"] for row in rows)
    return [{"name": names[name], "revision": n} for name, count in found.items() for n in range(count)]


def writer(path):
    def write(*values):
        with path.open("a") as file:
            file.write(lines(*values))

    return write


def test_events_end_by_themselves_by_a_gap_or_with_the_stream(event_stream):
    assert event_stream.status == 0
    first, second, _ = event_stream.steps
    assert set(first) == {"ends", "ces", "adk"}, "an end that is said closes at once"
    assert set(second) == {"ends", "ces", "adk", "gap"}, "a gap closes only who was silent"
    results = event_stream.rows("results")
    names = Counter(row["displayName"].rsplit(" - ", 1)[1] for row in results)
    assert names == dict.fromkeys(("gap", "open", "ends", "ces", "adk", "later"), 1)


def test_a_late_event_gives_a_revision_in_the_place_of_the_result(event_stream):
    document = event_stream.document("run.json")["counts"]
    assert (document["results"], document["replaced"], document["records"]) == (6, 1, 15)
    rows = [row for row in event_stream.windows().values() if row["conversations"]]
    assert sum(row["conversations"] for row in rows) == 6
    assert sum(row["turns"] for row in rows) == 3 + 3 + 2 + 3 + 1 + 1
    counted = Counter[str | None]()
    for row in rows:  # an hour may end between the conversations of a version
        counted[row["app_version"]] += row["conversations"]
    assert counted == {None: 3, "v1": 1, "v2": 1, "v3": 1}


def test_joined_events_are_what_a_batch_joins(event_stream, turnwise, tmp_path):
    batch = turnwise("run", "--input", event_stream.path, "--judge", "none", output=tmp_path / "out")
    assert batch.status == 0
    for table in ("scores", "results"):
        assert comparable(event_stream.rows(table)) == comparable(batch.rows(table))
    assert by_version(event_stream) == by_version(batch)


def conversation(number):
    said = {"user": f"Where is order {number}?", "agent": f"Order {number} comes on Monday.", "latency_ms": 5}
    return {"conversation_id": f"c{number}", "app_version": "v1", "turns": [said]}


def test_standard_input_is_scored_to_its_end(stream, moment, tmp_path):
    """Whole conversations, an open one, an event twice, a clock that is ahead, a line that is no JSON.

    The window is not over when the stream ends, only sooner than its sessions: a low count is no alert.
    """
    config = tmp_path / "config.json"
    few = {"criterion": "verdict", "measure": "count", "below": 99}
    rules = [{"name": "quiet", **few}, {"name": "gone", "app_version": "v9", **few}]
    config.write_text(json.dumps({"criteria": {"turn_latency": 60}, "alerts": rules}))
    options = ("--input", "-", "--judge", "none", "--config", config, "--window")
    ending = str(int(time.time() + 500) // 2 + 1)  # the second window since 1970 ends in 500 s
    started = stream(tmp_path / "out", *options, ending, stdin=subprocess.PIPE)
    ahead = turn("ahead", 0, moment(NOW + 3600))
    events = [turn("open", 0, moment(NOW)), turn("open", 1, moment(NOW + 1)), ahead]
    written = lines(*map(conversation, range(5)), *events, *events, "", "no json", conversation(5))
    started.stdin.write(written.removesuffix("\n"))
    started.finish()
    untested = "turnwise: alert rules not tested: gone: no conversation of such an app version was scored\n"
    assert (started.status, started.err) == (0, untested)
    assert {row["pane"] for row in started.windows().values()} == {"EARLY"}
    names = sorted(row["displayName"].rsplit(" - ", 1)[1] for row in started.rows("results"))
    assert names == ["ahead", *(f"c{number}" for number in range(6)), "open"]
    assert "13 records = 12 parsed + 1 rejected; 8 conversations = 8 results + 0 rejected" in started.out
    assert sum(row["conversations"] for row in started.windows().values()) == 8
    assert all(row["window_start"] <= moment(time.time()) for row in started.windows().values())


def test_the_live_view_moves_in_place_and_leaves_no_trace(stream, tmp_path):
    logs = tmp_path / "logs.jsonl"
    logs.write_text(lines(*map(conversation, range(20))))
    with terminal() as (theirs, shown):
        options = ("--input", logs, "--judge", "none", "--pane_every", "1")
        started = stream(tmp_path / "out", *options, stderr=theirs)
        os.close(theirs)
        started.until(lambda: b"".join(shown).count(b"turnwise stream") >= 3)
        # How wide a column is depends on what else stands in it.
        started.until(lambda: re.search(rb"\bconversations +20\b", b"".join(shown)))
        with logs.open("a") as file:
            file.write(lines(conversation(20)))
        started.until(lambda: b" 21 results" in b"".join(shown))
        started.signal().finish()
        assert started.status == 0
    text = b"".join(shown).decode()
    screens = text.split("turnwise stream")
    assert all(screen.rstrip(" \r").endswith("F") for screen in screens[1:-1]), "back to the first line"
    assert text.endswith("\x1b[J") and "pass rate" in text and "last windows" in text


BROKEN_OFF = {
    "cut.jsonl.gz": lambda text: gzip.compress(text)[:-20],
    "cut.jsonl": lambda text: text[:-20],
    "cut.json": lambda text: b"[" + b",".join(text.splitlines())[:-20],
    "utf_16.jsonl": lambda text: text.decode().encode("utf-16"),
    "cut.parquet": lambda text: b"PAR1" + text,
}


@pytest.mark.parametrize("age", [0, 3600], ids=["new", "old"])
@pytest.mark.parametrize("name", BROKEN_OFF)
def test_an_input_that_breaks_off_fails_a_stream_whatever_may_fail(goes_on, tmp_path, name, age):
    logs, config = tmp_path / "logs", tmp_path / "config.json"
    logs.mkdir()
    rules = {"rules": [{"rule": "coverage", "at_least": 0}]}
    config.write_text(json.dumps({"criteria": {"response_match_score": 0.5}, "gate": rules}))
    rows = [lines(log(f"c{n}")).encode() for n in range(20)]
    (logs / "whole.jsonl").write_bytes(b"".join(rows[:10]))
    (logs / name).write_bytes(BROKEN_OFF[name](b"".join(rows[10:])))
    os.utime(logs / name, (time.time() - age,) * 2)
    done = goes_on(tmp_path / "out", "--input", logs, "--config", config, "--max_failure_ratio", "1")
    assert done.status == 1 and "an unknown number of records is missing" in done.err
    assert done.document("run.json")["exit_status"] == 1 and len(done.rows("results")) >= 10
