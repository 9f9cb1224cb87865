"""Rows of queries as records: values, pages, errors."""

import json
from datetime import date
from typing import Any

import pytest
from google.cloud.bigquery import Table

from turnwise.pipeline.io.bigquery_source import day_condition, part_records, prepare_query, result_parts
from turnwise.pipeline.settings.options import parse_address, with_query_text
from turnwise.schemas.config import ConfigError
from turnwise.schemas.conversation import Record
from turnwise.schemas.score import Failure

URL = "bigquery://our-project/logs/turns"
LIMIT = 1 << 20
NUMBERS = [("n", "INTEGER")]


def records(url: str, part_rows: int = 100, patience: float = 30.0) -> list[Record | Failure]:
    """Reads an address as the workers of a pipeline do."""
    parts = result_parts(prepare_query(url), part_rows, patience)
    return [record for part in parts for record in part_records(part, LIMIT, patience)]


def numbers(found: list[Record | Failure]) -> list[tuple[int | None, Any]]:
    return [(each.position, json.loads(each.data)["n"]) for each in found if isinstance(each, Record)]


def test_every_kind_of_column_comes_as_the_readers_expect(rows):
    schema: list[dict[str, Any]] = [
        {"name": "text", "type": "STRING"},
        {"name": "number", "type": "INTEGER"},
        {"name": "share", "type": "FLOAT"},
        {"name": "is_done", "type": "BOOLEAN"},
        {"name": "at", "type": "TIMESTAMP"},
        {"name": "local", "type": "DATETIME"},
        {"name": "day", "type": "DATE"},
        {"name": "hour", "type": "TIME"},
        {"name": "price", "type": "NUMERIC"},
        {"name": "whole", "type": "NUMERIC"},
        {"name": "exact", "type": "BIGNUMERIC"},
        {"name": "content", "type": "JSON"},
        {"name": "raw", "type": "BYTES"},
        {"name": "tags", "type": "STRING", "mode": "REPEATED"},
        {"name": "nothing", "type": "STRING"},
        {
            "name": "turns",
            "type": "RECORD",
            "mode": "REPEATED",
            "fields": [
                {"name": "user", "type": "STRING"},
                {"name": "at", "type": "TIMESTAMP"},
                {"name": "call", "type": "RECORD", "fields": [{"name": "args", "type": "JSON"}]},
            ],
        },
    ]
    turn = {"f": [{"v": "hi"}, {"v": "1763719200000000"}, {"v": {"f": [{"v": '{"n": 1}'}]}}]}
    row = [
        *("é", "9007199254740993", "0.5", "true", "1763719200123456", "2025-11-21T10:00:00", "2025-11-21"),
        *("10:00:00", "1.5", "12", "0.1234567890123456789", '{"a": [1, null]}', "/w==", [{"v": "x"}], None),
        [{"v": turn}],
    ]
    rows.answer("SELECT", [])
    rows.answers[0] = rows.answers[0]._replace(schema=schema, rows=[row])
    [record] = records(URL)
    assert isinstance(record, Record)
    assert (record.source, record.position) == (URL, 1)
    assert json.loads(record.data) == {
        "text": "é",
        "number": 9007199254740993,
        "share": 0.5,
        "is_done": True,
        "at": "2025-11-21T10:00:00.123456+00:00",
        "local": "2025-11-21T10:00:00+00:00",
        "day": "2025-11-21",
        "hour": "10:00:00",
        "price": 1.5,
        "whole": 12,
        "exact": "0.1234567890123456789",
        "content": {"a": [1, None]},
        "raw": "/w==",
        "tags": ["x"],
        "turns": [{"user": "hi", "at": "2025-11-21T10:00:00+00:00", "call": {"args": {"n": 1}}}],
    }


@pytest.mark.parametrize(("page", "part"), [(7, 20), (1, 30)])
def test_pages_and_parts_give_every_row_once(rows, page, part):
    rows.page = page
    rows.answer("SELECT", NUMBERS, *([str(i)] for i in range(45)))
    assert numbers(records(URL, part)) == [(i + 1, i) for i in range(45)]


def test_a_page_token_that_expired_is_no_loss_and_no_repetition(rows):
    rows.page = 10
    rows.answer("SELECT", NUMBERS, *([str(i)] for i in range(45)))
    [part] = result_parts(prepare_query(URL))
    found: list[Record | Failure] = []
    for record in part_records(part, LIMIT):
        found.append(record)
        if len(found) in (15, 35):
            rows.generation += 1
    assert numbers(found) == [(i + 1, i) for i in range(45)]


def test_a_service_that_is_away_is_asked_again(rows):
    rows.page = 10
    rows.answer("SELECT", NUMBERS, *([str(i)] for i in range(25)))
    rows.fail("pageToken=10", 503, "try later", "backendError", times=2)
    rows.fail("POST .*/jobs", 503, "try later", "backendError")
    assert len(numbers(records(URL))) == 25
    assert len(rows.asked("pageToken=10")) == 3


@pytest.mark.parametrize(
    ("status", "reason", "message", "said"),
    [
        (503, "backendError", "try later", "BigQuery does not answer: try later"),
        (403, "accessDenied", "Access Denied: Table", "no permission: Access Denied: Table (needed: "),
    ],
)
def test_a_page_that_fails_for_good_is_an_error(rows, status, reason, message, said):
    rows.page = 10
    rows.answer("SELECT", NUMBERS, *([str(i)] for i in range(25)))
    rows.fail("pageToken|startIndex=[1-9]", status, message, reason, times=1000)
    with pytest.raises(OSError) as raised:
        records(URL, patience=2.0)
    assert str(raised.value).startswith(f"{URL}: rows 1 to 25: {said}")
    assert "\n" not in str(raised.value)


def test_a_result_that_ends_early_is_an_error(rows):
    rows.answer("SELECT", NUMBERS, *([str(i)] for i in range(5)))
    [part] = result_parts(prepare_query(URL))
    with pytest.raises(OSError, match="rows 1 to 8: only 5 of 8 rows came"):
        list(part_records(part._replace(number=8), LIMIT))


def test_a_row_that_is_too_large_is_a_failure_with_its_number(rows):
    rows.answer("SELECT", [("text", "STRING")], ["short"], ["x" * 2000], ["short"])
    [part] = result_parts(prepare_query(URL))
    first, large, last = part_records(part, 1000)
    assert isinstance(first, Record) and isinstance(last, Record)
    assert isinstance(large, Failure)
    assert (large.source, large.position, large.error_type) == (URL, 2, "OversizedRecordError")


def test_a_query_that_fails_midway_is_one_line(rows):
    rows.answer("SELECT", NUMBERS, error="Division by zero: 1 / 0")
    with pytest.raises(OSError, match=f"^{URL}: Division by zero: 1 / 0$"):
        records(URL)


@pytest.mark.parametrize(
    ("status", "reason", "message", "said"),
    [
        (503, "backendError", "try later", "BigQuery does not answer: try later"),
        (400, "invalidQuery", "Unrecognized name: turn\nat [1:8]", "Unrecognized name: turn at [1:8]"),
    ],
)
def test_what_a_dry_run_finds_is_said_before_the_run(rows, status, reason, message, said):
    rows.fail("POST .*/jobs", status, message, reason, times=1000)
    with pytest.raises(ConfigError) as raised:
        prepare_query(URL, patience=2.0)
    assert str(raised.value).startswith(f"{URL}: {said}")
    assert "\n" not in str(raised.value)


def test_statements_that_change_something_are_refused(rows):
    rows.answer("DROP", [], kind="DROP_TABLE")
    with pytest.raises(ConfigError, match="is a statement DROP_TABLE, not one SELECT"):
        prepare_query("bigquery://our-project?query=DROP TABLE logs.turns")


def table(kind: str | None, column: str | None = None, type_: str = "DAY") -> dict[str, Any]:
    fields = [{"name": column, "type": kind}] if column else []
    partitioning = {"timePartitioning": {"type": type_, **({"field": column} if column else {})}}
    return {"schema": {"fields": fields}, **(partitioning if kind else {})}


@pytest.mark.parametrize(
    ("resource", "where"),
    [
        (table("DATE", "day"), "`day` >= DATE '2026-11-21' AND `day` < DATE '2026-11-22'"),
        (
            table("TIMESTAMP", "at", "HOUR"),
            "`at` >= TIMESTAMP '2026-11-21 00:00:00+00' AND `at` < TIMESTAMP '2026-11-22 00:00:00+00'",
        ),
        (
            table("DATETIME", "at", "MONTH"),
            "`at` >= DATETIME '2026-11-21 00:00:00' AND `at` < DATETIME '2026-11-22 00:00:00'",
        ),
        (
            table("TIMESTAMP"),
            "`_PARTITIONTIME` >= TIMESTAMP '2026-11-21 00:00:00+00' "
            "AND `_PARTITIONTIME` < TIMESTAMP '2026-11-22 00:00:00+00'",
        ),
    ],
)
def test_a_partition_is_a_day_in_utc(rows, resource, where):
    rows.tables["turns"] = resource
    rows.answer("SELECT", NUMBERS)
    query = prepare_query(f"{URL}?partition=2026-11-21")
    assert query.sql == f"SELECT * FROM `our-project.logs.turns` WHERE {where}"


def test_a_table_without_partitions_has_none_of_a_day():
    found = Table("our-project.logs.turns")
    with pytest.raises(ConfigError, match=r"logs\.turns: is not partitioned by time"):
        day_condition(found, date(2026, 11, 21))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("bigquery://our-project/logs", "its form is one of bigquery://PROJECT/DATASET/TABLE"),
        ("bigquery://our-project/logs/turns?partition=2026-13-01", "its partition is no ISO date"),
        ("bigquery://our-project/logs/t`; DROP TABLE x", "its form is one of"),
        ("bigquery://our-project?file=/no/such.sql", "No such file"),
    ],
)
def test_a_wrong_address_is_one_line(text, said):
    with pytest.raises(ConfigError) as raised:
        parse_address(text)
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_sql_is_taken_as_it_is(tmp_path):
    sql = "SELECT a + b AS c, '%?&#' AS d\nFROM `p.d.t` WHERE text LIKE '100%';\n"
    file = tmp_path / "logs.sql"
    file.write_text(sql)
    url = f"bigquery://our-project?file={file}"
    found = parse_address(url)
    assert found.query == sql.strip().rstrip(";")
    assert found.shown == url
    again = parse_address(with_query_text(url))
    assert again.query == found.query
    assert again.shown == (
        "bigquery://our-project?query=SELECT a + b AS c, '%?&#' AS d FROM `p.d.t` WHERE text LIKE ..."
    )
