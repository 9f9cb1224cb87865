"""Reads evaluations."""

from collections.abc import Collection

from sqlalchemy import Connection

from turnwise.pipeline.service.computed_fields import COMPUTED, LAST_TEN, with_computed_fields
from turnwise.pipeline.service.errors import field_errors, invalid, not_found
from turnwise.pipeline.service.lists import next_token, read_filter, read_order, read_paging
from turnwise.pipeline.service.service import Service
from turnwise.pipeline.store.conditions import Sql, evaluation_fields, of_runs, run_fields
from turnwise.pipeline.store.database import EVALUATIONS, Listing, read_page
from turnwise.pipeline.store.evaluations import COLUMNS, find_evaluation, stored_evaluation
from turnwise.schemas.ces.names import checked_name
from turnwise.schemas.ces.resources import ListEvaluationsRequest
from turnwise.schemas.jsonio import JsonObject


def get_evaluation(service: Service, name: str, computed: Collection[str] = COMPUTED) -> JsonObject:
    """Returns an evaluation with the given computed fields.

    Raises:
        ServiceError: There is none of that name.
    """
    with field_errors("name"):
        checked_name("evaluation", name)

    def work(connection: Connection) -> JsonObject:
        found = find_evaluation(connection, name)
        if found is None:
            raise not_found(name)
        return with_computed_fields(connection, [found], service.cache, computed)[0]

    return service.store.read(work)


def list_evaluations(
    service: Service, request: ListEvaluationsRequest, computed: Collection[str] = COMPUTED
) -> JsonObject:
    """Returns a page of the evaluations of an app with the given computed fields. Raises ServiceError."""
    with field_errors("parent"):
        app = checked_name("app", request.parent)
    if request.filter and request.evaluation_filter:
        raise invalid("filter", "is superseded by evaluationFilter, which is given as well")
    own, of_run = request.filter or request.evaluation_filter, request.evaluation_run_filter
    paging = read_paging(
        request.page_size, request.page_token, "evaluations", app, own, of_run, request.order_by
    )
    runs = map(of_runs, read_filter("evaluationRunFilter", of_run, run_fields(app)))
    conditions = [EVALUATIONS.c.app == app, *filter_conditions(app, own), *runs]
    listing = Listing(EVALUATIONS, COLUMNS, conditions, read_order(request.order_by))
    wanted = {*computed, LAST_TEN} if request.last_ten_results else computed

    def work(connection: Connection) -> JsonObject:
        page = read_page(connection, listing, paging.after, paging.size)
        found = [stored_evaluation(row) for row in page.rows]
        values = with_computed_fields(connection, found, service.cache, wanted)
        return ({"evaluations": values} if values else {}) | next_token(paging, page.end)

    return service.store.read(work)


def filter_conditions(app: str, text: str) -> list[Sql]:
    """Returns the condition of a filter on evaluations, as a list of at most one; raises ServiceError."""
    return read_filter("evaluationFilter", text, evaluation_fields(app))
