"""Erasure reaches what was made of a conversation, or says that it cannot know."""

from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest
from sqlalchemy import text

from tests.pipeline.store.maintenance.conftest import (
    APP,
    NEW,
    SECRET,
    noted,
    put_dataset,
    put_evaluation,
    put_expectation,
    put_run,
    rows_of,
    run_sql,
)
from turnwise.pipeline.service.changes import update_evaluation
from turnwise.pipeline.service.service import Service
from turnwise.pipeline.store.engine import open_store
from turnwise.schemas.ces.cases import Evaluation

LONG = "c-" + "x" * 260


def steps(*expectations: Any) -> dict[str, Any]:
    own = [{"expectation": one} for one in expectations]
    return {"turns": [{"steps": [{"userInput": {"text": "Hello"}}, *own]}]}


def says(words: str) -> Any:
    return {"agentResponse": {"role": "agent", "chunks": [{"text": words}]}}


def calls(**args: Any) -> Any:
    return {"toolCall": {"tool": f"{APP}/tools/look_up", "args": args}}


@pytest.mark.parametrize(
    ("golden", "is_told"),
    [
        (steps(says(f'The agent said: "{noted("c-1").upper()}"')), True),
        (steps(calls(copies=2, holder="c-1", document="X4711")), True),
        (steps(calls(document="X4711", holder="c-2", copies=2)), False),
        (steps(says("Thank you.")), False),
    ],
)
def test_words_of_the_agent_and_arguments_in_evaluations_are_told(
    filled: str, tend: Callable[..., Any], golden: Any, is_told: bool
) -> None:
    with closing(open_store(filled)) as store:
        name = put_evaluation(store, "made", "Hello", **golden)
    done = tend("delete", "conversation", "c-1")
    assert done.status == int(is_told) and (f"left: {name}: holds words" in done.err) == is_told
    if is_told:
        assert tend("delete", "conversation", "c-1", "--erase", name).status == 0
        with closing(open_store(filled)) as store:
            assert name not in str(rows_of(store))
        assert tend("check").status == 0


def test_an_earlier_revision_counts(filled: str, tend: Callable[..., Any]) -> None:
    with closing(open_store(filled)) as store:
        name = put_evaluation(store, "made", noted("c-1"))
        changed = Evaluation(name=name, display_name="other", golden=steps(says("Hello")))
        update_evaluation(Service(store, "tester"), changed)
    assert f"left: {name}: holds words" in tend("delete", "conversation", "c-1").err


def test_expectations_and_datasets_are_told_and_erased(filled: str, tend: Callable[..., Any]) -> None:
    with closing(open_store(filled)) as store:
        prompt = put_expectation(store, "quoting", f"answers to: {SECRET} of c-1")
        used = put_expectation(store, "used", noted("c-1"))
        title = put_dataset(store, "mine", "from c-1", f"{APP}/evaluations/one")
        user = put_evaluation(store, "user", "Hello", evaluationExpectations=[used])
    done = tend("delete", "conversation", "c-1", "--dry_run")
    assert done.status == 1 and all(f"left: {name}: " in done.err for name in (prompt, used, title))
    refused = tend("delete", "conversation", "c-1", "--erase", used)
    assert refused.status == 2 and f"{user} names it" in refused.err and refused.err.count("\n") == 1
    done = tend("delete", "conversation", "c-1", "--erase", prompt, title, used, user)
    assert done.status == 0 and "app_expectations: 2 erased" in done.out and "dataset_members: 1" in done.out
    with closing(open_store(filled)) as store:
        assert not any(name in str(rows_of(store)) for name in (prompt, used, title, user))
    assert tend("check").status == 0


def test_failures_that_name_nobody_are_counted_and_emptied_on_demand(
    filled: str, tend: Callable[..., Any]
) -> None:
    with closing(open_store(filled)) as store:
        put_run(store, "more", NEW + 1, {"c-77": None})
        change = "DELETE FROM conversation_rows WHERE conversation_id = 'c-77'"
        run_sql(store, change)
    done = tend("delete", "conversation", "c-1")
    assert done.status == 1 and "left: 1 failures hold a record and name no conversation" in done.err
    assert "failure_rows: 2 erased" in done.out
    done = tend("delete", "conversation", "c-2", "--unattributed_failures")
    assert done.status == 0 and "failure_rows: 3 erased" in done.out
    with closing(open_store(filled)) as store:
        assert "c-77" not in str(rows_of(store)["failure_rows"])


def test_failures_of_unknown_conversations_may_be_of_any_user(filled: str, tend: Callable[..., Any]) -> None:
    with closing(open_store(filled)) as store:
        changes = "conversation_id = 'c-99', content = replace(content, 'c-12', 'c-99')"
        run_sql(store, f"UPDATE failure_rows SET {changes} WHERE content LIKE '%c-12%'")
        run_sql(store, "UPDATE failure_rows SET content = replace(content, 'u-12', 'u-99')")
    assert tend("delete", "conversation", "c-1").status == 0
    done = tend("delete", "user", "u-1")
    assert done.status == 1 and "left: 2 failures hold a record" in done.err


@pytest.mark.parametrize("by", ["id", "column", "user", "column of the user"])
def test_ids_of_over_200_characters(store_url: str, tend: Callable[..., Any], by: str) -> None:
    user = LONG.replace("c-", "u-")
    with closing(open_store(store_url, create=True)) as store:
        put_run(store, "run", NEW, {LONG: user, "c-2": "u-2"})
        columns = "SELECT conversation_id, user_id FROM conversations WHERE user_id <> 'u-2'"
        column, own = store.read(lambda c: c.execute(text(columns)).one())
        given = {"id": LONG, "column": column, "user": user}.get(by, own)
        assert len(column) <= 200 and LONG in str(rows_of(store)["failure_rows"])
        assert tend("delete", "user" if "user" in by else "conversation", given).status == 0
        found = str({name: rows for name, rows in rows_of(store).items() if name != "erasures"})
        assert "x" * 100 not in found and "c-2" in found
    assert tend("check").status == 0
