import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.documentation import page
from tests.pipeline.io.warehouse.conftest import conversation, place, staged
from turnwise.pipeline.io.parquet_sink import complete_dataset
from turnwise.pipeline.io.staging import StagedRows

TEXT = page("warehouse").split("## BigQuery")
VIEWS = TEXT[0].split("```sql\n")[1].split("```")[0]
QUERIES = [part.split("```")[0] for part in TEXT[1].split("```sql\n")[1:]]
Rows = list[dict[str, Any]]


def judged(folder: Path, tokens: int) -> StagedRows:
    """Writes the score of a judge."""
    score = {"run_id": "judged", "criterion": "safety_v1", "judge": json.dumps({"tokens_in": tokens})}
    return staged(folder / "staged", "scores", score)


@pytest.fixture(scope="module")
def found(score: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> list[Rows]:
    """Returns the rows of each query over two runs of a version each, and two scores of a judge."""
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
    return [_fetched(database.execute(query)) for query in QUERIES]


def _fetched(done: duckdb.DuckDBPyConnection) -> Rows:
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
