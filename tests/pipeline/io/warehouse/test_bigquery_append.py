"""Changes of a stream in BigQuery: every row once, whatever connections and workers do."""

import json
import re
from collections.abc import Callable

import grpc
import pytest

from tests.bigquery.append import AppendFault
from tests.bigquery.service import BigQuery
from tests.pipeline.io.warehouse.conftest import DATASET, PROJECT, place
from turnwise.pipeline.io.bigquery_sink import BigQueryChanges, prepare_tables
from turnwise.pipeline.io.sinks import StreamChange, prepare_service
from turnwise.schemas.config import ConfigError
from turnwise.schemas.rows import WAREHOUSE_TABLES, columns

URL = f"bigquery://{PROJECT}/{DATASET}"
TIME = 1_763_719_200.0
"""2025-11-21T10:00:00Z."""
Status = grpc.StatusCode


def row(table, **given):
    """Returns a row of a table, with null where nothing is given."""
    empty = {column.name: [] if column.is_list else None for column in columns(table)}
    return empty | {"run_id": "live", **given}


def change(name, revision=0, scores=2, **rows):
    flat = [row("scores", conversation_id=name, criterion=f"c{i}", revision=revision) for i in range(scores)]
    summary = [row("conversations", conversation_id=name, revision=revision)]
    return StreamChange("live", name, revision, TIME, {"scores": flat, "conversations": summary, **rows})


@pytest.fixture
def there(tmp_path):
    return place(URL, tmp_path, "live")._replace(is_streaming=True)


@pytest.fixture
def writer(appends, there):
    """Returns a writer of prepared tables, which asks for three seconds."""
    prepare_service(there)
    return BigQueryChanges(there, patience=3)


def seen(bigquery):
    names = "conversation_id, criterion, revision, date"
    found = bigquery.select(f"SELECT {names} FROM scores ORDER BY ALL")
    return [(each["conversation_id"], each["criterion"], each["revision"]) for each in found]


def appended(bigquery, table="scores"):
    return len(bigquery.rows(f"stream_{table}"))


ONE = [("a", "c0", 0), ("a", "c1", 0)]


def test_views_show_the_latest_revision_once(bigquery, writer):
    writer.write([change("a"), change("b", scores=1)])
    writer.write([change("a", 1, scores=1), change("a")])
    assert seen(bigquery) == [("a", "c0", 1), ("b", "c0", 0)]
    assert len(bigquery.select("SELECT * FROM conversations")) == 2
    writer.write([StreamChange("live", "a", 2, TIME, {})])
    assert seen(bigquery) == [("b", "c0", 0)] and appended(bigquery) == 6
    [day] = {each["date"].isoformat() for each in bigquery.select("SELECT date FROM scores")}
    assert day == "2025-11-21"
    for table in WAREHOUSE_TABLES:
        assert bigquery.tables[f"stream_{table}"]["timePartitioning"] == {"type": "DAY", "field": "date"}


def test_a_date_selects_partitions_and_the_newest_revision_of_all_dates(bigquery, writer):
    def scanned(day):
        sql = f"EXPLAIN (FORMAT JSON) SELECT criterion FROM scores WHERE date >= DATE '{day}'"
        [[_, plan]] = bigquery.duckdb.execute(f"USE {DATASET}").execute(sql).fetchall()
        nodes = [*json.loads(plan)]
        for node in nodes:
            nodes += node["children"]
        tables = [str(node["extra_info"]) for node in nodes if "stream_scores" in str(node["extra_info"])]
        return tables[0] if tables else ""

    day = 86400.0
    writer.write([change("a"), change("b", scores=1)._replace(time=TIME + day)])
    # A conversation that goes on at midnight has a later date, and none at the earlier one.
    writer.write([change("a", 1, scores=1)._replace(time=TIME + day)])
    assert re.search("Filters.*date.*2025-11-22", scanned("2025-11-22")), "the filter is not below the window"
    assert seen(bigquery) == [("a", "c0", 1), ("b", "c0", 0)]
    assert bigquery.select("SELECT * FROM scores WHERE date < DATE '2025-11-22'") == []
    # What has no time is of the day of its writing: a copy of another day counts once, too.
    for table in ("scores", "conversations", "changes"):
        bigquery.duckdb.execute(f"UPDATE {DATASET}.stream_{table} SET date = date - 1")
    writer.write([change("a", 1, scores=1)._replace(time=TIME + day)])
    assert seen(bigquery) == [("a", "c0", 1), ("b", "c0", 0)]


def test_of_one_revision_the_change_that_was_first_written_later_counts(bigquery, writer):
    for scores in (2, 1, 2):
        writer.write([change("a", scores=scores)])
    assert seen(bigquery) == [("a", "c0", 0)]


FAULTS = {
    "answer lost": AppendFault("scores", Status.UNAVAILABLE, is_written=True),
    "answers of all lost": AppendFault("", Status.INTERNAL, is_written=True, times=3),
    "error of the server": AppendFault("changes", error=Status.INTERNAL, times=2),
    "not yet found": AppendFault("scores", Status.NOT_FOUND),
}


@pytest.mark.parametrize("name", FAULTS)
def test_requests_that_are_repeated_double_nothing(bigquery, appends, writer, name):
    appends.faults.append(FAULTS[name])
    assert writer.write([change("a")]) == []
    assert seen(bigquery) == ONE and len(bigquery.select("SELECT * FROM conversations")) == 1
    assert appends.faults == []
    assert appended(bigquery) == 2 + 2 * FAULTS[name].times * FAULTS[name].is_written


REFUSALS = {
    "permission": (AppendFault("scores", Status.PERMISSION_DENIED, message="Access Denied"), "Access Denied"),
    "in the answer": (AppendFault("scores", error=Status.INVALID_ARGUMENT, message="bad\nrows"), "bad rows"),
    "for too long": (AppendFault("scores", Status.UNAVAILABLE, message="later", times=999), "later"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_what_is_refused_is_one_line_and_no_part_is_seen(bigquery, appends, writer, name):
    fault, said = REFUSALS[name]
    writer.write([change("a")])
    appends.faults.append(fault)
    with pytest.raises(OSError) as caught:
        writer.write([change("a", 1), change("b")])
    text = str(caught.value)
    assert text.startswith(f"--store {URL}: stream_scores: ") and said in text and "\n" not in text
    assert seen(bigquery) == ONE
    appends.faults.clear()
    writer.write([change("a", 1), change("b")])
    assert [each[0] for each in seen(bigquery)] == ["a", "a", "b", "b"]


def test_a_stream_that_is_to_end_waits_no_longer(bigquery, appends, there):
    prepare_service(there)
    writer = BigQueryChanges(there, patience=0)
    writer.stop.set()
    appends.faults.append(AppendFault("scores", Status.UNAVAILABLE, message="later", times=2))
    with pytest.raises(OSError, match="later"):
        writer.write([change("a")])


def test_rows_that_are_refused_are_failures_and_the_others_are_written(bigquery, appends, writer):
    appends.refused_values["'criterion': 'c1', 'value'"] = "value c1 is\nnot allowed"
    own = row("failures", stage="check", conversation_id="a", message="its own")
    wide = row("conversations", conversation_id="a", turns=2**70)
    first, second = change("a", conversations=[wide], failures=[own]), change("b")
    lost = writer.write([first, second])
    assert writer.write([second]) == [row for row in lost if row.change_id == second.change_id]
    assert seen(bigquery) == [("a", "c0", 0), ("b", "c0", 0)]
    names = "conversation_id, criterion, stage, message"
    found = [tuple(each.values()) for each in bigquery.select(f"SELECT {names} FROM failures ORDER BY ALL")]
    refused = "a row of scores was not written: value c1 is not allowed"
    assert found[0] == ("a", "c1", "write", refused) and found[3] == ("b", "c1", "write", refused)
    assert found[1][2:] == ("check", "its own")
    assert found[2][3].startswith("a row of conversations was not written: ") and len(found) == 4
    assert sorted(row.change_id for row in lost) == sorted([first.change_id] * 2 + [second.change_id])
    assert all(row.why.startswith(f"--store {URL}: a row of ") for row in lost)


@pytest.mark.parametrize("column", ["criterion", "message"])
def test_a_value_that_no_table_takes_stops_nothing(bigquery, appends, writer, column):
    appends.refused_values["poison"] = "the value poison is not allowed"
    own = row("failures", stage="check", message="poison" if column == "message" else "its own")
    scores = [row("scores", criterion="c") | {column: "poison"}] if column != "message" else []
    bad = StreamChange("live", "a", 0, TIME, {"scores": scores, "failures": [own]})
    [lost] = writer.write([bad, change("b")])
    assert lost.change_id == bad.change_id and "the value poison is not allowed" in lost.why
    assert {each[0] for each in seen(bigquery)} == {"b"}
    found = bigquery.select("SELECT stage, conversation_id, message FROM failures ORDER BY stage DESC")
    table = "scores" if scores else "failures"
    said = f"a row of {table} was not written, nor can its values be told here"
    assert found[0] == {"stage": "write", "conversation_id": None, "message": said}
    assert [each["message"] for each in found[1:]] == ["its own"] * (column != "message")


def test_an_id_of_another_stream_is_refused_where_a_stream_begins(bigquery, writer, there):
    new = there._replace(is_new=True)
    prepare_service(new)
    writer.write([change("a")])
    prepare_service(there)
    prepare_service(new._replace(run_id="another"))
    with pytest.raises(ConfigError, match="holds a stream with the run id live already: name another"):
        prepare_service(new)


def test_large_changes_are_divided(bigquery, appends, writer):
    scores = [
        row("scores", conversation_id="a", criterion=f"{i:02}", explanation="x" * 3_000_000) for i in range(5)
    ]
    scores[3]["explanation"] = "y" * 9_000_000
    writer.write([change("a", scores=0)._replace(rows={"scores": scores})])
    assert [each[1] for each in seen(bigquery)] == ["00", "01", "02", "04"]
    [failure] = bigquery.select("SELECT criterion, message FROM failures")
    assert failure["criterion"] == "03" and "bytes" in failure["message"]


def batch_tables(service):
    prepare_tables(URL)


def missing_dataset(service):
    service.dataset = "another"


def forbidden(service):
    service.fail(r"POST .*/jobs\b", 403, "Access Denied: no jobs", "accessDenied", 99)


CAUSES: dict[str, tuple[Callable[[BigQuery], None], str]] = {
    "tables of batches": (batch_tables, "a stream needs a dataset of its own"),
    "missing dataset": (missing_dataset, "make it with: bq mk nightly"),
    "no permission": (forbidden, "no permission: Access Denied: no jobs"),
}


@pytest.mark.parametrize("name", CAUSES)
def test_what_cannot_be_appended_is_refused_before_the_stream(bigquery, appends, there, name):
    cause, said = CAUSES[name]
    cause(bigquery)
    with pytest.raises(ConfigError) as caught:
        prepare_service(there)
    assert said in str(caught.value) and str(caught.value).startswith(f"--store {URL}: ")


def test_a_service_that_refuses_to_append_is_found_before_the_stream(bigquery, appends, there):
    appends.faults.append(AppendFault("changes", Status.PERMISSION_DENIED, message="no appending", times=9))
    with pytest.raises(ConfigError, match="no permission: no appending"):
        prepare_service(there)
    appends.faults.clear()
    prepare_service(there)
    prepare_service(there)


def test_a_batch_into_the_dataset_of_a_stream_is_refused(bigquery, writer, there):
    with pytest.raises(ConfigError, match="is a view"):
        prepare_service(there._replace(is_streaming=False))
