"""Whole runs on logs as they are found: mixed formats, broken records, compressed files."""

import gzip
import io
import json
import os
import sqlite3
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastavro
import pyarrow
import pyarrow.parquet
import pytest

from turnwise import evaluate
from turnwise.pipeline.io.files import listed_files
from turnwise.pipeline.io.records import file_records
from turnwise.schemas.conversation import Record
from turnwise.schemas.score import Failure

CONFIG = {"criteria": {"response_match_score": 0.5, "turn_latency": {}}}
LIMIT_MB = 1 / 64


def conversation(name: str, **fields: Any) -> dict[str, Any]:
    turn = {"user": "hi", "agent": "hello there", "expected": {"response": "hello there"}}
    return {"conversation_id": name, "app_version": "v1", "turns": [turn], **fields}


def lines(*values: Any) -> bytes:
    return b"".join(
        value if isinstance(value, bytes) else json.dumps(value).encode() + b"\n" for value in values
    )


def entry(session: str, index: int, text: str, **labels: str) -> dict[str, Any]:
    return {
        "labels": {"session_id": session, "app_version": "v1", **labels},
        "jsonPayload": {"text": text, "turnIndex": index, "turnCompleted": True},
    }


AVRO_SCHEMA = {
    "type": "record",
    "name": "Log",
    "fields": [
        {"name": "conversation_id", "type": "string"},
        {"name": "app_version", "type": ["null", "string"]},
        {
            "name": "turns",
            "type": {
                "type": "array",
                "items": {
                    "type": "record",
                    "name": "Turn",
                    "fields": [
                        {"name": "user", "type": ["null", "string"]},
                        {"name": "agent", "type": ["null", "string"]},
                        {"name": "latency_ms", "type": ["null", "double"]},
                    ],
                },
            },
        },
    ],
}


def write_logs(folder: Path) -> None:
    (folder / "deep/er").mkdir(parents=True)
    crlf = lines(conversation("crlf-1"), conversation("crlf-2")).replace(b"\n", b"\r\n")
    (folder / "crlf.jsonl").write_bytes(crlf)
    (folder / "bom.jsonl").write_bytes(b"\xef\xbb\xbf" + lines(conversation("bom-1"), conversation("bom-2")))
    (folder / "bom.json").write_bytes(b"\xef\xbb\xbf" + json.dumps(conversation("bom-3")).encode())
    (folder / "empty.jsonl").write_bytes(b"")
    (folder / "empty.json").write_bytes(b"")
    (folder / "blank.jsonl").write_bytes(b"\n  \n\r\n")
    (folder / "array.json").write_text(json.dumps([conversation("array-1"), conversation("array-2")]))
    (folder / "pretty.json").write_text(json.dumps(conversation("pretty"), indent=2))
    (folder / "really_lines.json").write_bytes(lines(conversation("lines-1"), conversation("lines-2")))
    (folder / "deep/er/zip.jsonl.gz").write_bytes(gzip.compress(lines(conversation("gzip-1"))))
    (folder / "deep/zip.json.gz").write_bytes(gzip.compress(json.dumps([conversation("gzip-2")]).encode()))
    (folder / "no_newline.ndjson").write_bytes(lines(conversation("ndjson")).rstrip())
    (folder / "ignored.txt").write_bytes(b"no log")
    chat = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
    (folder / "chat.jsonl").write_bytes(lines({"messages": chat}))
    with (folder / "log.avro").open("wb") as file:
        turn = {"user": "hi", "agent": "hello", "latency_ms": 250.0}
        rows = [{"conversation_id": f"avro-{i}", "app_version": "v1", "turns": [turn]} for i in (1, 2)]
        fastavro.writer(file, AVRO_SCHEMA, rows)
    (folder / "sessions-1.jsonl").write_bytes(lines(entry("joined", 2, "b"), entry("single", 1, "x")))
    (folder / "sessions-2.jsonl").write_bytes(lines(entry("joined", 1, "a")))
    (folder / "bad.jsonl").write_bytes(
        lines(
            b'{"conversation_id": "cut", "turns": [\n',
            {"conversation_id": "types", "turns": "none"},
            {"some": "thing"},
            b"[1, 2]\n",
            b"\xff\xfe\n",
            conversation("after-bad"),
            conversation("stranger", eval_id="nobody", turns=[{"user": "hi"}]),
            conversation("known", eval_id="e1", turns=[{"user": "hi", "agent": "hello there"}]),
            {**conversation("large"), "meta": {"x": "y" * 20_000}},
            conversation("after-large"),
        )
    )
    (folder / "large.json").write_text(json.dumps(conversation("larger", meta={"x": "y" * 20_000})))


GOOD = {
    *("crlf-1", "crlf-2", "bom-1", "bom-2", "bom-3", "array-1", "array-2", "pretty", "lines-1", "lines-2"),
    *("gzip-1", "gzip-2", "ndjson", "chat.jsonl:1", "avro-1", "avro-2", "joined", "single", "after-bad"),
    *("known", "after-large"),
}
REJECTED = {
    ("bad.jsonl", 1): "parse",
    ("bad.jsonl", 2): "parse",
    ("bad.jsonl", 3): "parse",
    ("bad.jsonl", 4): "parse",
    ("bad.jsonl", 5): "read",
    ("bad.jsonl", 7): "match",
    ("bad.jsonl", 9): "read",
    ("large.json", 1): "read",
    ("cases.jsonl", 2): "parse_case",
    ("cases.jsonl", 3): "parse_case",
    ("empty.json", 0): "read",
}


@pytest.fixture(scope="module")
def mixed_run(turnwise: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("mixed")
    write_logs(folder / "logs")
    cases = folder / "cases.jsonl"
    turn = {"user": "hi", "response": "hello there"}
    cases.write_bytes(
        lines({"eval_id": "e1", "turns": [turn]}, {"eval_id": "e1", "turns": []}, b'{"eval_id": "e2", \n')
    )
    config = folder / "config.json"
    config.write_text(json.dumps(CONFIG))
    return turnwise(
        *("run", "--input", folder / "logs", "--eval_cases", cases, "--config", config),
        *("--max_record_mb", LIMIT_MB, "--max_failure_ratio", 0.9),
        output=folder / "out",
    )


def test_what_can_be_read_is_scored_once_and_the_rest_is_a_failure_row_with_its_place(mixed_run):
    shown = Counter(row["displayName"].rpartition(" - ")[2] for row in mixed_run.rows("results"))
    assert mixed_run.status == 0 and shown == dict.fromkeys(GOOD, 1)
    rows = [row for row in mixed_run.rows("failures") if row["stage"] != "check"]
    assert {(Path(row["source"]).name, row["position"]): row["stage"] for row in rows} == REJECTED
    assert len(rows) == len(REJECTED)
    assert all(row["error_type"] and row["message"] and "\n" not in row["message"] for row in rows)
    assert all(row["record"] for row in rows if row["stage"] != "read")


def test_records_in_are_results_and_failures(mixed_run):
    counts = mixed_run.document("run.json")["counts"]
    assert counts["results"] == len(GOOD) and counts["rejected_conversations"] == 1
    assert counts["conversations"] == counts["results"] + counts["rejected_conversations"]
    assert counts["rejected_records"] == 8, "five do not parse, two are too large, one file is empty"
    assert counts["joined_entries"] == 3
    assert counts["records"] == counts["rejected_records"] + (len(GOOD) - 2 + 1) + 3
    assert f"{counts['records']} records = " in mixed_run.out


def test_sessions_are_joined_over_files(mixed_run):
    turns = {
        row["displayName"]: len(row["scenarioResult"].get("spanLatencies", []))
        for row in mixed_run.rows("results")
        if "joined" in row["displayName"]
    }
    metrics = mixed_run.rows("metrics_by_app_version")
    status = next(row for row in metrics if row["criterion"] == "verdict" and row["app_version"] == "v1")
    assert len(turns) == 1
    assert status["conversations"] == len(GOOD) - 1, "all but the chat, which has no version"
    assert status["turns"] == len(GOOD), "the joined session has two"


def test_a_conversation_without_a_case_is_scored_by_what_needs_none(mixed_run):
    rows = [row for row in mixed_run.rows("scores") if row["conversation_id"] == "avro-1"]
    assert {(row["criterion"], row["turn_index"], row["value"]) for row in rows} == {
        ("turn_latency", 0, 0.25),
        ("turn_latency", None, 0.25),
    }
    assert all(row["eval_id"] is None for row in rows)


HOSTILE = {
    "milliseconds": conversation(
        "x", turns=[{"user": "u", "agent": "a", "timestamp": 1747000000000, "latency_ms": 5}]
    ),
    "nan_latency": conversation("x", turns=[{"user": "u", "agent": "a", "latency_ms": float("nan")}]),
    "eternal_latency": conversation(
        "x", turns=[{"user": "u", "agent": "a", "latency_ms": 1e300, "expected": {"response": "a"}}]
    ),
    "large_revision": conversation("x", revision=10**30),
    "odd_span": conversation(
        "x",
        turns=[
            {
                "agent": "a",
                "spans": [{"type": "TOOL", "name": "t", "start_time": "yesterday", "seconds": float("inf")}],
            }
        ],
    ),
    "no_turns": conversation("x", turns=[]),
}


@pytest.fixture(scope="module")
def hostile_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("hostile") / "log.jsonl"
    path.write_bytes(lines(*({**value, "conversation_id": name} for name, value in HOSTILE.items())))
    return path


@pytest.fixture(scope="module")
def hostile_run(turnwise: Callable[..., Any], hostile_log: Path) -> Any:
    return turnwise("run", "--input", hostile_log, output=hostile_log.parent / "jsonl")


def test_no_record_spoils_the_figures_of_the_others(hostile_run):
    counts = hostile_run.document("run.json")["counts"]
    assert counts["records"] == len(HOSTILE)
    assert counts["results"] + counts["rejected_records"] + counts["rejected_conversations"] == len(HOSTILE)
    latency = [
        row for row in hostile_run.rows("metrics_by_app_version") if row["criterion"] == "turn_latency"
    ]
    assert latency and all(row["mean"] is not None for row in latency)
    for row in hostile_run.rows("scores"):
        assert row["value"] is not None or row["reason"]


def test_results_of_hostile_records_parse_with_the_real_class(hostile_run):
    ces = pytest.importorskip("google.cloud.ces_v1beta")
    json_format = pytest.importorskip("google.protobuf.json_format")
    for row in hostile_run.rows("results"):
        message = ces.EvaluationResult.pb(ces.EvaluationResult())
        json_format.ParseDict(row, message, ignore_unknown_fields=False)


def test_a_file_that_became_shorter_since_it_was_listed_is_a_failure(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text('{"conversation_id": "a"}\n' * 3)
    (listed,) = listed_files([str(path)])
    os.truncate(path, 25)
    record, failure = file_records(listed, 1 << 20)
    assert isinstance(record, Record) and isinstance(failure, Failure)
    assert failure.error_type == "IncompleteReadError"


def nested(name: str, levels: int) -> str:
    deep = "[" * levels + "]" * levels
    start = f'{{"conversation_id": "{name}", "text": "}}]\\\\\\"[", "turns": [{{"user": "u"}}]'
    return f'{start}, "meta": {{"x": {deep}}}}}'


@pytest.mark.parametrize(("levels", "suffix"), [(300, "\n"), (5000, " [1]")])
def test_a_deeply_nested_element_of_an_array_loses_only_itself(turnwise, tmp_path, levels, suffix):
    log = tmp_path / "log.json"
    good = [json.dumps(conversation(name)) for name in ("a", "c")]
    log.write_text(f"[{good[0]}, {nested('b', levels)},\n{good[1]}]{suffix}")
    done = turnwise("run", "--input", log, output=tmp_path / "out")
    counts = done.document("run.json")["counts"]
    rejected = 1 + bool(suffix.strip())
    assert (counts["results"], counts["rejected_records"]) == (2, rejected)
    positions = {row["position"] for row in done.rows("failures")}
    assert positions == ({2, 4} if suffix.strip() else {2})


def test_what_a_directory_holds_beside_logs_is_told(turnwise, tmp_path, add_odd_files):
    (tmp_path / "logs").mkdir()
    odd = add_odd_files(tmp_path / "logs")
    (tmp_path / "logs/a.jsonl").write_bytes(lines(conversation("a")))
    (tmp_path / "logs/loop").symlink_to(".")
    (tmp_path / "logs/again.jsonl").symlink_to("a.jsonl")
    for kind, pattern in (("directory", "logs"), ("glob", "logs/**.jsonl")):
        done = turnwise(
            *("run", "--input", tmp_path / pattern, "--eval_cases", tmp_path / "logs"), output=tmp_path / kind
        )
        rows = done.rows("failures")
        names = [
            row["source"].rpartition("/")[2] for row in rows if row["message"] and row["stage"] == "read"
        ]
        assert set(names) == odd and len(names) == 2 * len(odd), kind
        counts = done.document("run.json")["counts"]
        assert (counts["results"], counts["rejected_records"]) == (1, len(odd))


def zipped(name: str, content: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("whole.jsonl", lines(conversation("in zip")))
        archive.writestr(name, content)
    return buffer.getvalue()


def spoilt(content: bytes, mark: bytes) -> bytes:
    """Returns a file with other bytes behind a mark."""
    place = content.index(mark) + len(mark) + 4
    return content[:place] + b"\xa5" * 8 + content[place + 8 :]


def sessions_with_a_zeroed_page() -> bytes:
    with sqlite3.connect(":memory:") as database:
        database.execute("CREATE TABLE agent_messages (id INTEGER PRIMARY KEY, session_id, message_data)")
        said = json.dumps({"role": "user", "content": "Hello! " * 40})
        rows = ((f"s{number // 10}", said) for number in range(400))
        database.executemany("INSERT INTO agent_messages (session_id, message_data) VALUES (?, ?)", rows)
        database.commit()
        pages = database.serialize()
    return pages[:40_960] + b"\0" * 4096 + pages[45_056:]


def avro(count: int) -> bytes:
    buffer = io.BytesIO()
    fastavro.writer(buffer, AVRO_SCHEMA, [conversation(f"a{i}") for i in range(count)], sync_interval=100)
    return buffer.getvalue()


def parquet() -> bytes:
    buffer = io.BytesIO()
    rows = [conversation(f"p{number}") for number in range(3000)]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), buffer, row_group_size=100)
    return buffer.getvalue()


MANY = [conversation(f"m{number}") for number in range(50)]
PRETTY = json.dumps({"conversations": MANY}, indent=2).encode()
CSV = b"conversation_id,user,agent\n" + b"".join(b"c%d,hi,hello there\n" % i for i in range(9))
BROKEN_OFF: dict[str, bytes] = {
    "cut.jsonl.gz": gzip.compress(lines(*MANY))[:-30],
    "spoilt.jsonl.gz": spoilt(gzip.compress(lines(*MANY), 0), b"m20"),
    "cut.jsonl": lines(*MANY)[:-30],
    "cut_array.json": json.dumps(MANY).encode()[:-30],
    "pretty.json": PRETTY[:-30],
    "events.json": b'data: {"type": "message_start"}\n\ndata: {"type": "content_bl',
    "utf_16.jsonl": lines(*MANY).decode().encode("utf-16"),
    "archive.eval": zipped("last.jsonl", lines(*MANY))[:-30],
    "member_array.eval": zipped("last.json", json.dumps(MANY).encode()[:-30]),
    "member_spoilt.eval": spoilt(zipped("last.jsonl", lines(*MANY)), b"last.jsonl"),
    "pages.parquet": spoilt(parquet(), b"p2000"),
    "cut.avro": avro(50)[:-30],
    "documents.yaml": b"a: 1\n---\nb: [1, 2",
    "adk/.adk/session.db": sessions_with_a_zeroed_page(),
    "quote.csv": CSV + b'c9,hi,"hello',
    "link.jsonl": b"",
    "nuls.jsonl": lines(*MANY)[:-40] + b"\0" * 4096,
    "nuls.json": json.dumps(MANY).encode()[:-9] + b"\0" * 4096,
    "noise.jsonl": lines(*MANY[:2])[:-9] + bytes(range(256)).replace(b"\n", b"") * 16 + lines(*MANY)[9:],
}
COVERED = {
    "criteria": {"response_match_score": 0.5},
    "gate": {"rules": [{"rule": "coverage", "at_least": 0}]},
}


@pytest.mark.parametrize("name", BROKEN_OFF)
def test_an_input_that_breaks_off_fails_the_run_whatever_may_fail(turnwise, tmp_path, name):
    """Nobody knows how many of its records are missing, so that no share of failures is known."""
    config = tmp_path / "config.json"
    config.write_text(json.dumps(COVERED))
    logs, cut = tmp_path / "logs", tmp_path / "logs" / name
    cut.parent.mkdir(parents=True)
    (logs / "whole.jsonl").write_bytes(lines(*(conversation(f"w{number}") for number in range(20))))
    cut.symlink_to("nothing") if name == "link.jsonl" else cut.write_bytes(BROKEN_OFF[name])
    given = [logs, cut] if name.endswith(".csv") else [logs]
    done = turnwise(
        *("run", "--input", *given, "--config", config, "--max_failure_ratio", "1"), output=tmp_path / "out"
    )
    kinds = [row["error_type"] for row in done.rows("failures") if row["stage"] in ("read", "parse")]
    assert "IncompleteReadError" in kinds and done.document("run.json")["exit_status"] == 1
    assert done.status == 1 and "an unknown number of records is missing" in done.err
    assert done.document("run.json")["counts"]["results"] >= 20
    assert turnwise("gate", tmp_path / "out").status == 1
    result = evaluate([str(path) for path in given], config=COVERED)
    assert not result.passed and any("could not be read to the end" in each for each in result.problems)
    assert turnwise("inspect", *given).status == turnwise("tools", *given).status == 1
    for command in (["convert", *given], ["cases", "--from", *given, "--select", "sample", "--to"]):
        options = ["--to", "turnwise"] if command[0] == "convert" else []
        written = turnwise(*command, tmp_path / f"{command[0]}.jsonl", *options)
        assert written.status == 1
        assert "an unknown number of records is missing" in " ".join(written.out.split())


def test_eval_cases_that_break_off_fail_the_run(turnwise, tmp_path):
    log, cases = tmp_path / "log.jsonl", tmp_path / "cases.json"
    log.write_bytes(lines({**conversation("a"), "eval_id": "e1"}))
    turn = {"user": "hi", "response": "hello there"}
    text = json.dumps([{"eval_id": f"e{number}", "turns": [turn]} for number in range(9)])
    for name, content in (("cases.json", text[:-9]), ("cases.jsonl.gz", gzip.compress(text.encode())[:-9])):
        cases = tmp_path / name
        cases.write_bytes(content if isinstance(content, bytes) else content.encode())
        given = ["--input", log, "--eval_cases", cases, "--max_failure_ratio", "1"]
        for mode in ([], ["--streaming", "--max_run_time", "1"]):
            if mode and name.endswith(".gz"):
                continue  # of which no case was read: the stream is refused
            done = turnwise("run", *given, *mode, output=tmp_path / f"{name}{len(mode)}")
            assert done.status == 1 and "an unknown number of records is missing" in done.err


@pytest.mark.parametrize("option", ["--input", "--eval_cases"])
@pytest.mark.parametrize("mode", [[], ["--streaming", "--stop_after=1"]], ids=["batch", "stream"])
def test_a_pipe_that_is_named_is_refused(turnwise, tmp_path, option, mode):
    path, log = tmp_path / "pipe.jsonl", tmp_path / "log.jsonl"
    os.mkfifo(path)
    log.write_bytes(lines(conversation("a")))
    done = turnwise("run", *mode, "--input", log, option, path, output=tmp_path / "out")
    assert done.status == 2 and done.err.count("\n") == 1 and "pipe.jsonl: is a FIFO" in done.err
    assert not (tmp_path / "out/run.json").exists()


@pytest.mark.parametrize("name", ["log.jsonl", "log.json", "log.jsonl.gz"])
def test_a_file_that_becomes_shorter_while_it_is_read_is_a_failure(tmp_path, name):
    path, lines = tmp_path / name, [b'{"conversation_id": "%d"}' % i for i in range(100_000)]
    text = b"[" + b",".join(lines) + b"]" if name == "log.json" else b"\n".join(lines)
    path.write_bytes(gzip.compress(text, 0) if name.endswith(".gz") else text)
    found = file_records(str(path), 1 << 20)
    next(found)
    os.truncate(path, path.stat().st_size // 2)
    *_, last = found
    assert isinstance(last, Failure) and last.stage == "read"
    assert last.error_type == "IncompleteReadError"


def test_a_file_that_is_gone_when_it_is_read_is_a_failure_of_unknown_size(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_bytes(lines(conversation("a")))
    (listed,) = listed_files([str(path)])
    path.unlink()
    (failure,) = file_records(listed, 1 << 20)
    assert isinstance(failure, Failure) and failure.error_type == "IncompleteReadError"
