import io
import json
from datetime import datetime
from decimal import Decimal
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from pyarrow.parquet import write_table

import turnwise
from turnwise.pipeline.io.records import split_records
from turnwise.schemas.score import Failure

LIMIT = 1 << 20
RUNS = [
    {
        "id": own,
        "trace_id": "t1",
        "parent_run_id": parent,
        "run_type": kind,
        "name": name,
        "start_time": f"2026-11-22T08:00:0{at}.5Z",
        "end_time": f"2026-11-22T08:00:0{at + 1}Z",
        "inputs": inputs,
        "outputs": outputs,
        "extra": {"metadata": {"thread_id": "talk"}},
        "error": None,
    }
    for own, parent, kind, name, at, inputs, outputs in [
        ("r", None, "chain", "desk", 0, {"messages": [{"role": "user", "content": "Hi"}]},
         {"output": "Hello"}),
        ("m", "r", "llm", "model", 1, {"messages": [{"role": "user", "content": "Hi"}]},
         {"messages": [{"role": "assistant", "content": "Hello"}]}),
    ]
]  # fmt: skip


def written(rows):
    file = io.BytesIO()
    write_table(pa.Table.from_pylist(rows), file)
    file.seek(0)
    return file


def as_texts(run):
    return {key: json.dumps(item) if isinstance(item, dict) else item for key, item in run.items()}


@pytest.mark.parametrize("spell", [dict, as_texts])
def test_runs_are_read_as_from_json(tmp_path, spell):
    (tmp_path / "runs.parquet").write_bytes(written([spell(run) for run in RUNS]).getvalue())
    (tmp_path / "runs.jsonl").write_text("".join(f"{json.dumps(run)}\n" for run in RUNS))
    (table,) = turnwise.read_conversations(tmp_path / "runs.parquet")
    assert [table] == turnwise.read_conversations(tmp_path / "runs.jsonl")
    assert (table.conversation_id, table.turns[0].user, table.turns[0].agent) == ("talk", "Hi", "Hello")
    (found,) = turnwise.read_conversations(tmp_path)
    assert found == table


def test_every_row_is_a_record_however_many_there_are():
    rows = [{"n": number, "map": {"a": number}} for number in range(450)]
    records = list(split_records("t.parquet", written(rows), LIMIT))
    assert [record.position for record in records] == list(range(1, 451))
    assert not any(isinstance(record, Failure) for record in records)
    assert json.loads(records[-1].data) == {"n": 449, "map": {"a": 449}}
    chat = [{"conversation_id": "c", "role": role, "content": "x"} for role in ("user", "assistant") * 225]
    (record,) = split_records("t.parquet", written(chat), LIMIT)
    assert json.loads(record.data) == chat


def test_columns_of_other_types_are_values_of_json():
    kinds = pa.table({
        "map": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())),
        "time": pa.array([1_760_000_000_000_000], pa.timestamp("us")),
        "nanos": pa.array([[1_760_000_000_000_000_001]], pa.list_(pa.timestamp("ns"))),
        "text": pa.array([b"x"], pa.binary()),
        "bytes": pa.array([b"\xff"], pa.binary()),
        "none": pa.array([None], pa.string()),
    })  # fmt: skip
    file = io.BytesIO()
    write_table(kinds, file)
    file.seek(0)
    (record,) = split_records("t.parquet", file, LIMIT)
    assert json.loads(record.data) == {
        "map": {"a": 1}, "time": "2025-10-09T08:53:20+00:00", "nanos": ["2025-10-09T08:53:20+00:00"],
        "text": "x", "bytes": "/w==",
    }  # fmt: skip


def test_values_of_avro_are_those_of_parquet():
    kinds: dict[str, Any] = {
        "time": {"type": "long", "logicalType": "local-timestamp-micros"},
        "price": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
        "text": "bytes",
        "bytes": "bytes",
    }
    row = {
        "time": datetime(2025, 10, 9, 8, 53, 20),
        "price": Decimal("12.50"),
        "text": b"x",
        "bytes": b"\xff",
    }
    file = io.BytesIO()
    columns = [{"name": name, "type": kind} for name, kind in kinds.items()]
    fastavro.writer(file, {"type": "record", "name": "row", "fields": columns}, [row])
    file.seek(0)
    (record,) = split_records("t.avro", file, LIMIT)
    values = {"time": "2025-10-09T08:53:20+00:00", "price": 12.5, "text": "x", "bytes": "/w=="}
    assert json.loads(record.data) == values


def test_a_broken_file_is_an_error_that_says_so(tmp_path):
    (tmp_path / "broken.parquet").write_bytes(written([{"n": 1}]).getvalue()[:-20])
    rows: list[Any] = []
    assert turnwise.read_conversations(tmp_path, on_failure=rows.append) == []
    assert "the Parquet file cannot be read" in rows[0]["message"]


def chat_span(**attributes):
    said = [
        {"role": who, "parts": [{"type": "text", "content": text}], "finish_reason": "stop"}
        for who, text in (("user", "Hi"), ("assistant", "Hello"))
    ]
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.conversation.id": "s1",
        "gen_ai.input.messages": json.dumps(said[:1]),
        "gen_ai.output.messages": json.dumps(said[1:]),
        **attributes,
    }


TIMES = (1_763_700_000_000_000_000, 1_763_700_005_000_000_000)


def test_nested_columns_of_otlp_keep_values_of_every_kind(tmp_path):
    """A table has a column for each kind of value, and all but one are null."""
    values = {**chat_span(), "gen_ai.usage.input_tokens": 7, "gen_ai.usage.output_tokens": 2}
    pairs = [
        {"key": key, "value": {"intValue": str(item)} if isinstance(item, int) else {"stringValue": item}}
        for key, item in values.items()
    ]
    start, end = map(str, TIMES)
    span = {"traceId": "a" * 32, "spanId": "b" * 16, "name": "chat m", "attributes": pairs}
    span |= {"startTimeUnixNano": start, "endTimeUnixNano": end}
    path = tmp_path / "spans.parquet"
    write_table(pa.Table.from_pylist([{"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}]), path)
    (log,) = turnwise.read_conversations(str(path))
    usage = log.turns[0].usage
    assert usage is not None and (usage.input_tokens, usage.output_tokens) == (7, 2)
    assert (log.turns[0].user, log.turns[0].agent) == ("Hi", "Hello")


@pytest.mark.parametrize(("code", "ended"), [("ERROR", "agent_error"), ("OK", "normally")])
def test_columns_of_spans_may_hold_status_and_resource_as_json_text(tmp_path, code, ended):
    row = {"trace_id": "a" * 32, "span_id": "b" * 16, "name": "chat m", "attributes": json.dumps(chat_span())}
    row |= {"status": json.dumps({"status_code": code, "description": "boom"})}
    row |= {"resource": json.dumps({"attributes": {"service.version": "v9"}})}
    times = dict(zip(("start_time_unix_nano", "end_time_unix_nano"), TIMES, strict=True))
    path = tmp_path / "spans.parquet"
    write_table(pa.Table.from_pylist([row | times]), path)
    (log,) = turnwise.read_conversations(str(path))
    assert (log.ended, log.app_version, log.turns[0].agent) == (ended, "v9", "Hello")
