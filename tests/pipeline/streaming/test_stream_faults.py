"""What ends a stream early: a second signal, a full disk, a judge that lets nobody in."""

import json
import os
import signal
from collections import Counter

import pytest

pytestmark = pytest.mark.usefixtures("with_credentials")
MATCH = "final_response_match_v2"


def conversation(number):
    turn = {
        "user": f"Where is order {number}?",
        "agent": f"Order {number} arrives on Monday.",
        "expected": {"response": f"Your order {number} will come on Monday."},
    }
    return json.dumps({"conversation_id": f"c{number}", "app_version": "v1", "turns": [turn]}) + "\n"


@pytest.fixture
def judged(server, tmp_path):
    """Returns a function that writes conversations and gives the arguments of a run that judges them."""

    def arguments(size):
        logs, config = tmp_path / "logs.jsonl", tmp_path / "config.json"
        logs.write_text("".join(map(conversation, range(size))))
        judge = {"base_url": server.url, "retry_delay_s": 0.01}
        config.write_text(json.dumps({"criteria": {MATCH: 0.5, "response_match_score": 0.5}, "judge": judge}))
        return ["--input", logs, "--config", config, "--judge_cache", "none"]

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
    assert (counts["records"], counts["results"], counts["lost_conversations"]) == (40, 40, 0)


def test_a_second_signal_ends_it_at_once(stream, goes_on, server, judged, tmp_path):
    arguments = judged(6)
    server.script({"delay_ms": 60_000})
    started = stream(tmp_path / "out", *arguments)
    started.until(lambda: server.stats()["in_flight"] >= 6).signal(signal.SIGINT)
    first = read_line(started.process.stderr)
    assert "stopping: scoring what was read (press again to stop now)" in first
    assert started.process.poll() is None
    started.signal(signal.SIGTERM).finish()
    assert (started.status, started.err, started.rows("results")) == (143, "", [])
    server.script()
    again = goes_on(tmp_path / "out", *arguments)
    assert (again.status, len(again.rows("results"))) == (0, 6)


def read_line(file):
    return file.readline()


@pytest.mark.parametrize("size", [40_000, 300_000], ids=["at_once", "later"])
def test_a_full_disk_is_said_in_one_line_and_loses_nothing(stream, goes_on, tmp_path, size):
    logs, out = tmp_path / "logs.jsonl", tmp_path / "out"
    logs.write_text("".join(map(conversation, range(300))))
    arguments = ["--input", logs, "--judge", "none"]
    started = stream(out, *arguments, file_size=size).finish()
    assert started.status == 1 and started.err.count("\n") == 1
    assert started.err in (
        "turnwise: [Errno 27] File too large\n",
        "turnwise: progress.sqlite: disk I/O error\n",
    )
    assert not (out / "run.json").exists()
    again = goes_on(out, *arguments)
    names = Counter(row["name"] for row in again.rows("results"))
    assert again.status == 0 and len(names) == 300 and set(names.values()) == {1}
    rows = again.rows("metrics_by_app_version")
    assert sum(row["conversations"] for row in rows if row["criterion"] == "evaluation_status") == 300


def test_an_output_that_goes_away_is_said_in_one_line(stream, tmp_path):
    """Metrics cannot be written where there is no directory any more."""
    logs, out = tmp_path / "logs.jsonl", tmp_path / "out"
    logs.write_text(conversation(0))
    started = stream(out, "--input", logs, "--judge", "none", "--pane_every", "1")
    started.until(lambda: (out / "metrics_by_turn.jsonl").exists() and started.count("results"))
    os.rename(out, tmp_path / "moved")
    with logs.open("a") as file:
        file.write(conversation(1))
    started.finish()
    assert started.status == 1 and started.err.count("\n") == 1 and started.err.startswith("turnwise: ")
