"""Whole runs on rows of BigQuery."""

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.pipeline.io.warehouse.conftest import PROJECT
from turnwise.pipeline.runs.directory import RunDirectory, open_run
from turnwise.schemas.run import InputFile

EVENTS = f"bigquery://{PROJECT}/logs/agent_events"
CONVERSATION = [("conversation_id", "STRING"), ("turns", "JSON")]
# The columns of the table that google-adk's plugin makes.
COLUMNS = [
    ("timestamp", "TIMESTAMP"),
    ("event_type", "STRING"),
    ("agent", "STRING"),
    ("session_id", "STRING"),
    ("invocation_id", "STRING"),
    ("span_id", "STRING"),
    ("content", "JSON"),
    ("attributes", "JSON"),
    ("latency_ms", "JSON"),
    ("status", "STRING"),
    ("error_message", "STRING"),
    ("is_truncated", "BOOLEAN"),
]
SECOND = 1_000_000


def event(place: int, kind: str, span: str, content: Any, latency: int | None = None) -> list[Any]:
    time = str(1763719200 * SECOND + place * SECOND)
    waited = None if latency is None else json.dumps({"total_ms": latency})
    said = json.dumps(content)
    return [time, kind, "desk", "s-1", "i-1", span, said, None, waited, "OK", None, "false"]


AGENT_EVENTS = [
    event(0, "USER_MESSAGE_RECEIVED", "u", {"text_summary": "Book two seats"}),
    event(0, "INVOCATION_STARTING", "u", None),
    event(1, "TOOL_STARTING", "t", {"tool": "book", "args": {"seats": 2}}),
    event(2, "TOOL_COMPLETED", "t", {"tool": "book", "result": {"ok": True}}, 900),
    event(3, "LLM_RESPONSE", "l", {"response": "text: 'Done.'"}, 700),
    event(4, "INVOCATION_COMPLETED", "u", None, 4000),
]


def conversations(*names: str) -> list[list[Any]]:
    turn = {"user": "x", "agent": "y", "expected": {"response": "y"}}
    return [[name, json.dumps([turn])] for name in names]


def scored(run: RunDirectory) -> list[tuple[str, str]]:
    return sorted((row["conversation_id"], str(row["transcript"])) for row in run.conversations())


def test_agent_events_read_as_from_a_file(rows, turnwise, tmp_path):
    rows.page = 4
    rows.answer("SELECT", COLUMNS, *AGENT_EVENTS)
    done = turnwise("run", "--input", EVENTS, output=tmp_path / "rows")
    assert done.status == 0, done.err
    assert "6 records = 6 parsed + 0 rejected; 1 conversation = 1 result" in done.out
    log = tmp_path / "log.jsonl"
    names = [name for name, _ in COLUMNS]
    with log.open("w") as file:
        for row in AGENT_EVENTS:
            values = dict(zip(names, row, strict=True))
            times = f"2025-11-21T10:00:0{(int(row[0]) // SECOND) % 60}Z"
            texts = {name: json.loads(values[name]) for name in ("content", "latency_ms") if values[name]}
            file.write(json.dumps(values | texts | {"timestamp": times, "is_truncated": False}) + "\n")
    assert turnwise("run", "--input", log, output=tmp_path / "file").status == 0
    found = scored(open_run(str(tmp_path / "rows")))
    assert found == scored(open_run(str(tmp_path / "file")))
    [(_, transcript)] = found
    assert all(text in transcript for text in ("Book two seats", "Done.", "seats")), transcript


def test_rows_and_files_are_read_together_and_bad_rows_have_their_place(rows, turnwise, tmp_path):
    rows.answer("SELECT", CONVERSATION, *conversations("a", "b"), ["c", json.dumps({"no": "turns"})])
    turn = {"user": "x", "agent": "y", "expected": {"response": "y"}}
    (tmp_path / "log.jsonl").write_text(json.dumps({"conversation_id": "file", "turns": [turn]}))
    url = f"bigquery://{PROJECT}?query=SELECT * FROM logs.turns"
    done = turnwise("run", "--input", url, tmp_path / "log.jsonl", output=tmp_path / "out")
    assert done.status == 0, done.err
    run = open_run(str(tmp_path / "out"))
    assert [name for name, _ in scored(run)] == ["a", "b", "file"]
    [failure] = run.failures()
    assert (failure["stage"], failure["source"], failure["position"]) == ("parse", url, 3)


def partitioned(**more: Any) -> dict[str, Any]:
    fields = [{"name": "timestamp", "type": "TIMESTAMP"}]
    return {"schema": {"fields": fields}, "timePartitioning": {"type": "DAY", "field": "timestamp"}, **more}


def test_a_date_is_a_partition_and_a_changed_one_runs_again(rows, turnwise, tmp_path):
    state = [("bytes", "INTEGER"), ("changed", "TIMESTAMP")]
    rows.tables["turns"] = partitioned()
    rows.answer("PARTITIONS.*20261120", state, ["10", "1763719200000000"])
    rows.answer("PARTITIONS.*20261121", state, ["20", "1763805600000000"])
    rows.answer("'2026-11-20 00:00:00.00'", CONVERSATION, *conversations("old"))
    rows.answer("'2026-11-21 00:00:00.00'", CONVERSATION, *conversations("new"))
    options = [f"bigquery://{PROJECT}/logs/turns?partition={{date}}", "--output", str(tmp_path / "{date}")]
    assert turnwise("run", "--input", *options, "--date", "2026-11-20").status == 0
    document = open_run(str(tmp_path / "2026-11-20")).document
    assert document.input_files is not None
    assert document.input_files.files == [
        InputFile(f"bigquery://{PROJECT}/logs/turns?partition=2026-11-20", 10, "2025-11-21T10:00:00+00:00")
    ]
    rows.answers[0] = rows.answers[0]._replace(rows=[["11", "1763719900000000"]])
    rows.answers[2] = rows.answers[2]._replace(rows=conversations("old", "late"))
    done = turnwise("run", "--input", *options, "--date", "2026-11-21", "--lookback", "1")
    assert done.status == 0, done.err
    assert "2026-11-20  exit status 0  run again: 1 changed (bigquery://" in done.out
    assert [name for name, _ in scored(open_run(str(tmp_path / "2026-11-20")))] == ["late", "old"]
    assert [name for name, _ in scored(open_run(str(tmp_path / "2026-11-21")))] == ["new"]
    rows.answer("PARTITIONS.*202611(19|22)", state, [None, None])
    rows.answer("'2026-11-(19|22)", CONVERSATION)
    again = turnwise("run", "--input", *options, "--date", "2026-11-21..2026-11-22", "--lookback", "2")
    assert again.status == 2
    assert "2026-11-19  exit status 2  not run again: there is no input, and no run" in again.out
    assert "2026-11-20  exit status 0  not run again: 1 input file as before" in again.out
    assert "2026-11-22: there is no input of 2026-11-22" in again.out


def test_a_date_is_a_table_or_a_word_of_a_file_of_sql(rows, turnwise, tmp_path):
    rows.tables["turns_20261121"] = {"numBytes": "7", "lastModifiedTime": "1763719200000"}
    rows.answer("turns_20261121", CONVERSATION, *conversations("of-the-table"))
    rows.answer("day = '2026-11-21'", CONVERSATION, *conversations("of-the-query"))
    url = f"bigquery://{PROJECT}/logs/turns_{{date:%Y%m%d}}"
    (tmp_path / "daily.sql").write_text("SELECT * FROM logs.all\nWHERE day = '{date}'\n")
    for number, name in enumerate((url, f"bigquery://{PROJECT}?file={tmp_path}/daily.sql")):
        output = str(tmp_path / f"{number}-{{date}}")
        done = turnwise("run", "--input", name, "--output", output, "--date", "2026-11-21")
        assert done.status == 0, done.err
    assert [name for name, _ in scored(open_run(str(tmp_path / "0-2026-11-21")))] == ["of-the-table"]
    assert [name for name, _ in scored(open_run(str(tmp_path / "1-2026-11-21")))] == ["of-the-query"]


def test_a_page_that_fails_for_good_leaves_no_run(rows, turnwise, tmp_path):
    rows.page = 2
    rows.answer("SELECT", CONVERSATION, *conversations(*"abcdef"))
    rows.fail("READ .*offset=[1-9]", 404, "the result is gone", times=1000)
    done = turnwise("run", "--input", EVENTS, output=tmp_path / "out")
    assert done.status == 1
    assert done.err.splitlines()[1:] == [f"turnwise: {EVENTS}: the result is gone"]
    assert not (tmp_path / "out/run.json").exists()


@pytest.mark.parametrize(
    ("status", "message", "said"),
    [
        (403, "no right to read", "no permission: no right to read (needed: BigQuery Data Viewer"),
        (404, "Not found: Table logs.agent_events", "Not found: Table logs.agent_events"),
        (400, "Unrecognized name: turn at [1:8]", "Unrecognized name: turn at [1:8]"),
    ],
)
def test_what_is_wrong_is_said_before_anything_runs(rows, turnwise, tmp_path, status, message, said):
    rows.fail("SESSION", status, message)
    done = turnwise("run", "--input", EVENTS, output=tmp_path / "out")
    assert done.status == 2
    assert done.err.startswith(f"turnwise: --input: {EVENTS}: {said}")
    assert done.err.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_run_says_what_bigquery_reads_and_ends_above_the_bound(rows, turnwise, tmp_path):
    rows.answer("SELECT", CONVERSATION, *conversations("a"))
    plan = f"{EVENTS}: BigQuery reads about 5 GiB (list price: less than 0.01 USD)"
    done = turnwise("run", "--input", EVENTS, "--max_bigquery_gb", "5", output=tmp_path / "out")
    assert done.status == 0 and plan in done.err
    done = turnwise("run", "--input", EVENTS, "--max_bigquery_gb", "4.9", output=tmp_path / "more")
    assert (done.status, done.err) == (2, f"turnwise: --input: {plan}: more than --max_bigquery_gb 4.9\n")
    assert len(rows.asked("READ")) == 1


def test_a_result_without_rows_is_a_problem(rows, turnwise, tmp_path):
    rows.answer("SELECT", CONVERSATION)
    done = turnwise("run", "--input", EVENTS, output=tmp_path / "out")
    assert (done.status, "the input holds no record" in done.err) == (1, True)


def test_other_commands_and_eval_cases_read_rows(rows, turnwise, tmp_path):
    rows.answer("SELECT", CONVERSATION, *conversations("a", "b"))
    done = turnwise("inspect", EVENTS)
    assert done.status == 0, done.err
    assert EVENTS in done.out and "2 conversations" in done.out


def test_a_missing_package_is_named(tmp_path):
    code = (
        "import sys, importlib.util as u; find = u.find_spec\n"
        "u.find_spec = lambda n, *a: None if n == 'google.cloud.bigquery' else find(n, *a)\n"
        "from turnwise.pipeline.cli.main import main; sys.exit(main(sys.argv[1:]))"
    )
    arguments = ["run", "--input", EVENTS, "--output", str(tmp_path / "out")]
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True)
    assert done.returncode == 2
    said = f"turnwise: --input {EVENTS}: needs turnwise[gcp], which is not installed"
    assert done.stderr.splitlines()[-1].startswith(said)


def test_no_row_is_read_before_the_pipeline_runs(rows):
    import apache_beam as beam

    from turnwise.pipeline.io.bigquery_source import prepare_query
    from turnwise.pipeline.io.sources import BigQuerySource

    rows.answer("SELECT", CONVERSATION, *conversations("a-name-of-a-row"))
    root = beam.Pipeline(runner="FnApiRunner")
    BigQuerySource([prepare_query(EVENTS)], None, 1 << 20, "unread_records", True).read(root, "Logs")
    root.to_runner_api()
    assert len(rows.asked("SESSION")) == 1
    assert rows.asked("READ") == []
    root.run().wait_until_finish()
    assert len(rows.asked("SESSION")) == 2
    assert rows.asked("READ")
