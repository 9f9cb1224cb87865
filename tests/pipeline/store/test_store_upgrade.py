"""A store that an earlier version filled is brought up to date, and its rows are still those of their run."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from sqlalchemy import create_engine, select, text

from tests import forked
from turnwise.pipeline.service.results import get_evaluation_result, get_failures, list_evaluation_results
from turnwise.pipeline.service.service import Service
from turnwise.pipeline.store.engine import Store, open_store
from turnwise.pipeline.store.figures import figures_of
from turnwise.pipeline.store.migrations import MIGRATIONS, migrate, stored_version
from turnwise.pipeline.store.naming import LOCAL_APP
from turnwise.pipeline.store.results import read_figures
from turnwise.pipeline.store.tables import (
    EXECUTIONS,
    FAILURES,
    RESULTS,
    RUN_SUMMARIES,
    RUNS,
    SCORES,
)
from turnwise.pipeline.store.urls import driver_url
from turnwise.pipeline.store_comparison.summaries import Summaries, keep_summaries
from turnwise.schemas.ces.requests import ListEvaluationResultsRequest
from turnwise.schemas.ces.tools import GetFailuresRequest

FOLDER = Path(__file__).parent
OLD = FOLDER / "version_2"
"""`rows.sql` is what the run `nightly` over `logs.jsonl` and `cases.jsonl` left in a store of version 2.

That in `version_5` is what it left in a store of version 5, over the same files.
"""


class OldStore(NamedTuple):
    """A store that an earlier version filled."""

    url: str
    version: int


@pytest.fixture(params=[(kind, version) for kind in ("sqlite", "postgres") for version in (2, 5)], ids=str)
def old_store(request: pytest.FixtureRequest) -> OldStore:
    """A store of an earlier version."""
    kind, version = request.param
    url: str = request.getfixturevalue(f"{kind}_url")
    engine = create_engine(driver_url(url))
    with engine.begin() as connection:
        migrate(connection, MIGRATIONS[:version])
        for statement in (FOLDER / f"version_{version}/rows.sql").read_text(encoding="utf-8").splitlines():
            connection.execute(text(statement.replace(":", "\\:")))
    engine.dispose()
    return OldStore(url, version)


@pytest.fixture
def old_url(old_store: OldStore) -> str:
    """Its address."""
    return old_store.url


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


def test_an_earlier_store_keeps_its_rows_under_the_names_of_their_run(
    old_store: OldStore, tmp_path: Path
) -> None:
    old_url = old_store.url
    engine = create_engine(driver_url(old_url))
    with engine.begin() as connection:
        rows = connection.execute(text("SELECT name, content FROM results")).all()
    old = [json.loads(content) for _, content in rows]
    engine.dispose()
    store = open_store(old_url)
    assert store.read(stored_version) == len(MIGRATIONS)
    upgraded, failures = contents(store, RESULTS), contents(store, FAILURES)
    assert len(upgraded) == len(old) == 3 and len(failures) == 2
    names = upgraded if old_store.version > 2 else {name.rpartition("-")[0] for name in upgraded}
    assert {*names} == {name for name, _ in rows}
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


def test_runs_and_scores_of_an_earlier_store_are_told_as_far_as_they_are_known(
    old_store: OldStore, tmp_path: Path
) -> None:
    store = open_store(old_store.url)
    columns = RUNS.c.run_id, RUNS.c.state, RUNS.c.results, RUNS.c.create_nanos
    told = store.read(lambda c: [tuple(row) for row in c.execute(select(*columns))])
    assert told == [("nightly", "UNKNOWN", None, 0)] * 2
    days = store.read(lambda c: [tuple(row) for row in c.execute(select(SCORES.c.day, SCORES.c.language))])
    assert days == ([] if old_store.version == 2 else [("2026-11-23", None)] * 6)
    name = next(one for one in contents(store, RESULTS) if one.startswith(LOCAL_APP))
    evaluation = name.partition("/results/")[0]
    assert store.read(lambda c: read_figures(c, evaluation)).runs == [f"{LOCAL_APP}/evaluationRuns/nightly"]
    run(old_store.url, "nightly", tmp_path)
    states = store.read(lambda c: set(c.execute(select(EXECUTIONS.c.state)).scalars()))
    assert states == {"COMPLETED"} and len(contents(store, RESULTS)) == 3
    store.close()


def test_runs_of_an_earlier_store_are_summarised_by_the_first_comparison(old_url: str) -> None:
    store = open_store(old_url)
    kept = select(RUN_SUMMARIES.c.evaluation_run)
    assert not store.read(lambda c: c.execute(kept).all())
    keep_summaries(store, LOCAL_APP)
    runs = store.read(lambda c: c.execute(kept).scalars().all())
    assert runs == [f"{LOCAL_APP}/evaluationRuns/nightly"]
    groups = store.read(lambda c: figures_of(Summaries(c, LOCAL_APP).figures()))
    assert groups and groups == store.read(lambda c: {name: read_figures(c, name) for name in groups})
    store.close()


def test_summaries_in_the_form_of_an_earlier_version_are_made_again(store_url: str) -> None:
    engine = create_engine(driver_url(store_url))
    with engine.begin() as connection:
        migrate(connection, MIGRATIONS[:15])
        connection.execute(text("INSERT INTO run_summaries VALUES ('r/summary', 1, 'a', 'r', 1, '[]')"))
    engine.dispose()
    store = open_store(store_url)
    assert not store.read(lambda c: c.execute(select(RUN_SUMMARIES.c.name)).all())
    store.close()


def read_cases(url: str, folder: Path, *more: str) -> Any:
    command = ["run", "--input", "logs.jsonl", "--eval_cases", url, "--output", str(folder / "out")]
    return forked.run([*command, *more], OLD)


def test_a_store_of_eval_cases_is_upgraded_by_the_run_that_writes_to_it(old_url: str, tmp_path: Path) -> None:
    done = read_cases(old_url, tmp_path, "--judge", "none", "--store", old_url, "--run_id", "next")
    assert done.returncode == 1 and b"--eval_cases holds none" in done.stderr
    store = open_store(old_url, read_only=True)
    found = store.read(lambda c: [tuple(row) for row in c.execute(select(RUNS.c.run_id, RUNS.c.state))])
    assert ("next", "COMPLETED") in found
    store.close()


@pytest.mark.parametrize("writes", ["elsewhere", "nothing"])
def test_an_older_store_of_eval_cases_is_left_by_a_run_that_does_not_write_to_it(
    old_store: OldStore, tmp_path: Path, writes: str
) -> None:
    estimates = ("--judge", "gemini", "--store", old_store.url, "--estimate")
    other = ("--judge", "none", "--store", f"sqlite:///{tmp_path}/other.db")
    done = read_cases(old_store.url, tmp_path, *(other if writes == "elsewhere" else estimates))
    assert done.returncode == 2 and b"--eval_cases: the store is of an older turnwise" in done.stderr
    engine = create_engine(driver_url(old_store.url))
    with engine.begin() as connection:
        assert stored_version(connection) == old_store.version
    engine.dispose()


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_scores_with_nul_characters_are_brought_up_to_date(kind: str, request: pytest.FixtureRequest) -> None:
    url: str = request.getfixturevalue(f"{kind}_url")
    details = r'{"tool":"a\u0000\\u0000b","language":"fr","revision":1}'
    content = f'{{"details":{details},"judge":null,"tags":["de"],"language":"%s","revision":0}}'
    engine = create_engine(driver_url(url))
    with engine.begin() as connection:
        migrate(connection, MIGRATIONS[:5])
        for language in ("pt-BR", "ja"):
            columns = {"name": language, "content": content % language}
            texts = ("app", "evaluation_run", "conversation", "score_id", "conversation_id", "eval_id")
            names = [*columns, *texts, "version_id", "criterion"]
            values = {**dict.fromkeys(names, "a"), **columns}
            connection.execute(
                text(
                    f"INSERT INTO scores ({', '.join(names)}, update_nanos) "
                    f"VALUES ({', '.join(f':{name}' for name in names)}, 1)"
                ),
                values,
            )
    engine.dispose()
    store = open_store(url)
    found = store.read(lambda c: c.execute(select(SCORES.c.language, SCORES.c.content)).all())
    store.close()
    assert {language: kept for language, kept in found} == {
        language: content % language for language in ("pt-BR", "ja")
    }


def test_an_upgraded_store_is_sound(old_store: OldStore, turnwise: Callable[..., Any]) -> None:
    open_store(old_store.url).close()
    done = turnwise("store", "check", "--store", old_store.url)
    assert (done.status, done.err) == (0, "")
    assert "rows of 2 executions that have no counts" in done.out
