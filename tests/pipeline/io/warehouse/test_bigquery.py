import json
import logging
import os
import re
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest
from google.cloud.bigquery import Client

from tests.bigquery.http import TOKEN
from tests.bigquery.service import BigQuery
from tests.pipeline import test_redaction as canaries
from tests.pipeline.io.warehouse.conftest import DATASET, PROJECT, SECRET, conversation, place, staged
from turnwise.pipeline.cli.main import main
from turnwise.pipeline.io.bigquery_sink import bigquery_schema, prepare_tables
from turnwise.pipeline.io.sinks import complete_service, prepare_service
from turnwise.pipeline.io.staging import staged_columns
from turnwise.schemas.config import ConfigError
from turnwise.schemas.rows import WAREHOUSE_TABLES, columns

URL = f"bigquery://{PROJECT}/{DATASET}"
DAY = date(2026, 11, 21)
JOBS = r"POST /bigquery/.*/jobs\b"


def test_a_run_is_written_into_tables_by_day(bigquery, score, tmp_path, caplog):
    caplog.set_level(logging.DEBUG)
    records = [conversation("c1", tags=["skipped:NONE"]), conversation("c2", None, "Bye"), {"turns": "none"}]
    done = score(tmp_path, URL, *records, run_id="night-{date}", date="2026-11-20")
    assert done.status == 0 and f"store: {URL}" in done.out
    assert set(bigquery.tables) == set(WAREHOUSE_TABLES)
    for table in WAREHOUSE_TABLES:
        found, wanted = bigquery.rows(table), done.rows(table)
        [day] = {row.pop("date") for row in found}
        assert day == date(2026, 11, 20)
        for row in found:
            row |= {c.name: json.loads(row[c.name]) for c in columns(table) if c.is_json and row[c.name]}
        assert sorted(map(json.dumps, found)) == sorted(map(json.dumps, wanted)) and wanted
        made = bigquery.tables[table]
        assert made["timePartitioning"] == {"type": "DAY", "field": "date"}
        assert made["clustering"]["fields"][0] == "app_version"
    assert bigquery.tables["scores"]["clustering"]["fields"] == ["app_version", "criterion"]
    assert [path.name for path in done.directory.iterdir() if path.name.startswith("_")] == []
    said = done.out + done.err + caplog.text + json.dumps(done.document("run.json"))
    assert TOKEN not in said and SECRET not in said


def test_personal_data_reaches_no_table_and_no_staged_file(bigquery, score, tmp_path):
    records = [
        canaries.conversation(name, version) for name in ("c1", canaries.ID) for version in ("v1", "v2")
    ]
    broken = {"conversation_id": "x", "turns": canaries.WORDS}
    config = canaries.config_file(tmp_path, criteria={"response_match_score": 0.5, "tool_effects_v1": 1.0})
    done = score(tmp_path, URL, *records, broken, config=str(config))
    held = [repr(bigquery.rows(table)) for table in WAREHOUSE_TABLES]
    assert "<EMAIL_1>" in "".join(held)
    assert canaries.leaks(*held, done.directory, tmp_path / "bucket", done.out, done.err) == []


def complete(out, *names, run_id="night", day=DAY, table="scores"):
    """Completes a run whose rows lie in a file each."""
    there = place(URL, out, run_id)
    rows = [{"run_id": run_id, "conversation_id": name} for name in names]
    return complete_service(there, [staged(out / "s", table, row, day=day) for row in rows])


def scores(bigquery):
    return [(row["run_id"], row["conversation_id"], str(row["date"])) for row in bigquery.rows("scores")]


@pytest.fixture
def tables(bigquery):
    """The service with the tables of a run, which holds the conversation `old`, and one of another run."""
    prepare_tables(URL)
    for run_id, name in (("night", "old"), ("night-2", "other")):
        bigquery.duckdb.execute(
            f"INSERT INTO {DATASET}.scores (date, run_id, conversation_id) VALUES ('2026-11-20', ?, ?)",
            [run_id, name],
        )
    bigquery.requests.clear()
    return bigquery


OTHER = ("night-2", "other", "2026-11-20")
OLD = ("night", "old", "2026-11-20")


def test_a_run_replaces_its_rows_by_its_id_on_whatever_day(tables, tmp_path):
    for names in (["a", "b"], ["a", "b"], ["c"]):
        assert complete(tmp_path, *names) == []
        found = [("night", name, "2026-11-21") for name in names]
        assert scores(tables) == sorted([*found, OTHER], key=lambda row: (row[2], row[0]))
    assert set(tables.tables) == set(WAREHOUSE_TABLES)
    listed = Client(PROJECT).list_rows(f"{PROJECT}.{DATASET}.scores")
    assert sorted(row["conversation_id"] for row in listed) == ["c", "other"]


def test_a_run_without_rows_of_a_table_has_none_afterwards(tables, tmp_path):
    assert complete(tmp_path, "f", table="failures") == []
    assert scores(tables) == [OTHER] and len(tables.rows("failures")) == 1


def test_files_in_cloud_storage_are_loaded_by_their_addresses(tables, tmp_path):
    parts = [
        staged(tables.bucket / "b/s", "scores", {"run_id": "night", "conversation_id": name}, day=DAY)
        for name in "ab"
    ]
    there = [part._replace(path=f"gs://b/s/{Path(part.path).name}") for part in parts]
    assert complete_service(place(URL, tmp_path), there) == []
    assert [row[1] for row in scores(tables)] == ["other", "a", "b"]
    assert not [line for line in tables.requests if "upload" in line]


@pytest.mark.parametrize(
    ("request_", "how"),
    [("PUT /upload", "lost"), (JOBS, "lost"), (JOBS, "refused"), ("POST /upload", "refused")],
)
def test_a_request_that_is_repeated_writes_nothing_twice(tables, tmp_path, request_, how):
    if how == "lost":
        tables.lose_answer(request_)
    else:
        tables.fail(request_, 503, "try again", "backendError")
    assert complete(tmp_path, "a", "b") == []
    assert [row[1] for row in scores(tables)] == ["other", "a", "b"]
    assert set(tables.tables) == set(WAREHOUSE_TABLES)


def test_a_transaction_that_met_another_one_is_repeated(tables, tmp_path):
    conflict = "Transaction is aborted due to concurrent update against table our-project:nightly.scores"
    tables.failing_sql = ("INSERT INTO", conflict, 1)
    assert complete(tmp_path, "a") == []
    assert [row[1] for row in scores(tables)] == ["other", "a"]


def assert_untouched(tables, problems, said):
    [problem] = problems
    assert problem.startswith(f"--store {URL}: none of 2 rows were written: ")
    assert said in problem and "\n" not in problem
    assert scores(tables) == [OLD, OTHER] and set(tables.tables) == set(WAREHOUSE_TABLES)


def test_an_error_between_two_tables_leaves_all_tables_as_they_were(tables, tmp_path):
    tables.failing_sql = ('DELETE FROM "nightly"."failures"', "Resources exceeded", 9)
    assert_untouched(tables, complete(tmp_path, "a", "b"), "Resources exceeded")


def test_a_number_of_rows_that_differs_is_an_error(tables, tmp_path):
    part = staged(tmp_path / "s", "scores", {"run_id": "night", "conversation_id": "a"}, day=DAY)
    problems = complete_service(place(URL, tmp_path), [part._replace(rows=2)])
    assert_untouched(tables, problems, "1 instead of 2 rows of scores were loaded")


def test_an_error_at_the_end_is_a_problem_of_the_run(bigquery, score, tmp_path):
    bigquery.failing_sql = ("INSERT INTO", "Quota exceeded", 9)
    done = score(tmp_path, URL, conversation("c1"))
    [problem] = done.document("run.json")["problems"]
    assert done.status == 1 == done.document("run.json")["exit_status"]
    assert problem in done.err and "rows were written: Quota exceeded" in problem
    assert bigquery.rows("scores") == [] and len(done.rows("scores")) > 0


def missing_dataset(service):
    service.dataset = "another"


def forbidden(request):
    return lambda service: service.fail(request, 403, "Access Denied: missing permission", "accessDenied", 99)


def other_columns(*changes):
    """Makes the table of scores with other columns."""

    def change(service):
        fields = {
            field.name: field.to_api_repr() for field in bigquery_schema(staged_columns("scores", False))
        }
        for field in changes:
            fields[field["name"]] = fields.get(field["name"], {}) | field
        kept = [field for field in fields.values() if field.get("type")]
        reference = {"projectId": PROJECT, "datasetId": DATASET, "tableId": "scores"}
        service.create("scores", {"tableReference": reference, "schema": {"fields": kept}})

    return change


def a_view(service):
    other_columns()(service)
    service.tables["scores"]["type"] = "VIEW"


def broken(service):
    service.fail("GET", 503, "come back later", "backendError", 999)


REFUSALS: dict[str, tuple[Callable[[BigQuery], None], str]] = {
    "missing dataset": (missing_dataset, "there is no such dataset; make it with: bq mk nightly"),
    "no access": (forbidden("GET"), "no permission: Access Denied: missing permission (needed: BigQuery "),
    "no jobs": (forbidden(JOBS), "no permission: Access Denied"),
    "another type": (
        other_columns({"name": "value", "type": "STRING"}),
        "the table scores has the column value as STRING NULLABLE, not FLOAT NULLABLE",
    ),
    "a missing column": (
        other_columns({"name": "label", "type": ""}),
        "lacks the column label (STRING NULLABLE): add it with ALTER TABLE",
    ),
    "a required column": (
        other_columns({"name": "team", "type": "STRING", "mode": "REQUIRED"}),
        "has the column team, which is required and unknown here",
    ),
    "a view": (a_view, "is a view"),
    "unreachable": (broken, "BigQuery does not answer: "),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_what_cannot_be_written_is_refused_before_the_run(bigquery, tmp_path, name):
    cause, said = REFUSALS[name]
    cause(bigquery)
    with pytest.raises(ConfigError) as caught:
        if name == "unreachable":
            prepare_tables(URL, patience=1)
        else:
            prepare_service(place(URL, tmp_path))
    assert said in str(caught.value) and "\n" not in str(caught.value)
    assert str(caught.value).startswith(f"--store {URL}: ")
    assert not [table for table in bigquery.tables if "staging" in table]


def test_tables_of_others_with_more_columns_are_written(bigquery, tmp_path):
    other_columns({"name": "team", "type": "STRING", "mode": "NULLABLE"})(bigquery)
    bigquery.tables["scores"]["schema"]["fields"][0]["mode"] = "REQUIRED"
    prepare_service(place(URL, tmp_path))
    assert complete(tmp_path, "a") == []
    assert [(row["conversation_id"], row["team"]) for row in bigquery.rows("scores")] == [("a", None)]


@pytest.mark.parametrize("account", ["broken", "refused"])
def test_credentials_that_cannot_be_used_are_one_line(bigquery, tmp_path, account, capsys):
    file = Path(os.environ["GOOGLE_APPLICATION_CREDENTIALS"])
    if account == "broken":
        file.write_text("{}")
    else:
        stated = json.loads(file.read_text())
        file.write_text(json.dumps(stated | {"token_url": stated["token_url"].replace("token", "other")}))
    log = tmp_path / "log.jsonl"
    log.write_text(json.dumps(conversation("c1")) + "\n")
    assert main(["run", "--input", str(log), "--output", str(tmp_path / "out"), "--store", URL]) == 2
    [line] = capsys.readouterr().err.splitlines()
    # Another test of this process may have had a token: then the client itself finds it out.
    assert re.search(rf"--store {URL}: (no credentials:|the credentials (are refused|cannot be used)) ", line)
    assert SECRET not in line and not (tmp_path / "out").exists()


def test_rows_that_bigquery_refuses_leave_all_tables_as_they_were(tables, tmp_path):
    tables.refused_rows["scores_staging"] = "Error while reading data: bad row\nat 3"
    assert_untouched(
        tables, complete(tmp_path, "a", "b"), "Error while reading data: bad row at 3; more of it"
    )
