"""Comparisons and figures of summaries are those of the rows of the runs."""

import json
import random
from collections.abc import Callable
from time import time_ns
from typing import Any, NamedTuple, cast
from zlib import crc32

import numpy as np
import pytest
from sqlalchemy import Table, delete, func, select, update

import turnwise
from tests.store_rows import put_tables
from turnwise.pipeline.runs.store import StoredRuns
from turnwise.pipeline.service.computed_fields import FiguresCache
from turnwise.pipeline.store import summaries
from turnwise.pipeline.store.database import (
    CONVERSATION_ROWS,
    EXECUTIONS,
    RESULT_ROWS,
    RESULTS,
    RUN_SUMMARIES,
    SCORE_ROWS,
    Store,
)
from turnwise.pipeline.store.rows import ROW_TABLES, figures_of, read_figures
from turnwise.pipeline.store.runs import Execution, delete_forgotten, forget_run
from turnwise.pipeline.store.summaries import COLUMNS, DETAILS, RESULT_GROUPS, counted_runs, keep_summaries
from turnwise.pipeline.store.urls import StoreError
from turnwise.transforms.decisions.comparison.differences import compare
from turnwise.transforms.decisions.comparison.estimates import CompareOptions

APP = "projects/p/locations/l/apps/a"
CRITERIA = {"response_match_score": 0.8, "tool_trajectory_avg_score": 1.0, "tool_invocation_score": {}}
CASES = 25


def record(rng: random.Random, conversation: str, version: str) -> Any:
    said = rng.choice(["Hello", "Hello there", "Good bye", ""])
    expected = {"response": "Hello there", **({"tool_calls": [{"name": "a"}]} if rng.random() < 0.7 else {})}
    calls = [{"name": rng.choice("ab")}] if rng.random() < 0.8 else []
    turns = [{"user": "Hi", "agent": said, "tool_calls": calls, "expected": expected} for _ in range(2)]
    names = {"conversation_id": conversation, "app_version": version}
    return {**names, "eval_id": f"case-{rng.randrange(CASES)}", "turns": turns}


@pytest.fixture
def put(store: Store) -> Callable[..., None]:
    """Returns a function that scores conversations of a version and writes the run."""

    def write(run: str, version: str, names: range, seed: str = "") -> None:
        rng = random.Random(seed or f"{run}0")
        records = [record(rng, f"c-{number}", version) for number in names]
        found = turnwise.evaluate(records, criteria=CRITERIA, run_id=run)
        execution = Execution(run, time_ns(), APP, "2026-11-01")
        tables = {name: ROW_TABLES[name] for name in ("results", "conversations", "scores")}
        rows = {
            table: [columns_of(row, execution, time_ns()) for row in getattr(found, name)]
            for name, (table, columns_of) in tables.items()
        }
        put_tables(store, execution, rows)

    return write


def compared(store: Store, *names: str, evaluations: Any = None, kind: Any = "version") -> Any:
    """Returns the comparison of two sides."""

    def work(connection: Any) -> Any:
        return StoredRuns(connection, APP, with_details=True).sides(names, "here", evaluations, kind)

    return compare(*store.read(work)[:2], CompareOptions(slices=["language"]))


def check_same(store: Store, *names: str, evaluations: Any = None, kind: Any = "version") -> Any:
    """Checks that what is kept says what is made of the rows; returns the comparison."""
    of_rows = compared(store, *names, evaluations=evaluations, kind=kind)
    keep_summaries(store, APP)
    assert compared(store, *names, evaluations=evaluations, kind=kind) == of_rows
    store.write(lambda c: c.execute(delete(RUN_SUMMARIES)))
    return of_rows


def kept(store: Store) -> list[str]:
    """Returns the ids of the runs with a summary."""
    query = select(RUN_SUMMARIES.c.evaluation_run).distinct().order_by(RUN_SUMMARIES.c.evaluation_run)
    return [name.rsplit("/", 1)[-1] for name in store.read(lambda c: c.execute(query).scalars().all())]


VERSIONS = "v1", "v2"


def test_comparisons_of_summaries_are_those_of_rows(store, put):
    put("r1", "v1", range(40))
    put("r2", "v1", range(30, 60))
    put("r3", "v2", range(20, 70))
    put("r4", "v2", range(65, 90))
    found = check_same(store, *VERSIONS)
    assert found.pairing.by == "eval_id" and len(found.criteria) == 4
    check_same(store, "r1", "r3", kind="run")
    evaluations = {f"{APP}/evaluations/case-{number}" for number in range(9)}
    assert check_same(store, *VERSIONS, evaluations=evaluations) != found


def test_missing_judged_and_repeated_scores_are_compared_alike(store, put):
    put("r1", "v1", range(25))
    put("r2", "v2", range(25))
    is_one = SCORE_ROWS.c.conversation_id.in_([f"c-{number}" for number in range(5)])
    judge = '{"details":null,"judge":{"model":"m","prompt_version":"2"},"tags":[],"revision":3}'
    changes = (
        update(SCORE_ROWS).where(is_one, SCORE_ROWS.c.turn_index.is_(None)).values(value=None, outcome=None),
        update(SCORE_ROWS).where(SCORE_ROWS.c.conversation_id == "c-9").values(outcome="SKIPPED"),
        update(SCORE_ROWS).where(SCORE_ROWS.c.criterion == "response_match_score").values(content=judge),
        delete(SCORE_ROWS).where(SCORE_ROWS.c.conversation_id == "c-11"),
        update(CONVERSATION_ROWS)
        .where(CONVERSATION_ROWS.c.conversation_id == "c-12")
        .values(verdict="", content=replaced(CONVERSATION_ROWS, '"sampled_out":[]', '"sampled_out":["s"]')),
    )
    for change in changes:
        store.write(lambda c, change=change: c.execute(change))
    found = check_same(store, *VERSIONS)
    assert any(own.missing for own in found.criteria)
    assert "v2: 1 conversation sampled out of s: not in its figures" in found.notes


def replaced(table: Table, old: str, new: str) -> Any:
    return func.replace(table.c.content, old, new)


def test_scores_of_an_earlier_revision_do_not_count(store, put):
    for run in ("r1", "r2"):
        put(run, "v1", range(8))
    put("r3", "v2", range(8))
    is_later = SCORE_ROWS.c.evaluation_run == f"{APP}/evaluationRuns/r2"
    later = replaced(SCORE_ROWS, '"revision":0', '"revision":1')
    store.write(lambda c: c.execute(update(SCORE_ROWS).where(is_later).values(content=later)))
    check_same(store, *VERSIONS)
    side = store.read(lambda c: StoredRuns(c, APP).sides(VERSIONS, "here")).baseline
    assert len(side.conversations) > 8, "most are of two cases"
    assert side.conversations.criteria["response_match_score"].where(lambda _: True).sum() == 8


def test_verdicts_and_scores_are_of_one_run(store, put):
    put("r", "v1", range(30))
    put("r-1", "v1", range(30))
    put("r-2", "v2", range(30))
    is_own = RESULT_ROWS.c.evaluation_run == f"{APP}/evaluationRuns/r-1"
    store.write(lambda c: c.execute(delete(RESULT_ROWS).where(is_own)))
    check_same(store, *VERSIONS)
    side = store.read(lambda c: StoredRuns(c, APP).sides(VERSIONS, "here")).baseline
    assert side.run_ids == ["r", "r-1"]
    failed = {
        criterion: column.where(lambda kind: kind.outcome == "FAIL")
        for criterion, column in side.conversations.criteria.items()
    }
    verdicts = failed.pop("verdict")
    assert verdicts.any() and verdicts.tolist() == np.any([*failed.values()], axis=0).tolist()


def test_scores_of_several_conversations_of_one_name_are_all_compared(store, put):
    put("r1", "v1", range(3))
    put("r2", "v2", range(3))
    whole = SCORE_ROWS.c.criterion == "response_match_score"
    store.write(lambda c: c.execute(update(SCORE_ROWS).where(whole).values(turn_index=None)))
    found = check_same(store, *VERSIONS)
    assert (found.baseline.conversations, found.baseline.passed + found.baseline.failed) == (9, 3)


@pytest.mark.parametrize(
    ("again", "is_told"),
    [(range(40, 50), True), (range(40), True), (range(10, 50), False)],
    ids=["other conversations", "all of them again", "some of them again"],
)
def test_figures_of_summaries_are_those_of_rows(store, put, again, is_told):
    for run, names in (("r1", range(40)), ("r2", again)):
        put(run, "v1", names, seed="the same cases")
    put("r3", "v2", range(40))
    made = store.read(lambda c: FiguresCache().read(c, APP))
    rows = store.read(lambda c: {name: read_figures(c, name) for name in made})
    assert len(made) > CASES / 2 and made == rows
    keep_summaries(store, APP)
    groups = store.read(lambda c: summaries.kept(c, counted_runs(c, APP), RESULT_GROUPS))
    summed = figures_of({run.name: of_run for run, of_run in groups.items()})
    assert summed == {name: rows[name] if summed[name] else None for name in rows}
    assert (None not in summed.values()) is is_told
    assert store.read(lambda c: FiguresCache().read(c, APP)) == rows


def test_a_summary_goes_with_what_it_is_of(store, put):
    put("r1", "v1", range(4))
    put("r2", "v2", range(4))
    keep_summaries(store, APP)
    assert kept(store) == ["r1", "r2"]
    run = store.read(lambda c: c.execute(select(RESULTS.c.evaluation_run).limit(1)).scalar())
    store.write(lambda c: forget_run(c, run))
    delete_forgotten(store, run)
    assert len(kept(store)) == 1


def test_a_summary_of_what_was_changed_is_not_used(store, put):
    put("r1", "v1", range(4))
    put("r2", "v2", range(4))
    keep_summaries(store, APP)
    store.write(lambda c: c.execute(delete(SCORE_ROWS)))
    stale = compared(store, *VERSIONS)
    store.write(lambda c: c.execute(update(EXECUTIONS).values(update_nanos=EXECUTIONS.c.update_nanos + 1)))
    assert compared(store, *VERSIONS) != stale
    keep_summaries(store, APP)
    assert kept(store) == ["r1", "r2"] and compared(store, *VERSIONS) != stale


class Meanwhile(NamedTuple):
    """A store of which others change the runs before each write."""

    store: Store
    read_only: bool = False

    def read(self, work: Callable[[Any], Any]) -> Any:
        return self.store.read(work)

    def write(self, work: Callable[[Any], Any]) -> Any:
        later = {"update_nanos": EXECUTIONS.c.update_nanos + 1}
        self.store.write(lambda c: c.execute(update(EXECUTIONS).values(later)))
        return self.store.write(work)


def test_no_summary_is_kept_of_a_run_that_was_changed_meanwhile(store, put):
    put("r1", "v1", range(4))
    keep_summaries(cast(Store, Meanwhile(store)), APP)
    assert kept(store) == []


def again(change: Callable[[Any], Any]) -> Callable[[str], str]:
    """Returns a function that changes the JSON of a summary, and gives it a checksum of its own."""

    def changed(text: str) -> str:
        content = json.dumps(change(json.loads(text[8:]))).encode()
        return f"{crc32(content):08x}{content.decode()}"

    return changed


DAMAGES: dict[str, Callable[[str], str]] = {
    "no checksum": lambda text: text[8:],
    "a criterion of another name": lambda text: text.replace("tool_trajectory", "tool_invocation"),
    "another form": again(lambda own: [own]),
    "places that are objects": again(lambda own: json.loads(json.dumps(own).replace('"|u1"', '"|O"'))),
    "no base64": again(lambda own: json.loads(json.dumps(own).replace('"|u1", "', '"|u1", "A'))),
}


@pytest.mark.parametrize("damage", [*DAMAGES])
def test_a_summary_that_cannot_be_read_is_made_of_the_rows(store, put, damage):
    put("r-1", "v1", range(4))
    put("r-2", "v2", range(4))
    keep_summaries(store, APP)
    found = compared(store, *VERSIONS)
    runs = store.read(lambda c: counted_runs(c, APP))
    for form in (COLUMNS, DETAILS):

        def read(connection: Any, form: Any = form) -> list[Any]:
            return sorted(summaries.kept(connection, runs, form))

        is_it = RUN_SUMMARIES.c.name.endswith(f"r-1/{form.end}")
        query = select(RUN_SUMMARIES.c.content).where(is_it)
        text = store.read(lambda c, query=query: c.execute(query).scalar_one())
        damaged = DAMAGES[damage](text)
        assert damaged != text and store.read(read) == runs
        changed = update(RUN_SUMMARIES).where(is_it).values(content=damaged)
        store.write(lambda c, changed=changed: c.execute(changed))
        assert store.read(read) == runs[1:]
        assert compared(store, *VERSIONS) == found


@pytest.mark.parametrize("content", ["{", "[]"])
def test_a_score_that_cannot_be_read_is_one_line(store, put, content):
    for version in ("v1", "v2"):
        put(f"r-{version}", f"{APP}/versions/{version}", range(4))
    store.write(lambda c: c.execute(update(SCORE_ROWS).values(content=content)))
    names = ["v1", "v2"]
    with pytest.raises(StoreError, match=r"a score of .* cannot be read; turnwise store check"):
        store.read(lambda c: StoredRuns(c, APP).sides(names, "the store"))
