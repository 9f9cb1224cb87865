"""Reads, creates, updates, restores and deletes evaluations; reads results, failures and revisions."""

import json
from collections.abc import Callable, Collection, Sequence
from functools import partial
from time import time_ns
from typing import Any
from uuid import uuid4

from sqlalchemy import Connection, Row, exists, select

from turnwise.pipeline.service.computed_fields import (
    COMPUTED,
    LAST_TEN,
    Position,
    check_content,
    next_token,
    read_filter,
    read_order,
    read_paging,
    with_computed_fields,
)
from turnwise.pipeline.service.runs import Listing, Service, listed
from turnwise.pipeline.service.serve import ServiceError, checked, field_errors, invalid, not_found
from turnwise.pipeline.store import rows
from turnwise.pipeline.store.database import EVALUATIONS, FAILURES, RESULTS, ConflictError, key_text
from turnwise.pipeline.store.summaries import filter_fields
from turnwise.schemas.ces import tools
from turnwise.schemas.ces.names import ANY, UNASSIGNED, app_of, is_id
from turnwise.schemas.jsonio import JsonObject, shown
from turnwise.schemas.proto.masks import updated_content, written_fields
from turnwise.schemas.proto.scalars import nanos_timestamp


def get_evaluation(
    service: Service, request: tools.GetEvaluationWithResults, computed: Collection[str] = COMPUTED
) -> JsonObject:
    """Returns an evaluation with the given computed fields."""
    name = checked("evaluation", request.name, "name")
    wanted = {*computed, LAST_TEN} if request.last_ten_results else computed

    def work(connection: Connection) -> JsonObject:
        evaluation = rows.find_evaluation(connection, name)
        if evaluation is None:
            raise not_found(name)
        return with_computed_fields(connection, [evaluation], service.cache, wanted)[0]

    return service.store.read(work)


def list_evaluations(
    service: Service, request: tools.ListEvaluationsRequest, computed: Collection[str] = COMPUTED
) -> JsonObject:
    """Returns a page of the evaluations of an app with the given computed fields."""
    app = checked("app", request.parent)
    if request.filter and request.evaluation_filter:
        raise invalid("filter", "is superseded by evaluationFilter, which is given as well")
    given, of_run = request.filter or request.evaluation_filter, request.evaluation_run_filter
    fields, conditions = filter_fields(app), [EVALUATIONS.c.app == app]
    for condition in read_filter("evaluationRunFilter", of_run, fields["runs_of_results"]):
        conditions.append(exists().where(RESULTS.c.evaluation == EVALUATIONS.c.name, condition))
    conditions += read_filter("evaluationFilter", given, fields["evaluations"])
    listing = Listing(app, EVALUATIONS, rows.COLUMNS, conditions, read_order(request.order_by))
    wanted = {*computed, LAST_TEN} if request.last_ten_results else computed

    def entries(connection: Connection, page: Sequence[Row[Any]]) -> list[JsonObject]:
        return with_computed_fields(connection, [*map(rows.stored_evaluation, page)], service.cache, wanted)

    identity = ("evaluations", app, given, of_run, request.order_by)
    return listed(service, request, "evaluations", listing, entries, *identity)


def delete_evaluation(service: Service, request: tools.DeleteEvaluationRequest) -> JsonObject:
    """Deletes an evaluation; its history and its results stay."""
    service.check_writable()
    name = checked("evaluation", request.name, "name")

    def work(connection: Connection) -> None:
        old, change = rows.find_evaluation(connection, name), change_by(service)
        if old is None:
            raise not_found(name)
        check_etag(name, request.etag, old.etag, "etag")
        if rows.replace_evaluation(connection, old, old.content, change, is_deletion=1) is None:
            raise ServiceError("ABORTED", f"{name} is changed by others; try again")

    service.store.write(work)
    return {}


# Creates, updates and restores evaluations, each in one transaction.

_MOST_ATTEMPTS = 100


def create_evaluation(service: Service, request: tools.CreateEvaluationRequest) -> JsonObject:
    """Creates an evaluation and returns it."""
    service.check_writable()
    checked("app", request.parent)
    if request.evaluation_id and not is_id(request.evaluation_id):
        raise invalid("evaluationId", "must have at most 100 letters, digits and . _ ~ -")
    if request.evaluation_id == UNASSIGNED:
        raise invalid("evaluationId", f"{UNASSIGNED} is that of results without an evaluation")
    if request.evaluation is None:
        raise invalid("evaluation", "is required")
    name = f"{request.parent}/evaluations/{request.evaluation_id or uuid4()}"
    content = {**written_fields(request.evaluation), "name": name}
    check_content(content)

    def work(connection: Connection) -> rows.StoredEvaluation:
        if rows.find_evaluation(connection, name):
            raise ServiceError("ALREADY_EXISTS", f"{name} exists already", "evaluationId")
        check_display_name(connection, content)
        return rows.add_evaluation(connection, content, change_by(service))

    return _written(service, work)


def update_evaluation(
    service: Service, request: tools.UpdateEvaluationRequest | tools.UpdateEvaluationTool
) -> JsonObject:
    """Updates an evaluation, which must have the etag that is given, if one is, and returns it.

    The mask holds the fields to change, in snake_case or camelCase; "" or "*": all fields.
    """
    service.check_writable()
    evaluation, update_mask = request.evaluation, request.update_mask or ""
    if evaluation is None:
        raise invalid("evaluation", "is required")
    name = checked("evaluation", evaluation.name, "evaluation.name")
    with field_errors("updateMask"):
        updated_content({"name": name}, evaluation, update_mask)
    content = partial(updated_content, resource=evaluation, update_mask=update_mask)
    return _replaced(service, name, (evaluation.etag, "evaluation.etag"), content, update_mask)


def restore_evaluation(service: Service, request: tools.RestoreEvaluationRequest) -> JsonObject:
    """Gives an evaluation the content of one of its revisions, and returns it."""
    service.check_writable()
    name = checked("evaluation", request.name, "name")
    if request.revision < 1:
        raise invalid("revision", "is required: the number of a revision, from 1")
    read = partial(rows.read_revisions, name=name, before=request.revision + 1, size=1)
    revisions = service.store.read(read)
    if not revisions or revisions[0].revision != request.revision:
        raise not_found(f"revision {request.revision} of {name}")
    content = revisions[0].content
    if service.store.read(lambda connection: rows.find_evaluation(connection, name)) is None:
        name = content["name"]
        check_content(content)

        def work(connection: Connection) -> rows.StoredEvaluation:
            check_etag(name, request.etag, rows.read_revisions(connection, name, None, 1)[0].etag, "etag")
            check_display_name(connection, content)
            return rows.add_evaluation(connection, content, change_by(service))

        return _written(service, work)
    return _replaced(service, name, (request.etag, "etag"), lambda _: content)


def _replaced(
    service: Service,
    name: str,
    etag: tuple[str, str],
    new_content: Callable[[JsonObject], JsonObject],
    update_mask: str = "",
) -> JsonObject:
    """Changes an evaluation and returns it.

    `etag` is the one that it must have ("": any), and the field of the request that holds it; `new_content`
    makes the new content of an old one.
    """
    # The new content is made and checked before the store is locked, and again if it has changed meanwhile.
    for _ in range(_MOST_ATTEMPTS):
        old = service.store.read(lambda connection: rows.find_evaluation(connection, name))
        if old is None:
            raise not_found(name)
        check_etag(name, etag[0], old.etag, etag[1])
        content = new_content(old.content)
        check_content(content)
        work = partial(_replace, old=old, content=content, change=change_by(service, update_mask))
        if replaced := _written(service, work):
            return replaced
    raise ServiceError("ABORTED", f"{name} is changed by others all the time; try again")


def _replace(
    connection: Connection, old: rows.StoredEvaluation, content: JsonObject, change: rows.EvaluationChange
) -> rows.StoredEvaluation | None:
    check_display_name(connection, content)
    return rows.replace_evaluation(connection, old, content, change)


def _written(service: Service, work: Callable[[Connection], rows.StoredEvaluation | None]) -> JsonObject:
    """Returns the evaluation that `work` writes (empty: none); ServiceError: another writer was first."""
    try:
        made = service.store.write(work)
    except ConflictError:
        raise ServiceError("ALREADY_EXISTS", "the app has an entry of that name already") from None
    if made is None:
        return {}
    read = partial(with_computed_fields, stored=[made], cache=service.cache, wanted=COMPUTED)
    return service.store.read(read)[0]


# What all changes of a store have in common: who made them, etags, unique names.

_MICROSECOND = 1000


def change_by(service: Service, update_mask: str | None = None) -> rows.EvaluationChange:
    """Returns a change that the user of a service makes now."""
    return rows.EvaluationChange(service.actor, time_ns() // _MICROSECOND * _MICROSECOND, update_mask or None)


def check_etag(name: str, given: str, stored: str, field: str) -> None:
    """Raises ServiceError if a request gives an etag, and it is not that of the resource."""
    if given and given != stored:
        raise ServiceError("ABORTED", f"{name} has another etag: it was changed since", field)


def check_display_name(connection: Connection, content: JsonObject) -> None:
    """Raises ServiceError if another evaluation of the app has the display name of a content."""
    display_name = content["displayName"]
    is_its = (
        EVALUATIONS.c.app == app_of(content["name"]),
        EVALUATIONS.c.display_name == key_text(display_name),
    )
    holder = connection.execute(select(EVALUATIONS.c.name).where(*is_its)).scalar()
    if holder not in (None, content["name"]):
        reason = f"{holder} has the name {shown(display_name)} already"
        raise ServiceError("ALREADY_EXISTS", reason, "evaluation.displayName")


# Reads evaluation results and failures.


def get_evaluation_result(service: Service, request: tools.GetEvaluationResultRequest) -> JsonObject:
    """Returns a result."""
    name = checked("result", request.name, "name")
    result = service.store.read(lambda connection: rows.find_result(connection, name))
    if result is None:
        raise not_found(name)
    return result


def list_evaluation_results(service: Service, request: tools.ListEvaluationResultsRequest) -> JsonObject:
    """Returns a page of the results of an evaluation, or of the app (`.../evaluations/-`)."""
    parent = checked("parent of results", request.parent)
    is_all = parent.endswith(f"/{ANY}")
    conditions = [RESULTS.c.app == app_of(parent) if is_all else RESULTS.c.evaluation == parent]
    conditions += read_filter("filter", request.filter, filter_fields(app_of(parent))["results"])
    listing = Listing(app_of(parent), RESULTS, ("content",), conditions, read_order(request.order_by))

    def entries(connection: Connection, page: Sequence[Row[Any]]) -> list[JsonObject]:
        has_results = page or is_all or rows.has_results(connection, parent)
        if not has_results and not rows.find_evaluation(connection, parent):
            raise not_found(parent)
        return [json.loads(row.content) for row in page]

    identity = ("results", parent, request.filter, request.order_by)
    return listed(service, request, "evaluationResults", listing, entries, *identity)


def get_failures(service: Service, request: tools.GetFailuresRequest) -> JsonObject:
    """Returns a page of the failures of an app."""
    app = checked("app", request.parent)
    order = read_order(request.order_by, ("name", "update_time"))
    conditions = [FAILURES.c.app == app]
    conditions += read_filter("filter", request.filter, filter_fields(app)["failures"])
    listing = Listing(app, FAILURES, ("evaluation_run", "update_nanos", "content"), conditions, order)

    def entries(_: Connection, page: Sequence[Row[Any]]) -> list[JsonObject]:
        failures = []
        for row in page:
            failure = {"name": row.name, "evaluation_run": row.evaluation_run}
            failure |= {"update_time": nanos_timestamp(row.update_nanos), **json.loads(row.content)}
            fields = {key: value for key, value in failure.items() if key not in ("run_id", "replaced")}
            failures.append(tools.RunFailure.from_value(fields).to_value())
        return failures

    return listed(service, request, "failures", listing, entries, "failures", app, request.filter, order)


def list_evaluation_revisions(service: Service, request: tools.ListEvaluationRevisionsRequest) -> JsonObject:
    """Returns a page of the revisions of an evaluation, the newest first."""
    name = checked("evaluation", request.name, "name")
    paging = read_paging(request.page_size, request.page_token, "revisions", name)
    before = paging.after.nanos if paging.after else None
    read = partial(rows.read_revisions, name=name, before=before, size=paging.size + 1)
    stored = service.store.read(read)
    if not stored and before is None:
        raise not_found(name)
    page = stored[: paging.size]
    revisions = [
        {
            "revision": revision.revision,
            "etag": revision.etag,
            "changeTime": nanos_timestamp(revision.nanos),
            "changedBy": revision.actor,
            **({"updateMask": revision.update_mask} if revision.update_mask else {}),
            **({"deleted": True} if revision.is_deletion else {}),
            "evaluation": revision.content,
        }
        for revision in page
    ]
    end = Position(page[-1].revision, name) if len(stored) > len(page) else None
    return ({"revisions": revisions} if page else {}) | next_token(paging, end)
