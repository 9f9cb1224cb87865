"""Streams into BigQuery: the views hold the rows of the files, also after faults and kills."""

import json
import os
import re
import shutil
from pathlib import Path

import apache_beam as beam
import grpc
import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.testing.test_pipeline import TestPipeline as Pipeline

from tests.bigquery.append import AppendFault
from tests.pipeline.io.test_otlp_sink import attributes, receiver
from tests.pipeline.io.warehouse.conftest import DATASET, PROJECT, conversation, place
from tests.pipeline.io.warehouse.test_documented_queries import QUERIES
from tests.pipeline.streaming.conftest import Stream
from tests.tables import rows_of
from turnwise.pipeline.io.sinks import StreamChange, prepare_service
from turnwise.pipeline.streaming.beam import WriteChanges
from turnwise.schemas.rows import WAREHOUSE_TABLES, columns

URL = f"bigquery://{PROJECT}/{DATASET}"
CRITERIA = {"response_match_score": 0.5, "hallucinations_v1": 0.5}
Status = grpc.StatusCode


@pytest.fixture
def logs(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    (tmp_path / "config.json").write_text(json.dumps({"criteria": CRITERIA}))
    return folder


def arguments(logs):
    config = str(logs.parent / "config.json")
    return ["--input", str(logs), "--config", config, "--judge", "none", "--store", URL]


def write(logs, name, *records):
    partial = logs / f".{name}"
    partial.write_text("".join(json.dumps(record) + "\n" for record in records))
    partial.rename(logs / f"{name}.jsonl")


def event(name, index, **more):
    turn = {"user": "Hi", "agent": "Hello", "expected": {"response": "Hello"}}
    at = f"2026-11-21T08:00:0{index}Z"
    return {"conversation_id": name, "turn_index": index, "turn": turn, "event_time": at} | more


def sorted_rows(rows):
    return sorted(json.dumps(row, sort_keys=True) for row in rows)


def assert_same(bigquery, directory):
    """Compares the views with the files of a stream that has ended."""
    for table in WAREHOUSE_TABLES:
        found = bigquery.select(f"SELECT * EXCLUDE (date) FROM {table}")
        for row in found:
            row |= {c.name: json.loads(row[c.name]) for c in columns(table) if c.is_json and row[c.name]}
        assert sorted_rows(found) == sorted_rows(rows_of(directory, table)), table


def test_the_views_hold_the_rows_of_the_files(bigquery, appends, logs, goes_on, tmp_path):
    first = [conversation("c1", said="Bye"), conversation("c2", "v2"), {"turns": "none"}]
    write(logs, "a", *first, event("s1", 0, app_version="v1"), event("s1", 1, end=True), event("s2", 1))
    out = tmp_path / "out"
    with receiver(lambda number: (200, 0)) as (url, taken):
        done = goes_on(out, *arguments(logs), "--scores_to", url)
    assert done.status == 0 and f"store: {URL}" in done.out and f"scores: sent to {url}" in done.out
    assert {attributes(record)["gen_ai.conversation.id"] for _, record in taken} == {"c1", "c2", "s1", "s2"}
    assert_same(bigquery, out)
    before = len(bigquery.rows("stream_scores"))
    # A conversation is replaced, one goes on, one gets what was missing; windows lose and get conversations.
    write(logs, "b", conversation("c1", "v3"), event("s1", 2, end=True), event("s2", 0, end=True))
    appends.faults.append(AppendFault("", Status.UNAVAILABLE, is_written=True, times=3))
    assert goes_on(out, *arguments(logs)).status == 0
    assert_same(bigquery, out)
    assert len(bigquery.rows("stream_scores")) > before
    answers = [bigquery.select(query) for query in QUERIES]
    assert goes_on(out, *arguments(logs)).status == 0
    # The row of a window without a conversation goes when a stream starts.
    answers[0] = [row for row in answers[0] if row["scores"]]
    assert [bigquery.select(query) for query in QUERIES] == answers
    assert_same(bigquery, out)
    assert_queries(answers)


def assert_queries(answers):
    """Checks what the documented queries say: nothing is counted twice, and nothing that was replaced."""
    name = "response_match_score"
    versions = {row["app_version"]: row["scores"] for row in answers[0] if row["criterion"] == name}
    assert versions == {"v1": 1, "v2": 1, "v3": 1, None: 1}
    assert [row["number"] for row in answers[3] if row["stage"] == "parse"] == [1]
    [scores] = [row["scores"] for row in answers[4] if row["criterion"] == name]
    assert scores == 2 + 2 + 4 + 3


def test_a_killed_stream_goes_on_without_loss_or_double(bigquery, appends, logs, goes_on, tmp_path):
    write(logs, "a", *(conversation(f"c{i}") for i in range(20)))
    appends.faults.append(AppendFault("changes", error=Status.INTERNAL, times=10**6))
    out = tmp_path / "out"
    one = Stream(out, arguments(logs))
    try:
        one.until(lambda: bigquery.tables.get("stream_scores") and bigquery.rows("stream_scores"))
    finally:
        one.kill()
    assert bigquery.select("SELECT * FROM scores") == []
    appends.faults.clear()
    assert goes_on(out, *arguments(logs)).status == 0
    assert_same(bigquery, out)
    assert len(bigquery.select("SELECT * FROM conversations")) == 20


def test_rows_that_are_not_taken_stay_problems_until_they_are_replaced(
    bigquery, appends, logs, goes_on, tmp_path
):
    write(logs, "a", conversation("c1"), conversation("c2", "v2"))
    appends.refused_values["'app_version': 'v2'"] = "no such version"

    def problems():
        done = goes_on(tmp_path / "out", *arguments(logs))
        found: list[str] = json.loads((tmp_path / "out/run.json").read_text())["problems"]
        assert done.status == (1 if found else 0)
        return found

    first = problems()
    assert {line.partition(" was not")[0].partition(": a row of ")[2] for line in first[:-1]} == {
        "scores",
        "metrics_by_app_version",
    }
    assert re.fullmatch(r"\d+ more rows were not written into the --store", first[-1])
    # A later process has nothing to write, or other rows.
    assert problems() == first
    write(logs, "b", conversation("c3"))
    assert problems() == first
    appends.refused_values.clear()
    write(logs, "c", conversation("c2", "v3"))
    assert problems() == []
    assert_same(bigquery, tmp_path / "out")


def test_a_stream_is_bound_to_its_store(bigquery, appends, logs, goes_on, tmp_path):
    write(logs, "a", conversation("c1"))
    out, without = tmp_path / "out", arguments(logs)[:-2]

    def assert_refused(said, *given):
        done = goes_on(out, *given)
        assert done.status == 2 and done.err.count("\n") == 1 and (out / "run.json").exists()
        assert f"holds a stream {said}; --overwrite replaces it" in done.err

    assert goes_on(out, *without).status == 0
    assert_refused("without --store", *arguments(logs))
    assert goes_on(out, *arguments(logs), "--overwrite").status == 0
    assert len(bigquery.select("SELECT * FROM conversations")) == 1
    assert_refused(f"with --store {URL}", *without)


def test_a_new_stream_never_meets_the_rows_of_an_earlier_one_of_its_id(
    bigquery, appends, logs, goes_on, turnwise, tmp_path
):
    out, live = tmp_path / "out", ("--run_id", "live")
    write(logs, "a", conversation("c1", said="Bye"), conversation("c2"))
    assert goes_on(out, *arguments(logs), *live).status == 0
    for log in logs.iterdir():
        log.unlink()
    write(logs, "b", conversation("c1"), conversation("c3"))
    for directory, more in ((out, ["--overwrite"]), (tmp_path / "other", [])):
        done = goes_on(directory, *arguments(logs), *live, *more)
        assert done.status == 2 and "holds a stream with the run id live already" in done.err
    far = ["--runner=PrismRunner", "--environment_type=LOOPBACK"]
    given = ["--streaming", "--input", f"{logs}/", *arguments(logs)[2:], *live, *far]
    done = turnwise("run", *given, output=tmp_path / "other")
    assert done.status == 2 and "holds a stream with the run id live already" in done.err
    assert not (tmp_path / "other").exists() and (out / "run.json").exists()
    assert goes_on(out, *arguments(logs), "--run_id", "live-2", "--overwrite").status == 0
    rows = bigquery.select("SELECT conversation_id FROM conversations WHERE run_id = 'live-2' ORDER BY ALL")
    assert [row["conversation_id"] for row in rows] == ["c1", "c3"]


def test_a_signal_ends_a_stream_whose_service_does_not_answer(bigquery, appends, logs, goes_on, tmp_path):
    write(logs, "a", conversation("c1"))
    fault = AppendFault("scores", Status.UNAVAILABLE, message="no service", times=10**6)
    appends.faults.append(fault)
    one = Stream(tmp_path / "out", arguments(logs))
    try:
        one.until(lambda: ("stream_scores", 0) in appends.appended)
        one.signal().finish()
    finally:
        one.process.kill()
    assert one.status == 1 and "no service; no answer since 20" in one.err
    assert "nothing is lost: the same command goes on" in one.err and "Traceback" not in one.err
    appends.faults.clear()
    assert goes_on(tmp_path / "out", *arguments(logs)).status == 0
    assert_same(bigquery, tmp_path / "out")


def test_a_stream_on_another_runner_writes_changes_in_batches(bigquery, appends, tmp_path):
    there = place(URL, tmp_path, "live")._replace(is_streaming=True)
    prepare_service(there)
    rows = [
        StreamChange("live", f"record {i % 30}", 0, None, {"failures": [failure(i % 30)]}) for i in range(60)
    ]
    appends.faults.append(AppendFault("", Status.UNAVAILABLE, is_written=True, times=2))
    with Pipeline(options=PipelineOptions([])) as pipeline:
        _ = pipeline | beam.Create([None, *rows]) | WriteChanges([there])
    found = bigquery.select("SELECT message FROM failures ORDER BY ALL")
    assert [row["message"] for row in found] == [f"{i:02}" for i in range(30)]
    assert len(appends.appended) < 20


def failure(number):
    empty = {column.name: None for column in columns("failures")}
    return empty | {"run_id": "live", "stage": "parse", "message": f"{number:02}"}


@pytest.mark.parametrize("store", ["parquet:/tmp/lake", "sqlite:///store.db"])
def test_stores_that_take_no_stream(logs, goes_on, store):
    given = [*arguments(logs)[:-1], store]
    done = goes_on(logs.parent / "out", *given)
    assert done.status == 2 and not (logs.parent / "out").exists()
    assert "takes no stream; one goes to bigquery://PROJECT/DATASET, or into JSON Lines" in done.err


PRISM = shutil.which("prism", path=os.pathsep.join([os.environ.get("PATH", ""), str(Path.home() / "go/bin")]))


@pytest.fixture
def on_prism(logs, tmp_path):
    """Starts a stream on Prism, and ends it."""
    if PRISM is None:
        pytest.skip("prism is not installed (go install .../cmd/prism)")
    given = [*arguments(logs), "--runner=PrismRunner", f"--prism_location={PRISM}"]
    given[1] += "/"
    log = (tmp_path / "log").open("wb")
    given += ["--environment_type=LOOPBACK", "--pane_every=2"]
    started = Stream(tmp_path / "out", given, stdout=log, stderr=log)
    yield started
    started.signal(2).process.wait(timeout=120)
    log.close()


def test_a_stream_on_prism(bigquery, appends, logs, on_prism, tmp_path):
    write(logs, "a", conversation("c1"), conversation("c2"), {"turns": "none"})
    wanted = {"conversations": 2, "failures": 1, "scores": 8, "metrics_by_app_version": 5}
    on_prism.until(
        lambda: (
            wanted.keys() <= bigquery.tables.keys()
            and {table: len(bigquery.select(f"SELECT * FROM {table}")) for table in wanted} == wanted
        )
    )
