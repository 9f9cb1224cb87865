"""A store that an earlier version filled is brought up to date, and its rows are still those of their run."""

import json
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, select, text

from tests import forked
from turnwise.pipeline.service.results import get_evaluation_result, get_failures, list_evaluation_results
from turnwise.pipeline.service.service import Service
from turnwise.pipeline.store.engine import Store, open_store
from turnwise.pipeline.store.migrations import MIGRATIONS, migrate, stored_version
from turnwise.pipeline.store.naming import LOCAL_APP
from turnwise.pipeline.store.tables import FAILURES, RESULTS
from turnwise.pipeline.store.urls import driver_url
from turnwise.schemas.ces.requests import ListEvaluationResultsRequest
from turnwise.schemas.ces.tools import GetFailuresRequest

OLD = Path(__file__).parent / "version_2"
"""`rows.sql` is what the run `nightly` over `logs.jsonl` and `cases.jsonl` left in a store of version 2."""


@pytest.fixture(params=["sqlite_url", "postgres_url"])
def old_url(request: pytest.FixtureRequest) -> str:
    """The address of a store of version 2."""
    url: str = request.getfixturevalue(request.param)
    engine = create_engine(driver_url(url))
    with engine.begin() as connection:
        migrate(connection, MIGRATIONS[:2])
        for statement in (OLD / "rows.sql").read_text(encoding="utf-8").splitlines():
            connection.execute(text(statement.replace(":", "\\:")))
    engine.dispose()
    return url


def contents(store: Store, table: Any) -> dict[str, Any]:
    rows = store.read(lambda c: c.execute(select(table.c.name, table.c.content)).all())
    return {name: json.loads(content) for name, content in rows}


def unmatched(store: Store) -> list[str]:
    """Returns the names of failures that do not depend on the wording of a message."""
    return [name for name, row in contents(store, FAILURES).items() if row["stage"] == "match"]


def run(url: str, run_id: str, folder: Path) -> None:
    command = [
        *("run", "--input", "logs.jsonl", "--eval_cases", "cases.jsonl"),
        *("--judge", "none", "--output", str(folder / run_id), "--store", url, "--run_id", run_id),
    ]
    assert forked.run(command, OLD).returncode == 0


def test_a_store_of_version_2_keeps_its_rows_under_the_names_of_their_run(
    old_url: str, tmp_path: Path
) -> None:
    engine = create_engine(driver_url(old_url))
    with engine.begin() as connection:
        texts = connection.execute(text("SELECT content FROM results")).scalars()
        old = [json.loads(content) for content in texts]
    engine.dispose()
    store = open_store(old_url)
    assert store.read(stored_version) == len(MIGRATIONS)
    upgraded, failures = contents(store, RESULTS), contents(store, FAILURES)
    assert len(upgraded) == len(old) == 3 and len(failures) == 2
    assert {name.rpartition("-")[0] for name in upgraded} == {one["name"] for one in old}
    assert all(one["name"] == name for name, one in upgraded.items())
    kept = sorted(({**one, "name": ""} for one in upgraded.values()), key=str)
    assert kept == sorted(({**one, "name": ""} for one in old), key=str)
    run(old_url, "nightly", tmp_path)
    assert contents(store, RESULTS).keys() == upgraded.keys()
    assert unmatched(store) == [name for name, row in failures.items() if row["stage"] == "match"]
    run(old_url, "next", tmp_path)
    assert len(contents(store, RESULTS)) == 6 and len(unmatched(store)) == 2
    assert failures.keys() < contents(store, FAILURES).keys()
    assert upgraded.keys() < contents(store, RESULTS).keys()
    store.close()


def test_what_was_upgraded_is_read_as_what_is_new(old_url: str) -> None:
    store = open_store(old_url)
    service = Service(store, "tester")
    request = ListEvaluationResultsRequest.from_value({"parent": f"{LOCAL_APP}/evaluations/-"})
    listed = list_evaluation_results(service, request)["evaluationResults"]
    assert len(listed) == 2
    assert [get_evaluation_result(service, one["name"]) for one in listed] == listed
    found = get_failures(service, GetFailuresRequest.from_value({"parent": LOCAL_APP}))["failures"]
    assert {one["name"] for one in found} == contents(store, FAILURES).keys()
    store.close()
