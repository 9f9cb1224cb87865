"""Deletes evaluations and results."""

from time import time_ns

from sqlalchemy import Connection

from turnwise.pipeline.service.errors import ServiceError, field_errors, not_found
from turnwise.pipeline.service.service import Service
from turnwise.pipeline.service.writing import change_by, check_etag
from turnwise.pipeline.store.datasets import datasets_of, remove_from_datasets
from turnwise.pipeline.store.deleted_results import delete_result, run_of_result
from turnwise.pipeline.store.engine import ConflictError
from turnwise.pipeline.store.evaluations import find_evaluation, remove_evaluation
from turnwise.pipeline.store.executions import RECENT_NANOS, lock_executions, runs_since
from turnwise.schemas.ces.names import checked_name
from turnwise.schemas.ces.requests import DeleteEvaluationRequest, DeleteEvaluationResultRequest
from turnwise.schemas.values import JsonObject

_ABORTED = "is changed by others; try again"


def delete_evaluation(service: Service, request: DeleteEvaluationRequest) -> JsonObject:
    """Deletes an evaluation; its history and its results stay.

    Raises:
        ServiceError: There is none of that name, its etag differs, or (without force) a dataset has it.
    """
    service.check_writable()
    with field_errors("name"):
        name = checked_name("evaluation", request.name)

    def work(connection: Connection) -> None:
        old, change = find_evaluation(connection, name), change_by(service)
        if old is None:
            raise not_found(name)
        check_etag(name, request.etag, old.etag, "etag")
        datasets = datasets_of(connection, [name]).get(name, [])
        if datasets and not request.force:
            raise ServiceError("FAILED_PRECONDITION", f"{name} is in {', '.join(datasets[:3])}", "force")
        is_free = remove_from_datasets(connection, name, change)
        if not (is_free and remove_evaluation(connection, old, change)):
            raise ServiceError("ABORTED", f"{name} {_ABORTED}")

    try:
        service.store.write(work)
    except ConflictError:
        # Meanwhile, another writer put it into a dataset.
        raise ServiceError("ABORTED", f"{name} {_ABORTED}") from None
    return {}


def delete_evaluation_result(service: Service, request: DeleteEvaluationResultRequest) -> JsonObject:
    """Deletes a result with the recorded conversation and its scores; the metrics of its run stay.

    Raises:
        ServiceError: There is none of that name, or its run may still be running.
    """
    service.check_deletable()
    with field_errors("name"):
        name = checked_name("result", request.name)

    def work(connection: Connection) -> None:
        lock_executions(connection)
        run = run_of_result(connection, name)
        if run is None:
            raise not_found(name)
        if runs_since(connection, run, time_ns() - RECENT_NANOS):
            why = "an execution of its run wrote within the last 24 hours and has not ended"
            raise ServiceError("FAILED_PRECONDITION", f"{name}: {why}")
        delete_result(connection, name)

    service.store.write(work)
    return {}
