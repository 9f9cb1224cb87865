"""What ends a stream early: a second signal, a full disk, a judge that lets nobody in."""

import json
import os
import shutil
import signal
import sqlite3
from collections import Counter
from contextlib import closing

import pytest

from tests.pipeline.logs import lines, order, snapshot
from tests.tables import stated

pytestmark = pytest.mark.usefixtures("with_credentials")
MATCH = "final_response_match_v2"


@pytest.fixture
def judged(server, tmp_path):
    """Returns a function that writes conversations and gives the arguments of a run that judges them."""

    def arguments(size, cache="none", **more):
        logs, config = tmp_path / "logs.jsonl", tmp_path / "config.json"
        logs.write_text(lines(*map(order, range(size))))
        judge = {"base_url": server.url, "retry_delay_s": 0.01, **more}
        config.write_text(json.dumps({"criteria": {MATCH: 0.5, "response_match_score": 0.5}, "judge": judge}))
        return ["--input", logs, "--config", config, "--judge_cache", cache]

    return arguments


def values(run):
    rows = [(row["conversation_id"], row["criterion"], row["turn_index"]) for row in run.rows("scores")]
    return dict(zip(rows, [(r["value"], r["outcome"], r["label"]) for r in run.rows("scores")], strict=True))


def test_a_judged_stream_gives_what_a_batch_gives(stream, turnwise, server, judged, tmp_path):
    rules = [{"match": "order 2?", "values": {"verdict": "invalid"}}, {"match": "order 4?", "cut": 5}]
    server.script(*rules)
    arguments = judged(25)
    started = stream(tmp_path / "out", *arguments, "--stop_after", "25").finish()
    asked = server.stats()["requests"]
    server.script(*rules)
    batch = turnwise("run", *arguments, output=tmp_path / "batch")
    assert (started.status, started.err) == (0, "")
    assert values(started) == values(batch) and len(values(started)) >= 50
    assert asked == server.stats()["requests"] >= 25 * 3
    usages = [run.document("run.json")["judge"]["usage"]["gemini-2.5-flash"] for run in (started, batch)]
    for figure in ("calls", "tokens_in", "tokens_out", "unusable", "cached"):
        assert usages[0][figure] == usages[1][figure]


def test_streams_share_a_budget_of_a_day(stream, server, judged, tmp_path):
    """A stream that is started anew spends what is left, and says what it left out."""
    for name in ("one", "two"):
        arguments = judged(25, str(tmp_path / "replies.sqlite"), max_calls=40, per="day")
        done = stream(tmp_path / name, *arguments, "--stop_after", "25").finish()
        (spent, held) = (server.stats()["requests"], done.document("run.json"))
        assert spent <= 40 and held["judge"]["limits"]["per"] == "day"
        unmeasured = [row for row in done.rows("scores") if "budget" in (row["reason"] or "")]
        names = {row["conversation_id"] for row in unmeasured}
        assert held["counts"]["short_of_budget"] == len(names) > 0
        assert f"{len(names)} conversations with no score, because" in " ".join(done.out.split())


def test_credentials_that_are_refused_end_it_and_lose_nothing(stream, goes_on, server, judged, tmp_path):
    """What was judged before stays, the rest is read again."""
    arguments = judged(40)
    server.script({"skip": 60, "status": 401, "message": "revoked"})
    started = stream(tmp_path / "out", *arguments).finish()
    assert started.status == 2 and started.err.count("\n") == 1 and "credentials are refused" in started.err
    assert not (tmp_path / "out/run.json").exists()
    server.script()
    again = goes_on(tmp_path / "out", *arguments)
    names = Counter(row["name"] for row in again.rows("results"))
    assert again.status == 0 and len(names) == 40 and set(names.values()) == {1}
    assert {label or value for value, _, label in values(again).values()} >= {1.0} and len(
        values(again)
    ) >= 80
    counts = again.document("run.json")["counts"]
    assert (counts["records"], counts["results"], counts["rejected_conversations"]) == (40, 40, 0)


def test_nobody_is_told_to_wait_for_what_is_refused(stream, server, judged, tmp_path):
    """The other calls are in flight when the first is refused."""
    server.script({"match": "order 1?", "status": 401, "message": "revoked"}, {"delay_ms": 3_000})
    started = stream(tmp_path / "out", *judged(20)).finish()
    assert started.status == 2 and started.err.count("\n") == 1 and "credentials are refused" in started.err


def test_a_second_signal_ends_it_at_once(stream, goes_on, server, judged, tmp_path):
    arguments = judged(6)
    server.script({"delay_ms": 60_000})
    started = stream(tmp_path / "out", *arguments)
    started.until(lambda: server.stats()["in_flight"] >= 6).signal(signal.SIGINT)
    first = started.process.stderr.readline()
    assert "stopping: scoring what was read (press again to stop now)" in first
    assert started.process.poll() is None
    started.signal(signal.SIGTERM).finish()
    assert (started.status, started.err, started.rows("results")) == (143, "", [])
    server.script()
    again = goes_on(tmp_path / "out", *arguments)
    assert (again.status, len(again.rows("results"))) == (0, 6)


@pytest.mark.parametrize("size", [40_000, 300_000], ids=["at_once", "later"])
def test_a_full_disk_is_said_in_one_line_and_loses_nothing(stream, goes_on, tmp_path, size):
    logs, out = tmp_path / "logs.jsonl", tmp_path / "out"
    logs.write_text(lines(*map(order, range(300))))
    arguments = ["--input", logs, "--judge", "none"]
    started = stream(out, *arguments, file_size=size).finish()
    assert started.status == 1 and started.err.count("\n") == 1
    assert started.err in (
        f"turnwise: [Errno 27] File too large: '{out}'\n",
        f"turnwise: {out}/progress.sqlite: disk I/O error\n",
    )
    assert not (out / "run.json").exists()
    again = goes_on(out, *arguments)
    names = Counter(row["name"] for row in again.rows("results"))
    assert again.status == 0 and len(names) == 300 and set(names.values()) == {1}
    rows = again.rows("metrics_by_app_version")
    assert sum(row["conversations"] for row in rows if row["criterion"] == "verdict") == 300


def test_an_output_that_goes_away_is_said_in_one_line(stream, tmp_path):
    """Metrics cannot be written where there is no directory any more."""
    logs, out = tmp_path / "logs.jsonl", tmp_path / "out"
    logs.write_text(lines(order(0)))
    started = stream(out, "--input", logs, "--judge", "none", "--pane_every", "1")
    started.until(lambda: (out / "metrics_by_turn.jsonl").exists() and started.count("results"))
    os.rename(out, tmp_path / "moved")
    with logs.open("a") as file:
        file.write(lines(order(1)))
    started.finish()
    assert started.status == 1 and started.err.count("\n") == 1 and started.err.startswith("turnwise: ")


@pytest.fixture(scope="module")
def scored(goes_on, tmp_path_factory):
    """The folder of a stream that has scored 60 conversations, of another, and of one that got nothing."""
    folder = tmp_path_factory.mktemp("scored")
    for name, size in (("own", 60), ("other", 40), ("nothing", 0)):
        (folder / name).mkdir()
        logs = folder / name / "logs.jsonl"
        logs.write_text(lines(*map(order, range(size))))
        done = goes_on(folder / name / "out", "--input", logs, "--judge", "none", "--run_id", name)
        assert (done.status, len(done.rows("results"))) == (0 if size else 1, size)
    return folder


def change(path, how, scored):
    """Changes a file of a stream: its bytes, its database, or to that of another stream."""
    for key, given in how.items():
        text = path.read_bytes()
        if key == "sql":
            with closing(sqlite3.connect(path)) as connection:
                connection.execute(given)
                connection.commit()
        elif key == "of":
            shutil.copy(scored / given / "out" / path.name, path)
        elif key == "remove":
            path.unlink()
            path.touch()
        elif key == "kept":
            path.write_bytes(text[:given])
        elif key == "end":
            path.write_bytes(text[: -len(given)] + given.encode())
        elif key == "fill":
            path.write_bytes(text[:4096] + b"\0" * (len(text) - 4096))
        else:
            old, new = (part.encode() for part in given)
            assert old in text
            path.write_bytes(text.replace(old, new, 1))


@stated("unsound", "name, is_killed, how, said")
def test_progress_that_is_not_that_of_the_results_changes_nothing(
    goes_on, scored, tmp_path, name, is_killed, how, said
):
    """Results beside the progress of another stream would be cut off as rows that were not committed."""
    out = tmp_path / "out"
    shutil.copytree(scored / "own/out", out)
    if is_killed:
        (out / "run.json").unlink()
    change(out / "progress.sqlite", how, scored)
    before = snapshot(out)
    done = goes_on(out, "--input", scored / "own/logs.jsonl", "--judge", "none")
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
    assert f"--output {out}: " in done.err and "progress" in done.err and said in done.err
    assert snapshot(out) == before


@stated("rows", "table, how, said")
def test_rows_that_are_not_those_of_the_progress_are_refused(goes_on, scored, tmp_path, table, how, said):
    out = tmp_path / "out"
    shutil.copytree(scored / "own/out", out)
    path = out / f"{table}-00000.jsonl"
    change(path, how, scored) if how else path.unlink()
    done = goes_on(out, "--input", scored / "own/logs.jsonl", "--judge", "none")
    assert done.status == 2 and f"{path.name}: {said}" in done.err and (out / "run.json").exists()


def test_metrics_that_cannot_be_read_are_named_and_made_anew_when_they_are_gone(goes_on, scored, tmp_path):
    out = tmp_path / "out"
    shutil.copytree(scored / "own/out", out)
    path = out / "metrics_by_turn.jsonl"
    before = {name: (out / f"{name}.jsonl").read_bytes() for name in ("metrics_by_turn", "metrics_by_slice")}
    path.write_bytes(path.read_bytes()[:-20])
    arguments = out, "--input", scored / "own/logs.jsonl", "--judge", "none"
    done = goes_on(*arguments)
    assert done.status == 2 and f"{path}: is damaged: " in done.err and done.err.count("\n") == 1
    for name in ("metrics_by_turn", "metrics_by_app_version", "metrics_by_slice"):
        (out / f"{name}.jsonl").unlink()
    assert goes_on(*arguments).status == 0
    for name, content in before.items():
        rows = [
            map(json.loads, text.splitlines()) for text in (content, (out / f"{name}.jsonl").read_bytes())
        ]
        first, second = ([{**row, "pane": "", "revision": 0} for row in each] for each in rows)
        assert first == second


@pytest.mark.parametrize("left", ["nothing", "a log of zero bytes", "a zero file", "no log"])
def test_what_a_kill_may_leave_is_gone_on_with(goes_on, scored, tmp_path, left):
    out, size = tmp_path / "out", 60
    if left == "a zero file":
        out.mkdir()
        (out / "progress.sqlite").touch()
        (out / "scores-00000.jsonl").touch()
    else:
        shutil.copytree(scored / "own/out", out)
        (out / "run.json").unlink()
        if left == "a log of zero bytes":
            (out / "progress.sqlite-wal").touch()
        with (out / "scores-00000.jsonl").open("ab") as file:
            file.write(b'{"run_id": "own", "half')
        (out / "scores-00001.jsonl").write_bytes(b'{"run_id": "own"}\n')
    done = goes_on(out, "--input", scored / "own/logs.jsonl", "--judge", "none")
    assert (done.status, len(done.rows("results")), done.document("run.json")["counts"]["results"]) == (
        *(0, size),
        size,
    )
    assert not (out / "scores-00001.jsonl").exists()
