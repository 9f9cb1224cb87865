"""The main job on the bundled sample data: its files, rows, counts and formats."""

import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_type_hints

import fastavro
import pytest

from tests.tables import files_of
from turnwise.schemas.rows import FOLDER, TABLES, avro_schema, json_columns, write_schemas

SCORE_KEYS = [
    "run_id",
    "conversation_id",
    "eval_id",
    "app_version",
    "turn_index",
    "criterion",
    "value",
    "outcome",
    "threshold",
    "label",
    "reason",
    "explanation",
    "details",
    "judge",
    "event_time",
    "language",
    "tags",
    "revision",
    "score_id",
]
FILES = {
    r"scores-\d{5}-of-\d{5}\.jsonl",
    r"results-\d{5}-of-\d{5}\.jsonl",
    r"conversations-\d{5}-of-\d{5}\.jsonl",
    r"failures-\d{5}-of-\d{5}\.jsonl",
    r"metrics_by_app_version\.jsonl",
    r"metrics_by_turn\.jsonl",
    r"metrics_by_slice\.jsonl",
    r"aggregated_metrics\.json",
    r"run\.json",
}


def test_exit_status_and_report(sample_run: Any) -> None:
    assert sample_run.status == 0
    assert "pass rate" in sample_run.out and "tool_trajectory_avg_score" in sample_run.out
    assert f"files: {sample_run.directory}" in sample_run.out
    assert "60 conversations = 59 results + 1 failed" in sample_run.out
    assert "47 records = 46 parsed + 1 failed" in sample_run.out


def test_nothing_but_problems_goes_to_standard_error(sample_run: Any) -> None:
    assert sample_run.err == ""


def test_the_files_are_those_of_the_design(sample_run: Any) -> None:
    names = [path.name for path in sample_run.directory.rglob("*") if path.is_file()]
    unmatched = [name for name in names if not any(re.fullmatch(pattern, name) for pattern in FILES)]
    assert unmatched == []
    for pattern in FILES:
        assert any(re.fullmatch(pattern, name) for name in names), pattern


def test_a_score_row_has_the_keys_of_the_design_in_their_order(sample_run: Any) -> None:
    rows = sample_run.rows("scores")
    assert {tuple(row) for row in rows} == {tuple(SCORE_KEYS)}
    assert {row["run_id"] for row in rows} == {sample_run.document("run.json")["run_id"]}


def test_values_are_numbers_or_come_with_a_reason(sample_run: Any) -> None:
    for row in sample_run.rows("scores"):
        assert row["outcome"] in ("PASS", "FAIL", "SKIPPED", None)
        if row["value"] is None:
            assert row["reason"] and row["outcome"] != "PASS"
        else:
            assert isinstance(row["value"], float) and row["value"] == row["value"]


@pytest.mark.parametrize("table", ["scores", "failures", "metrics_by_app_version", "metrics_by_turn"])
def test_rows_have_the_columns_of_their_class(sample_run: Any, table: str) -> None:
    rows = sample_run.rows(table)
    assert rows
    assert {frozenset(row) for row in rows} == {frozenset(get_type_hints(TABLES[table]))}


def test_every_scored_conversation_has_one_result(sample_run: Any) -> None:
    names = Counter(row["name"] for row in sample_run.rows("results"))
    counts = sample_run.document("run.json")["counts"]
    assert set(names.values()) == {1}
    assert len(names) == counts["results"] == 59
    assert counts["conversations"] == counts["results"] + counts["lost_conversations"]
    lost = [row for row in sample_run.rows("failures") if row["criterion"] is None]
    assert len(lost) == counts["lost_records"] + counts["lost_conversations"] == 2


def test_failures_tell_where_and_why(sample_run: Any) -> None:
    by_stage = {row["stage"]: row for row in sample_run.rows("failures")}
    parse, match = by_stage["parse"], by_stage["match"]
    assert (Path(parse["source"]).name, parse["position"]) == ("ces.jsonl", 22)
    assert parse["record"] and "\n" not in parse["message"]
    assert match["error_type"] == "UnknownCaseError" and "ko-winter-tyres" in match["message"]
    assert "ko-winter-tyres-v2" in match["conversation_id"] and match["position"] == 36


def test_statuses_agree_between_results_and_metrics(sample_run: Any) -> None:
    results = Counter(
        (row.get("appVersion"), row.get("evaluationStatus")) for row in sample_run.rows("results")
    )
    for row in sample_run.rows("metrics_by_app_version"):
        if row["criterion"] == "evaluation_status":
            version = row["app_version"]
            assert row["pass_count"] == results[version, "PASS"]
            assert row["fail_count"] == results[version, "FAIL"]
            assert row["unscored"] == results[version, None]


def test_run_document(sample_run: Any) -> None:
    document = sample_run.document("run.json")
    assert document["exit_status"] == 0 and document["problems"] == []
    assert set(document["versions"]) >= {"turnwise", "apache-beam", "python"}
    assert {"input", "eval_cases", "config", "criteria", "counts"} <= document.keys()


def test_results_parse_with_the_real_classes(sample_run: Any) -> None:
    ces = pytest.importorskip("google.cloud.ces_v1beta")
    json_format = pytest.importorskip("google.protobuf.json_format")
    for row in sample_run.rows("results"):
        message = ces.EvaluationResult.pb(ces.EvaluationResult())
        json_format.ParseDict(row, message, ignore_unknown_fields=False)
        assert message.name == row["name"]
        assert json_format.MessageToDict(message) == row


def test_aggregated_metrics_parse_with_the_real_class(sample_run: Any) -> None:
    ces = pytest.importorskip("google.cloud.ces_v1beta")
    json_format = pytest.importorskip("google.protobuf.json_format")
    message = ces.AggregatedMetrics.pb(ces.AggregatedMetrics())
    document = sample_run.document("aggregated_metrics.json")
    json_format.ParseDict(document, message, ignore_unknown_fields=False)
    assert {entry.app_version_id for entry in message.metrics_by_app_version} >= {"v1", "v2"}
    counted = sum(entry.pass_count + entry.fail_count for entry in message.metrics_by_app_version)
    assert counted == sum("evaluationStatus" in row for row in sample_run.rows("results"))


@pytest.fixture(scope="module")
def avro_run(
    turnwise: Callable[..., Any], sample_arguments: list[str], sample_run: Any, tmp_path_factory: Any
) -> Any:
    """The sample as Avro, under the id of the other run: random numbers depend on it."""
    out = tmp_path_factory.mktemp("avro") / "out"
    run_id = sample_run.document("run.json")["run_id"]
    return turnwise(*sample_arguments, "--output_format=avro", f"--run_id={run_id}", output=out)


def avro_rows(directory: Path, table: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for path in files_of(directory, table):
        with path.open("rb") as file:
            reader = fastavro.reader(file)
            assert reader.writer_schema == parsed(avro_schema(table))
            rows += [row for row in reader if isinstance(row, dict)]
    for row in rows:
        row |= {name: None if row[name] is None else json.loads(row[name]) for name in json_columns(table)}
    return rows


def parsed(schema: dict[str, Any]) -> Any:
    plain = fastavro.parse_schema(schema)
    assert isinstance(plain, dict)
    return {key: value for key, value in plain.items() if not key.startswith("__")}


def comparable(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns rows in one order, without the time of the run."""
    kept = [{key: value for key, value in row.items() if key != "createTime"} for row in rows]
    return sorted(kept, key=lambda row: json.dumps(row, sort_keys=True))


@pytest.mark.parametrize("table", ["scores", "failures", "metrics_by_app_version", "metrics_by_turn"])
def test_a_second_run_as_avro_gives_the_same_rows(sample_run: Any, avro_run: Any, table: str) -> None:
    """Two runs of the same data and id differ in their time only, and the formats not at all."""
    rows = avro_rows(avro_run.directory, table)
    assert {row["run_id"] for row in rows} == {sample_run.document("run.json")["run_id"]}
    assert comparable(rows) == comparable(sample_run.rows(table))


def test_avro_results_hold_the_same_results(sample_run: Any, avro_run: Any) -> None:
    rows = avro_rows(avro_run.directory, "results")
    assert comparable([row["result"] for row in rows]) == comparable(sample_run.rows("results"))
    assert all(row["name"] == row["result"]["name"] for row in rows)


def test_avro_run_reports_the_same(sample_run: Any, avro_run: Any) -> None:
    assert avro_run.status == 0 and avro_run.err == ""
    tables = [
        done.out.partition("files:")[0].replace(str(done.directory), "OUT") for done in (avro_run, sample_run)
    ]
    assert "turnwise compare OUT" in tables[0] and tables[0] == tables[1]
    assert avro_run.document("aggregated_metrics.json") == sample_run.document("aggregated_metrics.json")


@pytest.mark.parametrize("table", TABLES)
def test_committed_schemas_are_up_to_date(table: str, tmp_path: Path) -> None:
    write_schemas(tmp_path)
    assert (FOLDER / f"{table}.avsc").read_text("utf-8") == (tmp_path / f"{table}.avsc").read_text("utf-8")
    assert fastavro.schema.load_schema(str(FOLDER / f"{table}.avsc"))


def test_a_second_run_is_refused_and_changes_nothing(
    sample_run: Any, turnwise: Callable[..., Any], sample_arguments: list[str]
) -> None:
    before = {path: path.read_bytes() for path in sample_run.directory.rglob("*") if path.is_file()}
    done = turnwise(*sample_arguments, output=sample_run.directory)
    assert done.status == 2 and done.out == ""
    assert done.err.count("\n") == 1 and "--overwrite" in done.err
    assert {path: path.read_bytes() for path in sample_run.directory.rglob("*") if path.is_file()} == before
