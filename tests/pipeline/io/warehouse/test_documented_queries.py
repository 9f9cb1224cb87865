import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import duckdb
import pytest

from benchmarks.engines.engines import CACHE
from tests.documentation import page
from tests.pipeline.io.warehouse.conftest import DATASET, PROJECT, conversation, place, staged
from turnwise.pipeline.io.sinks import prepare_service
from turnwise.pipeline.io.staging import complete_dataset
from turnwise.schemas.rows import WAREHOUSE_TABLES

TEXT = page("warehouse").split("## BigQuery")
VIEWS = TEXT[0].split("```sql\n")[1].split("```")[0]
QUERIES = [part.split("```")[0] for part in TEXT[1].split("```sql\n")[1:]]
Rows = list[dict[str, Any]]


def judged(folder, tokens):
    score = {"run_id": "judged", "criterion": "safety_v1", "judge": json.dumps({"tokens_in": tokens})}
    return staged(folder / "staged", "scores", score)


@pytest.fixture(scope="module")
def database(score, tmp_path_factory):
    """Returns the views over two runs of a version each, and two scores of a judge."""
    folder = tmp_path_factory.mktemp("queries")
    lake, config = folder / "lake", folder / "config.json"
    criteria = {"response_match_score": 0.5, "hallucinations_v1": 0.5}
    config.write_text(json.dumps({"criteria": criteria}))
    for version, said in (("v1", "Hello"), ("v2", "Bye")):
        records: Rows = [conversation(f"{version}-{i}", version, said) for i in range(3)]
        done = score(
            folder, f"parquet:{lake}", *records, {"turns": "none"}, run_id=version, config=str(config)
        )
        assert done.status == 0
    day = done.document("run.json")["create_time"][:10]
    tokens = [judged(folder, number) for number in (12, 30)]
    assert complete_dataset(place(f"parquet:{lake}", folder, "judged", day), tokens) == []
    database = duckdb.connect()
    database.execute("SET TimeZone = 'UTC'")
    database.execute(VIEWS.replace("/data/turnwise", str(lake)))
    return database


@pytest.fixture(scope="module")
def found(database):
    return [_fetched(database.execute(query)) for query in QUERIES]


def _fetched(done):
    names = [column[0] for column in done.description or ()]
    return [dict(zip(names, row, strict=True)) for row in done.fetchall()]


def test_there_are_five():
    assert len(QUERIES) == 5


def test_metrics_of_versions_by_day(found):
    rows = {(row["app_version"], row["criterion"]): row for row in found[0]}
    assert rows["v1", "response_match_score"]["mean"] == 1 and rows["v2", "response_match_score"]["mean"] == 0
    assert rows["v1", "response_match_score"]["pass_rate"] == 1
    assert rows["v2", "hallucinations_v1"] | {"date": 0} == {
        "date": 0,
        "app_version": "v2",
        "criterion": "hallucinations_v1",
        "scores": 3,
        "no_score": 3,
        "mean": None,
        "pass_rate": None,
    }


def test_what_fell(found):
    rows = {row["criterion"]: row for row in found[1]}
    assert set(rows) == {"response_match_score"}
    fell = rows["response_match_score"]
    assert (fell["passed_before"], fell["decided_before"]) == (3, 3)
    assert (fell["passed_after"], fell["decided_after"], fell["change"]) == (0, 3, -1)


def test_worst_conversations(found):
    names = [row["conversation_id"] for row in found[2]]
    assert names[:3] == ["v2-0", "v2-1", "v2-2"] and found[2][0]["verdict"] == "FAIL"


def test_failures_by_stage_and_day(found):
    [row] = [row for row in found[3] if row["stage"] == "parse"]
    assert (row["error_type"], row["number"]) == ("UnknownFormatError", 2) and "turns" in row["example"]


def test_what_has_no_score_and_what_judges_read(found):
    rows = {row["criterion"]: row for row in found[4]}
    assert rows["hallucinations_v1"]["no_score_share"] == 1
    assert rows["response_match_score"]["no_score_share"] == 0
    assert (rows["safety_v1"]["scores"], rows["safety_v1"]["tokens_in"]) == (2, 42)
    assert rows["safety_v1"]["tokens_out"] is None


BOARDS = Path(__file__).parents[4] / "deploy/boards"
PANELS = {panel["title"]: panel for panel in json.loads((BOARDS / "grafana.json").read_text())["panels"]}


def panel_rows(database, title, first, last):
    """Returns what a panel of Grafana shows of some dates; BigQuery's names are those of the views."""
    [target] = PANELS[title]["targets"]
    sql = re.sub(r"`\$\{dataset\}\.(\w+)`", r"\1", target["rawSql"])
    for name, day in (("from", first), ("to", last)):
        sql = sql.replace(f"${{__{name}:date:YYYY-MM-DD}}", day)
    assert "$" not in sql.replace("'$.", "") and "`" not in sql
    return _fetched(database.execute(sql))


def test_every_panel_of_grafana_shows_the_runs(database):
    shown = {title: panel_rows(database, title, "2020-01-01", "2100-01-01") for title in PANELS}
    passed = {row["version"]: row["pass_rate"] for row in shown["Pass rate by version"]}
    # The hallucinations of v1 were not judged: that is no verdict, and in no pass rate.
    assert passed == {"v1": None, "v2": 0}
    assert [row["without_verdict"] for row in shown["Share without a verdict"]] == [1, 0]
    # What has no version was rejected, and is in no verdict.
    assert [row["number"] for row in shown["Rejected"]] == [2]
    assert [row["criterion"] for row in shown["Pass rate by criterion"]] == ["response_match_score"]
    assert [row["conversations"] for row in shown["Problem types"]] == [3, 3]
    names = [row["conversation_id"] for row in shown["Conversations to read first"]]
    assert names == ["v2-0", "v2-1", "v2-2", "v1-0", "v1-1", "v1-2"]
    assert [row["tokens_in"] for row in shown["Tokens of the judge"]] == [42]
    assert [(row["runs"], row["conversations"]) for row in shown["Runs by date"]] == [(2, 6)]
    for title, panel in PANELS.items():
        assert panel_rows(database, title, "2020-01-01", "2020-01-02") == [], title
        # A time series needs its time, and a filter that selects partitions.
        assert panel["type"] != "timeseries" or all("time" in row for row in shown[title])


def looker_sql(view):
    """Returns the SQL of the dimensions and measures of a view of LookML."""
    kinds = {"count": "COUNT(*)", "sum": "SUM({})", "count_distinct": "COUNT(DISTINCT {})", "number": "{}"}
    groups = [group | {"name": f"{group['name']}_date"} for group in view["dimension_groups"]]
    sql = {each["name"]: each["sql"] for each in [*groups, *view["dimensions"]]}
    for measure in view["measures"]:
        text = re.sub(r"\$\{([a-z_]+)\}", lambda name: sql[name[1]], measure.get("sql", ""))
        sql[measure["name"]] = kinds[measure["type"]].format(text)
    return {name: text.replace("${TABLE}", view["name"]) for name, text in sql.items()}


def test_every_field_of_looker_has_its_figure(database):
    lkml = pytest.importorskip("lkml")
    model = lkml.load((BOARDS / "turnwise.model.lkml").read_text())
    views = {view["name"]: view for view in model["views"]}
    for explore in model["explores"]:
        [[days, *_]] = explore["always_filter"]["filters__all"]
        assert list(days) == [f"{explore['name']}.day_date"] and explore["name"] in views

    def selected(name, measures, by, where="TRUE"):
        sql, table = looker_sql(views[name]), views[name]["sql_table_name"]
        for field in sql.values():
            database.execute(f"SELECT {field} FROM {table} AS {name}")
        wanted = ", ".join(sql[measure] for measure in measures)
        text = f"SELECT {sql[by]}, {wanted} FROM {table} AS {name} WHERE {where} GROUP BY 1"
        return {row[0]: row[1:] for row in database.execute(text).fetchall()}

    verdicts = selected(
        "verdicts", ("pass_rate", "without_share", "runs"), "app_version", "criterion = 'verdict'"
    )
    assert verdicts == {"v1": (None, 1, 1), "v2": (0, 0, 1)}
    means = selected(
        "verdicts", ("mean",), "app_version", "criterion = 'response_match_score' AND level = 'turn'"
    )
    assert means == {"v1": (1,), "v2": (0,)}
    conversations = selected("conversations", ("number", "to_read", "turns"), "verdict")
    assert conversations == {"none": (3, 3, 3), "FAIL": (3, 3, 3)}
    rejected = selected("failures", ("number", "rejected"), "stage")
    assert rejected["parse"] == (2, 2)


def test_googles_own_analyzer_takes_all_statements(score, bigquery, appends, tmp_path):
    analyzer = shutil.which("googlesql", path=str(CACHE))
    if analyzer is None:
        pytest.skip(f"{CACHE}/googlesql is missing: see benchmarks/googlesql/main.go")
    lkml = pytest.importorskip("lkml")
    prepare_service(place(f"bigquery://{PROJECT}/{DATASET}", tmp_path)._replace(is_streaming=True))
    whole = f"{PROJECT}.{DATASET}."
    tables = {"stream_current": [("change_id", "STRING"), ("date", "DATE")]}
    for name, resource in bigquery.tables.items():
        if fields := resource["schema"]["fields"]:
            columns = [("REPEATED_" * (field["mode"] == "REPEATED") + field["type"]) for field in fields]
            tables[name] = [(field["name"], kind) for field, kind in zip(fields, columns, strict=True)]
    for name in WAREHOUSE_TABLES:
        tables[name] = [
            column for column in tables[f"stream_{name}"] if column[0] not in ("change_id", "change_row")
        ]
    views = dict(enumerate(bigquery.views))
    statements = {f"view {i}": sql for i, sql in views.items()} | {"wrong": "SELECT nothing FROM scores"}
    statements |= {f"query {i}": sql for i, sql in enumerate(QUERIES)}
    for title, panel in PANELS.items():
        sql = panel["targets"][0]["rawSql"].replace("${dataset}.", whole)
        statements[title] = re.sub(r"\$\{__\w+:date:YYYY-MM-DD\}", "2026-11-21", sql)
    for view in lkml.load((BOARDS / "turnwise.model.lkml").read_text())["views"]:
        for name, sql in looker_sql(view).items():
            statements[f"{view['name']}.{name}"] = (
                f"SELECT {sql} FROM {view['sql_table_name']} AS {view['name']}"
            )
    known = tables | {f"{whole}{name}": columns for name, columns in tables.items()}
    given = json.dumps({"tables": known, "statements": statements})
    done = subprocess.run([analyzer], input=given, capture_output=True, text=True, check=True)
    assert len(views) == 1 + len(WAREHOUSE_TABLES) and len(statements) > 60
    assert json.loads(done.stdout) == {"wrong": "Unrecognized name: nothing [at 1:8]"}
