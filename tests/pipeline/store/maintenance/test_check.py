"""A store that is not sound is not called sound."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from time import time_ns
from typing import Any
from zlib import crc32

import pytest
from sqlalchemy import text

from tests.pipeline.store.maintenance.conftest import (
    APP,
    NEW,
    put_dataset,
    put_run,
    refuse,
    run_sql,
)
from turnwise.pipeline.service.changes import update_evaluation
from turnwise.pipeline.service.service import Service
from turnwise.pipeline.store.engine import open_store
from turnwise.pipeline.store.maintenance.checks.checking import checks_of
from turnwise.pipeline.store_comparison.checks import COMPARED_CHECKS
from turnwise.schemas.ces.cases import Evaluation

ONE = f"{APP}/evaluations/one"
SAYS = "INSERT INTO evaluation_tags VALUES ('{}', '{}')"
NO_JSON = "rows of {} do not parse or agree"


def test_a_sound_store_is_sound(several: str, tend: Callable[..., Any]) -> None:
    done = tend("check")
    assert done.status == 0 and done.err == "" and "rows and executions: sound" in done.out
    assert "not checked: whether scores" in done.out
    assert ("not checked: pages" in done.out) == several.startswith("postgresql")


GONE = "DELETE FROM dataset_members; DELETE FROM evaluation_tags; DELETE FROM evaluations"
FREE = "ALTER TABLE evaluation_history DISABLE TRIGGER evaluation_history_refuse"
FREE_ON_SQLITE = "DROP TRIGGER evaluation_history_update; DROP TRIGGER evaluation_history_delete"

NO_PLACES = '["|u1",""]'
NO_COLUMN = f'{{"values":[],"places":{NO_PLACES}}}'
NO_ROWS = f"[{f'{NO_COLUMN},' * 9}[],[[],{NO_PLACES},[],{NO_PLACES},[],[]]]"
NO_SUMMARY = f"{crc32(NO_ROWS.encode()):08x}{NO_ROWS}"
ALL_GONE = "DELETE FROM failure_rows; DELETE FROM score_rows; DELETE FROM run_summaries"
DAMAGES = [
    ("DROP VIEW latest_scores", "the view latest_scores is missing"),
    ("DROP INDEX score_rows_by_run", "the index score_rows_by_run is missing"),
    (
        "DROP INDEX score_rows_by_run; CREATE INDEX score_rows_by_run ON score_rows (name)",
        "the index score_rows_by_run is not as turnwise makes it",
    ),
    (
        "DROP VIEW latest_results; CREATE VIEW latest_results AS SELECT name FROM result_rows",
        "the view latest_results is not as turnwise makes it",
    ),
    ("ALTER TABLE score_rows ADD COLUMN more TEXT", "score_rows"),
    ("DELETE FROM current_runs", "no execution of it is read"),
    ("UPDATE current_runs SET execution = 7", "the execution that is read is not there"),
    ("UPDATE evaluations SET content = '{}'", "its newest revision is not in the history"),
    (
        GONE,
        "1 evaluations are gone, and their history does not say so",
    ),
    ("DELETE FROM run_executions", "rows belong to no execution"),
    ("UPDATE result_rows SET content = '{'", "6 " + NO_JSON.format("result_rows")),
    ("UPDATE result_rows SET evaluation_status = 'FAIL'", "(evaluation_status)"),
    ("UPDATE result_rows SET app_version = 'v7'", "(app_version)"),
    ('UPDATE result_rows SET parts = \'[[[0, "tool", "x"], 1, 0]]\'', "(content)"),
    ("UPDATE conversation_rows SET harm = 0.5", "(harm)"),
    ("UPDATE conversation_rows SET user_id = 'u-7'", "(user_id)"),
    ("UPDATE failure_rows SET stage = 'score'", NO_JSON.format("failure_rows")),
    ("UPDATE score_rows SET content = 'null'", NO_JSON.format("score_rows")),
    ("UPDATE run_executions SET state = 'DONE'", "(state)"),
    ("UPDATE run_executions SET exit_status = 1", "(exit_status)"),
    ("UPDATE run_executions SET criteria = '['", "(JSONDecodeError)"),
    ("UPDATE run_executions SET passes = 2", "counted 2 passes, but 3 are there"),
    ("DELETE FROM result_rows WHERE name LIKE '%old-c-2%'", "counted 3 results, but 2 are there"),
    ("DELETE FROM conversation_rows WHERE conversation_id = 'c-2'", "2 rows of score_rows are of a conv"),
    ("DELETE FROM failure_rows", "counted 3 lost, but 0 are there"),
    (
        "INSERT INTO pruned_runs VALUES ('x', 1, 'me', 1)",
        "the execution of the metrics is not there",
    ),
    (SAYS.format(ONE, "x"), f"1 evaluations have other tags in their table: {ONE}"),
    (
        "INSERT INTO access_tokens VALUES ('a', 'b', 'god', 'c', 'd', 1, NULL, NULL, NULL)",
        NO_JSON.format("access_tokens"),
    ),
    ("INSERT INTO store_settings VALUES ('retention', '{')", "the store's retention is none"),
    (f"{FREE}; DELETE FROM evaluation_history WHERE revision = 1", "1 histories lack a revision"),
    (
        f"{FREE}; DELETE FROM evaluation_history WHERE revision = 2",
        "its newest revision is not in the history",
    ),
    (
        f"{FREE}; UPDATE evaluation_history SET content = replace(content, 'one', 'two') WHERE revision = 1",
        f"1 revisions were changed: their etag is that of another content: {ONE} revision 1",
    ),
    ("DELETE FROM dataset_members", "1 datasets have other members in their table"),
    ("DELETE FROM evaluation_tags WHERE tag = 'a'", "1 evaluations have other tags in their table"),
    ("UPDATE run_summaries SET content = '{'", "its summary cannot be read"),
    (f"UPDATE run_summaries SET content = '{NO_SUMMARY}'", "its summary is not what its rows say"),
    ("UPDATE run_summaries SET content = replace(content, 'c-12', 'c-13')", "its summary cannot be read"),
    ("DELETE FROM score_rows", "its summary is not what its rows say"),
    ("UPDATE score_rows SET criterion = 'x'", "its summary is not what its rows say"),
    ("UPDATE score_rows SET outcome = 'FAIL'", "its summary is not what its rows say"),
    ("UPDATE score_rows SET content = '{}'", "6 " + NO_JSON.format("score_rows")),
    ("UPDATE score_rows SET content = '{}'", "its summary cannot be compared"),
    ("UPDATE score_rows SET version_id = 'v9'", "6 rows of score_rows name another conversation or version"),
    ("UPDATE result_rows SET version_id = 'v9'", "6 " + NO_JSON.format("result_rows")),
    (
        "UPDATE result_rows SET conversation_id = 'zz'",
        "6 rows of result_rows are of a conversation that is not there",
    ),
    ("UPDATE conversation_rows SET version_id = 'v9'", "6 " + NO_JSON.format("conversation_rows")),
    ("UPDATE run_executions SET config_digest = 'x'", "2 " + NO_JSON.format("run_executions")),
    ("UPDATE evaluation_datasets SET display_name = 'x'", "(display_name)"),
    ("UPDATE run_executions SET state = 'UNKNOWN'", "(state)"),
    (f"UPDATE run_executions SET state = 'UNKNOWN'; {ALL_GONE}", "(state)"),
    ("UPDATE run_executions SET state = 'ERROR'", "(state)"),
    ("UPDATE run_executions SET state = 'RUNNING'", "(state)"),
    ("UPDATE run_executions SET content = NULL", "(state)"),
    ("UPDATE run_executions SET results = NULL", "(state)"),
    ("UPDATE run_executions SET exit_status = NULL", "(exit_status)"),
    ("UPDATE run_executions SET judge = NULL", "(judge)"),
    ("UPDATE conversation_rows SET why = 'x'", "(why)"),
    ("UPDATE score_rows SET language = 'ko'", "6 conversations have scores of another language"),
    ("UPDATE score_rows SET event_time = '2026-01-01T00:00:00Z'", "conversations have scores of another"),
    ("UPDATE score_rows SET day = '2026-01-01'", "6 conversations have scores of another"),
]


@pytest.fixture
def several(filled: str) -> str:
    """Returns a store that also has a dataset, and an evaluation with tags and two revisions."""
    with closing(open_store(filled)) as store:
        put_dataset(store, "all", "All", ONE)
        update_evaluation(Service(store, "tester"), Evaluation(name=ONE, tags=["b", "a"]), "tags")
    return filled


def told_of(store: Any, checks: Any, damage: str) -> str:
    """Returns what is said of a store while it has a damage."""
    own = damage.replace(FREE, FREE_ON_SQLITE) if store.is_sqlite else damage

    def work(connection: Any) -> str:
        for statement in own.split("; "):
            connection.execute(text(statement))
        return "\n".join(line for check in checks for line in check.problems(connection, time_ns()))

    return str(store.undone(work))


def test_each_damage_is_told(several: str, tend: Callable[..., Any]) -> None:
    with closing(open_store(several)) as store:
        checks = (*checks_of(store), *COMPARED_CHECKS)
        told = {damage: told_of(store, checks, damage) for damage, _ in DAMAGES}
    assert {damage: told[damage] for damage, why in DAMAGES if why not in told[damage]} == {}
    assert tend("check").status == 0


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        ("DROP TABLE pruned_runs", "the table pruned_runs is missing"),
        ("ALTER TABLE erasures DROP COLUMN end_nanos", "erasures"),
        ("UPDATE score_rows SET content = ''", "6 rows of score_rows do not parse or agree"),
        ("UPDATE run_executions SET content = '['", "2 rows of run_executions do not parse or agree"),
        ("UPDATE run_executions SET content = '{\"removed_rows\": 1}'", "(content)"),
        ("UPDATE failure_rows SET content = '{'", "6 rows of failure_rows do not parse or agree"),
    ],
)
def test_damage_ends_the_command_with_1(filled: str, tend: Callable[..., Any], damage: str, why: str) -> None:
    with closing(open_store(filled)) as store:
        run_sql(store, damage)
    done = tend("check")
    assert done.status == 1 and why in done.err and "erasures: " in done.out


def test_a_trigger_that_is_missing_is_told(filled: str, tend: Callable[..., Any]) -> None:
    drop = "DROP TRIGGER evaluation_history_update"
    if filled.startswith("postgresql"):
        drop = "ALTER TABLE evaluation_history DISABLE TRIGGER evaluation_history_refuse"
    with closing(open_store(filled)) as store:
        run_sql(store, drop)
    done = tend("check")
    assert done.status == 1 and "the trigger evaluation_history_" in done.err


def test_a_trigger_that_does_nothing_and_one_more_are_told(filled: str, tend: Callable[..., Any]) -> None:
    changes = [
        "DROP TRIGGER evaluation_history_delete",
        "CREATE TRIGGER evaluation_history_delete BEFORE DELETE ON evaluation_history BEGIN SELECT 1; END",
    ]
    if filled.startswith("postgresql"):
        changes = [
            "CREATE OR REPLACE FUNCTION evaluation_history_refuse() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN RETURN NULL; END $$"
        ]
    with closing(open_store(filled)) as store:
        run_sql(store, *changes)
        refuse(store, "INSERT", "failure_rows")
    done = tend("check")
    assert done.status == 1 and "the trigger refused is not of turnwise" in done.err
    assert " evaluation_history_" in done.err and "is not as turnwise makes it" in done.err


def test_values_of_another_type_are_told(sqlite_url: str, turnwise: Callable[..., Any]) -> None:
    with closing(open_store(sqlite_url, create=True)) as store:
        put_run(store, "new", NEW)
        run_sql(store, "UPDATE score_rows SET turn_index = 'first'")
    done = turnwise("store", "check", "--store", sqlite_url)
    assert done.status == 1 and "3 rows of score_rows have a value of another type in turn_index" in done.err


def test_a_run_that_was_killed_is_told(filled: str, tend: Callable[..., Any]) -> None:
    with closing(open_store(filled)) as store:
        put_run(store, "killed", NEW - 10**9, ends=False)
        run_sql(store, "UPDATE run_executions SET update_nanos = 1 WHERE run_id = 'killed'")
    done = tend("check")
    assert done.status == 1 and "killed: is RUNNING and wrote nothing for 24 hours" in done.err


def test_a_file_that_is_cut_is_not_sound(
    sqlite_url: str, turnwise: Callable[..., Any], tmp_path: Path
) -> None:
    with closing(open_store(sqlite_url, create=True)) as store:
        put_run(store, "new", NEW)
    path = Path(sqlite_url.removeprefix("sqlite:///"))
    path.write_bytes(path.read_bytes()[:60_000])
    done = turnwise("store", "check", "--store", sqlite_url)
    assert done.status == 1 and done.err
