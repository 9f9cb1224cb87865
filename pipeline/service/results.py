"""Reads evaluation results and failures."""

import json

from sqlalchemy import Connection

from turnwise.pipeline.service.errors import field_errors, not_found
from turnwise.pipeline.service.lists import next_token, read_filter, read_order, read_paging
from turnwise.pipeline.service.service import Service
from turnwise.pipeline.store.conditions import failure_fields, result_fields
from turnwise.pipeline.store.database import FAILURES, RESULTS, Listing, read_page
from turnwise.pipeline.store.evaluations import find_evaluation
from turnwise.pipeline.store.rows import find_result, has_results
from turnwise.schemas.ces.names import ANY, app_of, checked_name
from turnwise.schemas.ces.resources import ListEvaluationResultsRequest
from turnwise.schemas.ces.tools import GetFailuresRequest, RunFailure
from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.proto.scalars import nanos_timestamp
from turnwise.schemas.rows import FailureRow


def get_evaluation_result(service: Service, name: str) -> JsonObject:
    """Returns a result.

    Raises:
        ServiceError: There is none of that name.
    """
    with field_errors("name"):
        checked_name("result", name)
    found = service.store.read(lambda connection: find_result(connection, name))
    if found is None:
        raise not_found(name)
    return found


def list_evaluation_results(service: Service, request: ListEvaluationResultsRequest) -> JsonObject:
    """Returns a page of the results of an evaluation, or of the app (`.../evaluations/-`).

    Raises:
        ServiceError: The request is invalid, or the evaluation does not exist.
    """
    with field_errors("parent"):
        parent = checked_name("parent of results", request.parent)
    paging = read_paging(
        request.page_size, request.page_token, "results", parent, request.filter, request.order_by
    )
    is_all = parent.endswith(f"/{ANY}")
    conditions = [RESULTS.c.app == app_of(parent) if is_all else RESULTS.c.evaluation == parent]
    conditions += read_filter("filter", request.filter, result_fields(app_of(parent)))
    listing = Listing(RESULTS, ("content",), conditions, read_order(request.order_by))

    def work(connection: Connection) -> JsonObject:
        page = read_page(connection, listing, paging.after, paging.size)
        if not (
            page.rows or is_all or has_results(connection, parent) or find_evaluation(connection, parent)
        ):
            raise not_found(parent)
        values = [json.loads(row.content) for row in page.rows]
        return ({"evaluationResults": values} if values else {}) | next_token(paging, page.end)

    return service.store.read(work)


def get_failures(service: Service, request: GetFailuresRequest) -> JsonObject:
    """Returns a page of the failures of an app. Raises ServiceError."""
    with field_errors("parent"):
        app = checked_name("app", request.parent)
    order = read_order(request.order_by, ("name", "update_time"))
    paging = read_paging(request.page_size, request.page_token, "failures", app, request.filter, order)
    conditions = [FAILURES.c.app == app, *read_filter("filter", request.filter, failure_fields(app))]
    listing = Listing(FAILURES, ("evaluation_run", "update_nanos", "content"), conditions, order)
    page = service.store.read(lambda connection: read_page(connection, listing, paging.after, paging.size))
    found = [
        _failure(row.name, row.evaluation_run, row.update_nanos, json.loads(row.content)) for row in page.rows
    ]
    return ({"failures": found} if found else {}) | next_token(paging, page.end)


def _failure(name: str, run: str, nanos: int, row: FailureRow) -> JsonObject:
    fields = {key: value for key, value in row.items() if key not in ("run_id", "replaced")}
    told = {"name": name, "evaluation_run": run, "update_time": nanos_timestamp(nanos), **fields}
    return RunFailure.from_value(told).to_value()
