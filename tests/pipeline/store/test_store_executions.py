"""Executions of runs: how they stand, which one is read, of which app, and what they were scored against."""

import json
import re
from contextlib import suppress
from pathlib import Path
from time import time_ns

import pytest
from sqlalchemy import delete, select, text

from tests.pipeline.logs import log, write
from tests.store_rows import DOCUMENT, ENDED, completed, put_rows, put_tables
from turnwise.pipeline.io.sinks import find_service, recorded
from turnwise.pipeline.io.store import break_off_run, complete_run
from turnwise.pipeline.service.evaluations import create_evaluation, update_evaluation
from turnwise.pipeline.service.runs import Service, get_evaluation_run
from turnwise.pipeline.settings.options import SinkPlace
from turnwise.pipeline.store.database import (
    CONVERSATION_ROWS,
    CONVERSATIONS,
    EXECUTIONS,
    FAILURE_ROWS,
    LOCAL_APP,
    METRIC_ROWS,
    METRICS,
    RESULT_ROWS,
    RESULTS,
    RUN_TABLES,
    RUNS,
    SCORES,
    open_store,
)
from turnwise.pipeline.store.maintenance import listed_runs
from turnwise.pipeline.store.rows import result_columns
from turnwise.pipeline.store.runs import (
    Execution,
    begin,
    complete,
    delete_forgotten,
    delete_superseded,
    forget_run,
    rejected_of_runs,
    touch,
    write_rows,
)
from turnwise.pipeline.store.urls import StoreError
from turnwise.schemas.ces.result import Evaluation
from turnwise.schemas.ces.tools import CreateEvaluationRequest, GetEvaluationRunRequest, UpdateEvaluationTool

APP = "projects/p/locations/l/apps/a"
CASE = f"{APP}/evaluations/one"
DOCS = Path(__file__).parents[3] / "docs/store.md"


def row(number, run="nightly", status="PASS", version="v1"):
    result = completed(f"{CASE}/results/r-{number}", run, status, version)
    return result_columns(result, f"c-{number}", number)


def read(store, *columns):
    return store.read(lambda c: sorted((tuple(found) for found in c.execute(select(*columns))), key=str))


def shown(store):
    return [status for _, status in read(store, RESULTS.c.name, RESULTS.c.evaluation_status)]


def state(store):
    return read(store, RUNS.c.run_id, RUNS.c.state, RUNS.c.results)


def started(store, number, *rows):
    """Begins an execution of the run `nightly` and writes rows of it."""
    return put_rows(store, RESULT_ROWS, list(rows), number, ends=False)


def end(store, execution):
    store.write(lambda c: complete(c, execution, DOCUMENT, execution.number + 1))
    delete_superseded(store, execution)


def test_rows_of_an_execution_that_begins_after_the_deletion_stay(store):
    end(store, started(store, 1, row(1)))
    run, again = f"{APP}/evaluationRuns/nightly", Execution("nightly", 2, APP, "2026-11-01")
    store.write(lambda c: forget_run(c, run))
    store.write(lambda c: begin(c, again, DOCUMENT, 2))
    store.write(lambda c: write_rows(c, again, RESULT_ROWS, [row(2)], 2))
    delete_forgotten(store, run)
    assert read(store, RESULT_ROWS.c.name) == read(store, RESULTS.c.name) == [(row(2)["name"],)]


def test_a_running_execution_says_at_most_once_a_second_that_it_wrote(store):
    execution = started(store, 1, row(1))
    [(begun,)] = read(store, RUNS.c.update_nanos)
    for later, seen in ((10**9 // 2, 0), (2 * 10**9, 2 * 10**9)):
        store.write(lambda c, nanos=begun + later: touch(c, execution, nanos))
        assert read(store, RUNS.c.update_nanos) == [(begun + seen,)]


def test_a_repeated_run_is_replaced_at_once_when_it_is_complete(store):
    end(store, started(store, 1, row(1), row(2)))
    again = started(store, 2, row(2, status="FAIL"), row(3, status="FAIL"))
    assert shown(store) == ["PASS", "PASS"] and state(store) == [("nightly", "COMPLETED", 2)]
    store.write(lambda c: complete(c, again, DOCUMENT, 3))
    assert shown(store) == ["FAIL", "FAIL"]
    delete_superseded(store, again)
    assert shown(store) == ["FAIL", "FAIL"] and read(store, RESULT_ROWS.c.execution) == [(2,), (2,)]


def test_an_execution_that_began_earlier_replaces_no_later_one(store):
    first, second = started(store, 1, row(1)), started(store, 2, row(2, status="FAIL"))
    end(store, second)
    with pytest.raises(StoreError, match="started again later"):
        end(store, first)
    assert shown(store) == ["FAIL"]


@pytest.mark.parametrize("ends", [True, False], ids=["complete", "killed"])
def test_a_run_is_replaced_in_an_app_that_its_execution_writes_no_row_of(store, ends):
    other = {**row(7), "app": "b", "evaluation_run": "b/evaluationRuns/nightly", "evaluation": "b/e"}
    first = started(store, 1, row(1), other)
    if ends:
        end(store, first)
    again = started(store, 2, row(1, status="FAIL"))
    assert shown(store) == ["PASS", "PASS"]
    end(store, again)
    assert shown(store) == ["FAIL"] and {*read(store, RESULT_ROWS.c.execution)} == {(2,)}
    columns = RUNS.c.app, RUNS.c.execution, RUNS.c.state, RUNS.c.results
    assert read(store, *columns) == [("b", 2, "COMPLETED", 0), (APP, 2, "COMPLETED", 1)]


def test_a_repeat_that_parses_no_record_leaves_no_earlier_row(turnwise, store, store_url, tmp_path):
    logs, named = tmp_path / "logs.jsonl", log("c", app_version=f"{APP}/versions/v1")
    run = ("run", "--input", logs, "--judge", "none", "--store", store_url, "--run_id", "nightly")
    for number, (line, status) in enumerate(((json.dumps(named), 0), ('{"turns": 1}', 1))):
        logs.write_text(line + "\n")
        assert turnwise(*run, output=tmp_path / str(number)).status == status
        columns = RUNS.c.state, RUNS.c.exit_status, RUNS.c.results
        assert read(store, *columns, RUNS.c.app)[-1] == ("COMPLETED", status, 1 - status, APP)
    assert shown(store) == []


@pytest.mark.parametrize(
    ("error", "wanted"),
    [(KeyboardInterrupt(), ("CANCELLED", "interrupted")), (OSError("disk full"), ("ERROR", "disk full"))],
)
def test_a_run_that_breaks_off_says_so(store, store_url, error, wanted):
    place = SinkPlace(store_url, APP, "nightly", "2026-11-01T00:00:00.000Z", "2026-11-01", "out")
    record = find_service("--store", store_url).record
    assert record
    with suppress(type(error)), recorded(record, place, DOCUMENT):
        raise error
    ((found, why),) = read(store, RUNS.c.state, RUNS.c.error)
    assert found == wanted[0] and wanted[1] in why
    answer = get_evaluation_run(
        Service(store, "tester"), GetEvaluationRunRequest(name=f"{APP}/evaluationRuns/nightly")
    )
    assert answer["error"] == {"code": 13, "message": why}
    with suppress(type(error)), recorded(record, place._replace(run_id="far"), DOCUMENT, goes_on=True):
        raise error
    states = dict(read(store, RUNS.c.run_id, RUNS.c.state))
    assert states["far"] == ("RUNNING" if wanted[0] == "CANCELLED" else "ERROR")


@pytest.mark.parametrize("goes_on", [False, True])
def test_a_run_that_was_complete_stays_so(store, store_url, goes_on):
    place = SinkPlace(store_url, APP, "nightly", "2026-11-01T00:00:00.000Z", "2026-11-01", "out")
    record = find_service("--store", store_url).record
    assert record
    with suppress(OSError), recorded(record, place, DOCUMENT, goes_on):
        record.complete(place, DOCUMENT)
        raise OSError("no space left to print")
    assert read(store, RUNS.c.state, RUNS.c.error) == [("COMPLETED", None)]


@pytest.mark.parametrize("breaks", [False, True])
def test_the_rows_of_an_execution_that_a_later_one_replaced_are_deleted(store, store_url, breaks):
    place = SinkPlace(store_url, APP, "nightly", "2026-11-01T00:00:00.000Z", "2026-11-01", "out")
    first = Execution("nightly", 1793491200 * 10**9, APP, "2026-11-01")
    store.write(lambda c: begin(c, first, DOCUMENT, time_ns()))
    later = first._replace(number=first.number + 5)
    store.write(lambda c: write_rows(c, later, RESULT_ROWS, [row(1)], time_ns()))
    store.write(lambda c: complete(c, later, ENDED, time_ns()))
    store.write(lambda c: write_rows(c, first, RESULT_ROWS, [row(2)], time_ns()))
    if breaks:
        break_off_run(place, "ERROR", "killed")
    else:
        # The later one deletes that the first one ran, which still writes.
        store.write(lambda c: c.execute(delete(EXECUTIONS).where(EXECUTIONS.c.execution == first.number)))
        with suppress(StoreError):
            complete_run(place, ENDED)
    kept = store.read(lambda c: list(c.execute(select(RESULT_ROWS.c.execution)).scalars()))
    assert kept == [later.number]
    assert len(store.read(lambda c: c.execute(select(RESULTS.c.name)).all())) == 1


def test_the_row_of_a_run_says_what_run_json_says(turnwise, sample_arguments, store_url, tmp_path):
    options = ("--judge", "none", "--store", store_url, "--run_id", "nightly")
    done = turnwise(
        *sample_arguments, *options, "--fail_on", "tool_trajectory_avg_score", output=tmp_path / "out"
    )
    assert done.status == 1
    store, document = open_store(store_url), done.document("run.json")
    rows = store.read(lambda c: c.execute(select(RUNS)).mappings().all())
    assert {own["state"] for own in rows} == {"COMPLETED"} and {own["exit_status"] for own in rows} == {1}
    assert all(json.loads(own["content"]) == document for own in rows)
    day = document["create_time"][:10]
    assert {(own["day"], own["judge"]) for own in rows} == {(day, "none")}
    counts = document["counts"]
    assert sum(own["results"] for own in rows) == counts["results"]
    assert sum(own["conversations"] for own in rows) == counts["results"]
    rejected = counts["rejected_records"] + counts["rejected_conversations"]
    assert sum(own["rejected"] for own in rows) == rejected + counts["rejected_cases"] > 0
    assert {LOCAL_APP, "projects/kettenblau-care/locations/eu/apps/front-desk"} <= {o["app"] for o in rows}
    passed = [row for row in done.rows("results") if row.get("evaluationStatus") == "PASS"]
    assert sum(own["passes"] for own in rows) == len(passed)
    metrics = done.rows("metrics_by_app_version") + done.rows("metrics_by_turn")
    key = ("criterion", "level", "count", "mean", "pass_rate")
    found = read(store, *(METRICS.c[name] for name in (*key, "turn_index")))
    assert found == sorted((tuple(m.get(k) for k in (*key, "turn_index")) for m in metrics), key=str)
    times = {(own["event_time"] or day)[:10] for own in done.rows("scores")}
    assert {day for (day,) in read(store, SCORES.c.day)} == times
    store.close()


def test_a_result_says_which_revision_it_was_scored_against(turnwise, store, store_url, tmp_path):
    service, answer = Service(store, "tester"), {"chunks": [{"text": "hello"}]}
    steps = [{"userInput": {"text": "hi"}}, {"expectation": {"agentResponse": answer}}]
    content = {"displayName": "One", "golden": {"turns": [{"steps": steps}]}}
    asked = {"parent": APP, "evaluationId": "one", "evaluation": content}
    create_evaluation(service, CreateEvaluationRequest.from_value(asked))
    named = {"conversation_id": "c", "eval_id": CASE, "turns": [{"user": "hi", "agent": "hello"}]}
    own = {"conversation_id": "d", "turns": [{**named["turns"][0], "expected": {"response": "hello"}}]}
    logs = write(tmp_path / "logs.jsonl", named, own)
    run = ("run", "--input", logs, "--eval_cases", store_url, "--store", store_url, "--judge", "none")
    assert turnwise(*run, "--run_id", "r1", output=tmp_path / "1").status == 0
    renamed = Evaluation.from_value({"name": CASE, "displayName": "Two"})
    update_evaluation(service, UpdateEvaluationTool(evaluation=renamed, update_mask="displayName"))
    assert turnwise(*run, "--run_id", "r2", output=tmp_path / "2").status == 0
    columns = RESULTS.c.conversation_id, RESULTS.c.evaluation_run, RESULTS.c.evaluation_revision
    found = [(who, name[-2:], revision) for who, name, revision in read(store, *columns)]
    assert found == [("c", "r1", 1), ("c", "r2", 2), ("d", "r1", None), ("d", "r2", None)]
    digests = read(store, RESULTS.c.conversation_id, RESULTS.c.case_digest)
    assert digests == read(store, CONVERSATIONS.c.conversation_id, CONVERSATIONS.c.case_digest)
    assert all(digest for _, digest in digests)


def test_views_show_the_last_run_of_each_conversation(turnwise, store_url, tmp_path):
    for number, names in enumerate(("ab", "bc", "c")):
        logs = write(tmp_path / "logs.jsonl", *(log(name, app_version="v1") for name in names))
        run = ("run", "--input", logs, "--judge", "none", "--store", store_url, "--run_id", f"r{number}")
        assert turnwise(*run, output=tmp_path / str(number)).status == 0
    store = open_store(store_url)
    broken = text("UPDATE run_executions SET state = 'ERROR' WHERE run_id = 'r2'")
    store.write(lambda c: c.execute(broken))
    wanted = {("a", "r0"), ("b", "r1"), ("c", "r1")}
    for view in ("latest_scores", "latest_results"):
        query = text(f"SELECT conversation_id, evaluation_run FROM {view}")
        rows = store.read(lambda c, query=query: c.execute(query).all())
        assert {(name, run[-2:]) for name, run in rows} == wanted
    query = text("SELECT run_id, count FROM metrics_by_app_version WHERE criterion = 'verdict'")
    assert sorted(store.read(lambda c: [tuple(row) for row in c.execute(query)])) == [("r0", 2), ("r1", 2)]
    queries = re.findall(r"```sql\n(.*?)```", DOCS.read_text(), re.DOTALL)
    assert queries
    for own in queries:
        assert store.read(lambda c, own=own: c.execute(text(own)).all())
    store.close()


def test_all_rows_of_an_earlier_execution_are_deleted(turnwise, sample_arguments, store_url, tmp_path):
    for number in ("1", "2"):
        options = ("--judge", "none", "--store", store_url, "--run_id", "nightly")
        assert turnwise(*sample_arguments, *options, output=tmp_path / number).status == 0
    store = open_store(store_url)
    for table in RUN_TABLES:
        assert len({*read(store, table.c.execution)}) == 1
    store.close()


def test_runs_of_one_id_in_two_apps_leave_each_other(store):
    put_rows(store, RESULT_ROWS, [row(1)])
    other = {**row(7), "app": "b", "evaluation_run": "b/evaluationRuns/nightly"}
    end(store, put_rows(store, RESULT_ROWS, [other], 5))
    assert len(shown(store)) == 2


HOME, DESK, FRONT = (f"projects/p/locations/l/apps/{name}" for name in ("home", "desk", "front"))
IN_APPS = Execution("r1", 7, HOME, "2026-11-01")


def row_of(table, app, name, **fields):
    """Returns a row with nothing in its other columns."""
    empty = {
        one.name: "" if str(one.type) == "TEXT" else 0 for one in table.columns if one.name != "execution"
    }
    own = {"app": app, "evaluation_run": f"{app}/evaluationRuns/r1", "name": f"{app}/{name}"}
    return {**empty, **own, **fields}


def put_in_apps(store, *conversations):
    """Writes a run with a conversation in each of the apps, a metric and a rejected record without an app."""
    name = "evaluationRuns/r1/conversations/c-1"
    rows = {
        CONVERSATION_ROWS: [row_of(CONVERSATION_ROWS, app, name, content="{}") for app in conversations],
        METRIC_ROWS: [row_of(METRIC_ROWS, HOME, "evaluationRuns/r1/metrics/m-1")],
        FAILURE_ROWS: [row_of(FAILURE_ROWS, HOME, "failures/f-1", stage="parse", content="{}")],
    }
    put_tables(store, IN_APPS, rows, nanos=7)


def places(store):
    tables = (METRIC_ROWS, FAILURE_ROWS)
    return [store.read(lambda c, t=t: tuple(c.execute(select(t.c.app, t.c.name)).one())) for t in tables]


@pytest.mark.parametrize(
    ("conversations", "app"), [([DESK], DESK), ([HOME], HOME), ([DESK, FRONT], HOME), ([], HOME)]
)
def test_what_names_no_app_is_where_all_conversations_are(store, conversations, app):
    put_in_apps(store, *conversations)
    assert places(store) == [(app, f"{app}/evaluationRuns/r1/metrics/m-1"), (app, f"{app}/failures/f-1")]


@pytest.mark.parametrize("conversations", [[DESK], [DESK, FRONT]])
def test_what_a_run_lost_is_seen_in_each_of_its_apps(store, conversations):
    put_in_apps(store, *conversations)
    for app in conversations:
        found = store.read(lambda c, app=app: rejected_of_runs(c, app, [f"{app}/evaluationRuns/r1"]))
        assert found == {"r1": 1}, app
        (run,) = store.read(lambda c, app=app: listed_runs(c, app))
        assert run.rejected == 1, "`turnwise store runs` says the same"
