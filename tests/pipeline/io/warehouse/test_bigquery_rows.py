"""Rows of queries as records: values, pages, errors."""

import json
from datetime import date
from typing import Any

import pytest
from google.cloud.bigquery import Table

from turnwise.pipeline.io.bigquery_source import (
    STORAGE_EMULATOR,
    bounded,
    day_condition,
    part_records,
    prepare_query,
    result_parts,
)
from turnwise.pipeline.settings.options import parse_address, with_query_text
from turnwise.schemas.config import ConfigError
from turnwise.schemas.conversation import Record
from turnwise.schemas.score import Failure

URL = "bigquery://our-project/logs/turns"
QUERY = "bigquery://our-project?query=SELECT * FROM logs.turns"
LIMIT = 1 << 20
NUMBERS = [("n", "INTEGER")]


def records(url: str, most: int = 0, patience: float = 30.0) -> list[Record | Failure]:
    """Reads an address as the workers of a pipeline do."""
    parts = result_parts(prepare_query(url), most, patience)
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


@pytest.mark.parametrize("url", [URL, QUERY])
@pytest.mark.parametrize(("page", "most"), [(7, 0), (1, 1), (50, 4)])
def test_parts_give_every_row_once(rows, url, page, most):
    rows.page = page
    rows.answer("SELECT", NUMBERS, *([str(i)] for i in range(45)))
    found = records(url, most)
    assert sorted(n for _, n in numbers(found)) == list(range(45))
    shown = {each.source for each in found}
    number = most or rows.streams
    assert shown == ({url} if number == 1 else {f"{url} part {i} of {number}" for i in range(1, number + 1)})
    assert len({(each.source, each.position) for each in found}) == 45


def test_a_table_is_read_without_a_query(rows):
    rows.answer("SELECT", NUMBERS, ["1"])
    assert numbers(records(URL)) == [(1, 1)]
    assert rows.asked("/jobs") == []


def test_a_view_is_read_by_a_query(rows):
    rows.tables["turns"] = {"type": "VIEW"}
    rows.answer("SELECT [*] FROM `our-project.logs.turns`$", NUMBERS, ["1"])
    assert numbers(records(URL)) == [(1, 1)]
    assert len(rows.asked("POST .*/jobs")) == 2
    rows.tables["turns"] = table("DATE", "day") | {"type": "MATERIALIZED_VIEW"}
    rows.answer("WHERE `day` >= DATE '2026-11-21' AND `day` < DATE '2026-11-22'$", NUMBERS, ["2"])
    assert numbers(records(f"{URL}?partition=2026-11-21")) == [(1, 2)]


def test_a_service_that_is_away_is_asked_again(rows):
    rows.page = 10
    rows.answer("SELECT", NUMBERS, *([str(i)] for i in range(25)))
    rows.fail("READ .*offset=10", 503, "try later", times=2)
    rows.fail("SESSION", 503, "try later")
    rows.fail("POST .*/jobs", 503, "try later", "backendError")
    assert numbers(records(QUERY, 1)) == [(i + 1, i) for i in range(25)]
    assert len(rows.asked("READ .*offset=10")) == 3


@pytest.mark.parametrize(
    ("status", "message", "said"),
    [
        (503, "try later", "BigQuery does not answer: try later"),
        (403, "Access Denied: Table", "no permission: Access Denied: Table (needed: "),
        (400, "session expired", "session expired"),
    ],
)
def test_a_part_that_fails_for_good_is_an_error(rows, status, message, said):
    rows.page = 10
    rows.answer("SELECT", NUMBERS, *([str(i)] for i in range(25)))
    rows.fail("READ .*offset=[1-9]", status, message, times=1000)
    with pytest.raises(OSError) as raised:
        records(URL, 1, patience=2.0)
    assert str(raised.value).startswith(f"{URL}: {said}")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("url", "plan"),
    [
        (URL, f"{URL}: BigQuery reads about 5 GiB (list price: less than 0.01 USD)"),
        (QUERY, f"{QUERY}: BigQuery scans at most 5 GiB (list price: 0.03 USD)"),
    ],
)
def test_what_will_be_read_is_known_before_and_bounded(rows, url, plan):
    rows.answer("SELECT", NUMBERS, ["1"])
    query = prepare_query(url)
    assert query.plan == plan
    with pytest.raises(ConfigError) as raised:
        bounded([query, query], 9.5)
    assert str(raised.value) == f"{plan}; {plan}: more than --max_bigquery_gb 9.5"
    [limited] = bounded([query], 5)
    [part] = result_parts(limited)
    assert len(list(part_records(part, LIMIT))) == 1
    limits = [job["configuration"]["query"]["maximumBytesBilled"] for job in rows.jobs.values()]
    assert limits == ([] if url == URL else [str(5 << 30)])


def test_a_row_that_is_too_large_is_a_failure_with_its_number(rows):
    rows.answer("SELECT", [("text", "STRING")], ["short"], ["x" * 2000], ["short"])
    [part] = result_parts(prepare_query(URL), 1)
    first, large, last = part_records(part, 1000)
    assert isinstance(first, Record) and isinstance(last, Record)
    assert isinstance(large, Failure)
    assert (large.source, large.position, large.error_type) == (URL, 2, "OversizedRecordError")


def test_a_query_that_fails_midway_is_one_line(rows):
    rows.answer("SELECT", NUMBERS, error="Division by zero: 1 / 0")
    with pytest.raises(OSError) as raised:
        records(QUERY)
    assert str(raised.value) == f"{QUERY}: Division by zero: 1 / 0"


@pytest.mark.parametrize(
    ("url", "request_", "status", "message", "said"),
    [
        (URL, "SESSION", 503, "try later", "BigQuery does not answer: try later"),
        (
            URL,
            "SESSION",
            403,
            "no right",
            "no permission: no right (needed: BigQuery Data Viewer on the data, ",
        ),
        (QUERY, "POST .*/jobs", 503, "try later", "BigQuery does not answer: try later"),
        (QUERY, "POST .*/jobs", 400, "Unrecognized name: turn\nat [1:8]", "Unrecognized name: turn at [1:8]"),
    ],
)
def test_what_a_trial_finds_is_said_before_the_run(rows, url, request_, status, message, said):
    rows.answer("SELECT", NUMBERS)
    rows.fail(request_, status, message, "invalidQuery" if status == 400 else "backendError", times=1000)
    with pytest.raises(ConfigError) as raised:
        prepare_query(url, patience=2.0)
    assert str(raised.value).startswith(f"{url}: {said}")
    assert "\n" not in str(raised.value)


def test_half_an_emulator_is_refused(rows, monkeypatch):
    monkeypatch.delenv(STORAGE_EMULATOR)
    with pytest.raises(ConfigError, match=f"{STORAGE_EMULATOR} is missing"):
        prepare_query(URL)


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
    assert (query.table, query.where) == ("projects/our-project/datasets/logs/tables/turns", where)


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
