"""Streams that are killed and started again: nothing is lost, nothing counts twice."""

import json
import signal
import time
from collections import Counter

import pytest

from tests.pipeline.logs import order

HOUR = 3600
START = (time.time() // HOUR - 10) * HOUR
SIZE = 1200
SESSIONS = 8
CRITERIA = {"response_match_score": 0.5, "tool_trajectory_avg_score": 1.0, "turn_latency": {}}


@pytest.fixture(scope="module")
def lines(moment):
    """Conversations over six hours, of two versions; and the events of others: two, an end, and one more."""

    def said(number, index, at):
        expected = f"Order {number} comes on {'Monday' if number % 3 else 'Tuesday, or never'}."
        turn = {"user": f"Where is order {number}?", "agent": f"Order {number} comes on Monday."}
        turn |= {"timestamp": moment(at), "latency_ms": 100 * (number % 7 + index)}
        return {**turn, "expected": {"response": expected}}

    def whole(number):
        at = START + number * 6 * HOUR / SIZE
        turns = [said(number, 0, at), said(number, 1, at + 1.5)]
        return {"conversation_id": f"c{number}", "app_version": f"v{number % 2}", "turns": turns}

    def event(number, index):
        at = START + 5.2 * HOUR + number + index
        base = {"conversation_id": f"s{number}", "turn_index": index, "event_time": moment(at)}
        return {**base, "app_version": "v0", "turn": said(number, index, at), "end": index == 2}

    return {
        "whole": [json.dumps(whole(number)) + "\n" for number in range(SIZE)],
        **{index: [json.dumps(event(n, index)) + "\n" for n in range(SESSIONS)] for index in range(4)},
    }


@pytest.fixture(scope="module")
def survivor(stream, lines, tmp_path_factory):
    """A stream that was killed at six points, and ended in order by the seventh process."""
    folder = tmp_path_factory.mktemp("killed")
    watched, config = folder / "in", folder / "config.json"
    watched.mkdir()
    config.write_text(json.dumps({"criteria": CRITERIA}))
    arguments = ["--input", watched, "--config", config, "--judge", "none"]
    whole = lines["whole"]

    def start():
        return stream(folder / "out", *arguments)

    with (watched / "a.jsonl").open("w") as file, (watched / "b.jsonl").open("w") as other:

        def write(to, *texts):
            to.write("".join(texts))
            to.flush()

        write(file, *whole[:400])
        one = start()
        one.until((folder / "out/progress.sqlite").exists).kill()
        one = start()
        one.until(lambda: one.committed() >= 1).kill()
        write(file, *lines[0], *lines[1], *whole[400:600], *lines[0][:3])
        one = start()
        one.until(lambda: one.committed() >= 600).kill()
        write(other, *lines[2][: SESSIONS // 2], *whole[600:900])
        one = start()
        one.until(lambda: one.committed() >= 900 + SESSIONS // 2).kill()
        write(file, *lines[3][: SESSIONS // 2], *lines[2][SESSIONS // 2 :], *whole[900:1100])
        one = start()
        one.until(lambda: one.committed() >= 1000).signal(signal.SIGTERM)
        one.until(lambda: one.committed() >= 1010).kill()
        one = start()
        one.until(lambda: one.committed() >= 1100 + SESSIONS).kill()
        write(other, *lines[3][SESSIONS // 2 :], *whole[1100:])
        one = start()
        one.until(lambda: one.committed("count(*) + sum(revision)") >= SIZE + 2 * SESSIONS)
        one.signal().finish()
    one.arguments = arguments
    return one


def test_every_conversation_has_one_result(survivor):
    assert survivor.status == 0 and survivor.err.count("\n") == 1
    names = Counter(row["displayName"].rsplit(" - ", 1)[1] for row in survivor.rows("results"))
    expected = [*(f"c{number}" for number in range(SIZE)), *(f"s{number}" for number in range(SESSIONS))]
    assert names == Counter(expected)
    assert survivor.rows("failures") == []
    assert f"{len(expected)} conversations = {len(expected)} results + 0 rejected" in survivor.out


def test_every_record_is_accounted_for_once(survivor):
    counts = survivor.document("run.json")["counts"]
    assert counts["records"] == counts["parsed_records"] == SIZE + 4 * SESSIONS + 3
    assert (counts["results"], counts["rejected_conversations"]) == (SIZE + SESSIONS, 0)
    assert (counts["replaced"], counts["repeated"], counts["late_conversations"]) == (SESSIONS, 0, 0)


def test_scores_are_those_of_the_last_revisions(survivor):
    rows = [row for row in survivor.rows("scores") if row["turn_index"] is not None]
    found = Counter((row["conversation_id"], row["criterion"], row["turn_index"]) for row in rows)
    assert set(found.values()) == {1}
    for number in range(SESSIONS):
        own = {row["turn_index"]: row["revision"] for row in rows if row["conversation_id"] == f"s{number}"}
        assert own == dict.fromkeys(range(4), 1)
    assert {row["revision"] for row in rows if row["conversation_id"].startswith("c")} == {0}


@pytest.fixture(scope="module")
def batch(survivor, turnwise, tmp_path_factory):
    """A batch over the files that the killed stream read."""
    output = tmp_path_factory.mktemp("batch") / "out"
    return turnwise("run", *survivor.arguments, output=output)


def test_scores_are_those_of_a_batch(survivor, batch):
    def scores(run):
        columns = ("conversation_id", "criterion", "turn_index", "value", "outcome")
        return Counter(tuple(row[column] for column in columns) for row in run.rows("scores"))

    assert batch.status == 0 and scores(survivor) == scores(batch)


COUNTED = ("count", "scored", "no_score", "errors", "pass_count", "fail_count")


@pytest.mark.parametrize("table", ["metrics_by_app_version", "metrics_by_turn"])
def test_windows_add_up_to_the_metrics_of_a_batch(survivor, batch, table):
    def sums(run):
        total = Counter()
        for row in run.rows(table):
            key = (row["app_version"], row["criterion"], row["level"], row.get("turn_index"))
            for column in COUNTED:
                total[*key, column] += row[column]
            total[*key, "sum"] += (row["mean"] or 0) * row["scored"]
        return +total

    assert sums(survivor) == pytest.approx(sums(batch))


def test_a_conversation_counts_in_the_hour_in_which_it_began(survivor, moment):
    hours = Counter((number * 6 // SIZE, f"v{number % 2}") for number in range(SIZE))
    hours[5, "v0"] += SESSIONS
    found = {
        (row["window_end"], row["app_version"]): row["conversations"] for row in survivor.windows().values()
    }
    assert found == {(moment(START + (hour + 1) * HOUR), version): n for (hour, version), n in hours.items()}


def test_a_killed_stream_with_a_judge_goes_on(stream, goes_on, turnwise, tmp_path):
    lines = [json.dumps(order(n)) + "\n" for n in range(150)]
    logs, config = tmp_path / "logs.jsonl", tmp_path / "config.json"
    config.write_text(json.dumps({"criteria": {"hallucinations_v1": 0.5}}))
    common = ["--input", logs, "--config", config, "--judge", "local", "--judge_cache", "none"]
    logs.write_text("".join(lines[:100]))
    one = stream(tmp_path / "out", *common)
    one.until_rows("results", 1).kill()
    with logs.open("a") as file:
        file.writelines(lines[100:])
    one = goes_on(tmp_path / "out", *common)
    batch = turnwise("run", *common, output=tmp_path / "batch")
    assert (one.status, batch.status) == (0, 0)
    values = [
        sorted((row["conversation_id"], row["turn_index"] or -1, row["value"]) for row in run.rows("scores"))
        for run in (one, batch)
    ]
    assert values[0] == values[1] and len(values[0]) >= 150
    assert turnwise("status", str(tmp_path / "out")).status == 0
    third = stream(tmp_path / "out", *common)
    third.until(lambda: not (tmp_path / "out/run.json").exists()).kill()
    done = turnwise("status", str(tmp_path / "out"))
    assert (done.status, "the run has not finished" in done.err) == (2, True)
