"""Reads evaluation runs."""

import json
from collections.abc import Callable, Sequence
from typing import get_args

from sqlalchemy import Connection, RowMapping, select

from turnwise.pipeline.service.errors import field_errors, not_found
from turnwise.pipeline.service.lists import next_token, read_filter, read_order, read_paging
from turnwise.pipeline.service.service import Service
from turnwise.pipeline.store.conditions import runs_table_fields
from turnwise.pipeline.store.database import RESULTS, RUNS, Listing, key_text, read_page
from turnwise.pipeline.store.lost import lost_of_runs
from turnwise.pipeline.store.runs import RunState, count_by_evaluation, count_rows
from turnwise.pipeline.store.urls import Broken
from turnwise.schemas.ces.names import checked_name
from turnwise.schemas.ces.tools import ListEvaluationRunsRequest, RunSummary
from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.proto.scalars import nanos_timestamp

RUN_COLUMNS = [column.name for column in RUNS.c if column.name != "content"]
"""What `run_summaries` reads."""
_ABORTED, _INTERNAL = 10, 13
_Told = Callable[[Connection, str, Sequence[RowMapping]], list[JsonObject]]


def list_evaluation_runs(service: Service, request: ListEvaluationRunsRequest) -> JsonObject:
    """Returns a page of the runs of an app, without the names of their results. Raises ServiceError."""
    return _listed(service, request, _run_values)


def list_run_summaries(service: Service, request: ListEvaluationRunsRequest) -> JsonObject:
    """Returns a page of the runs of an app as turnwise tells them. Raises ServiceError."""
    return _listed(service, request, run_summaries)


def get_evaluation_run(service: Service, name: str) -> JsonObject:
    """Returns a run with the names of its results and its counts by evaluation.

    Raises:
        ServiceError: There is none of that name.
    """

    def work(connection: Connection) -> JsonObject:
        row = find_run(connection, name)
        counted = count_by_evaluation(connection, row["name"], row["execution"])
        of_run = RESULTS.c.evaluation_run == row["name"]
        names = connection.execute(select(RESULTS.c.name).where(of_run).order_by(RESULTS.c.name)).scalars()
        return _run_values(connection, row["app"], [row])[0] | {
            "evaluationResults": list(names),
            "evaluations": sorted(counted),
            "evaluationRunSummaries": {key: _stated(counts) for key, counts in sorted(counted.items())},
        }

    return service.store.read(work)


def find_run(connection: Connection, name: str) -> RowMapping:
    """Returns the columns `RUN_COLUMNS` of a run; raises ServiceError if there is none of that name."""
    with field_errors("name"):
        checked_name("run", name)
    query = select(*(RUNS.c[column] for column in RUN_COLUMNS)).where(RUNS.c.name == key_text(name))
    row = connection.execute(query).mappings().first()
    if row is None:
        raise not_found(name)
    return row


def _listed(service: Service, request: ListEvaluationRunsRequest, told: _Told) -> JsonObject:
    with field_errors("parent"):
        app = checked_name("app", request.parent)
    identity = ("runs", app, request.filter, request.order_by)
    paging = read_paging(request.page_size, request.page_token, *identity)
    conditions = [RUNS.c.app == app, *read_filter("filter", request.filter, runs_table_fields(app))]
    listing = Listing(RUNS, RUN_COLUMNS, conditions, read_order(request.order_by))

    def work(connection: Connection) -> JsonObject:
        page = read_page(connection, listing, paging.after, paging.size)
        found = told(connection, app, [row._mapping for row in page.rows])
        return ({"evaluationRuns": found} if found else {}) | next_token(paging, page.end)

    return service.store.read(work)


def _counted(connection: Connection, row: RowMapping) -> JsonObject:
    """Returns the counts of a run: those of its end, else of its rows as they are now."""
    known = row["results"] is not None
    return dict(row) if known else count_rows(connection, row["name"], row["execution"])


def _run_values(connection: Connection, app: str, rows: Sequence[RowMapping]) -> list[JsonObject]:
    lost = lost_of_runs(connection, app, [row["name"] for row in rows])
    return [_run_value(connection, row, lost[row["name"].rsplit("/", 1)[-1]]) for row in rows]


def _run_value(connection: Connection, row: RowMapping, lost: int) -> JsonObject:
    """Returns an EvaluationRun in proto3 JSON; what was lost has no result and counts as an error."""
    counts = _counted(connection, row)
    progress = {
        "totalCount": counts["results"] + lost,
        "errorCount": lost,
        "completedCount": counts["results"],
        "passedCount": counts["passes"],
        "failedCount": counts["fails"],
    }
    versions = json.loads(counts["app_versions"])
    return {
        "name": row["name"],
        "displayName": row["run_id"],
        **({"createTime": nanos_timestamp(row["create_nanos"])} if row["create_nanos"] else {}),
        **({"appVersion": versions[0]} if len(versions) == 1 and versions[0] else {}),
        "state": row["state"],
        "progress": _stated(progress),
        **_error(row),
    }


def _error(row: RowMapping) -> JsonObject:
    """Returns why a run, or a later execution of it, broke off."""
    if row["error"]:
        return {"error": {"code": _INTERNAL, "message": row["error"]}}
    if row["repeat_state"] in get_args(Broken):
        state = RunState(*(row[name] for name in RunState._fields))
        return {"error": {"code": _ABORTED, "message": state.told()}}
    return {}


def _stated(counts: JsonObject) -> JsonObject:
    return {name: count for name, count in counts.items() if count}


def run_summaries(connection: Connection, app: str, rows: Sequence[RowMapping]) -> list[JsonObject]:
    """Returns the RunSummary of runs in an app, or without one, in proto3 JSON.

    Args:
        connection: Connection to the store.
        app: Name of the app.
        rows: The columns `RUN_COLUMNS` of the runs.
    """
    lost = lost_of_runs(connection, app, [row["name"] for row in rows])
    return [_summary(connection, row, lost[row["name"].rsplit("/", 1)[-1]]) for row in rows]


def _summary(connection: Connection, row: RowMapping, lost: int) -> JsonObject:
    counts, times = _counted(connection, row), ("create", "update", "end")
    known = {
        **{name: row[name] for name in ("name", "run_id", "state", "day", "exit_status", "cost")},
        **{f"{name}_time": nanos_timestamp(row[f"{name}_nanos"]) for name in times if row[f"{name}_nanos"]},
        "error": row["error"],
        "repeat_state": row["repeat_state"],
        "repeat_time": nanos_timestamp(row["repeat_nanos"]) if row["repeat_nanos"] else None,
        "config_digest": row["config_digest"],
        "judge": row["judge"],
        "judge_model": row["judge_model"],
        "criteria": json.loads(row["criteria"] or "[]"),
        "app_versions": [version for version in json.loads(counts["app_versions"]) if version],
        "conversation_count": counts["conversations"],
        "result_count": counts["results"],
        "pass_count": counts["passes"],
        "fail_count": counts["fails"],
        "undecided_count": counts["undecided"],
        "lost_record_count": lost,
    }
    return RunSummary.from_value({k: v for k, v in known.items() if v is not None}).to_value()
