"""Deletes evaluations."""

from sqlalchemy import Connection

from turnwise.pipeline.service.errors import ServiceError, field_errors, not_found
from turnwise.pipeline.service.service import Service
from turnwise.pipeline.service.writing import change_by, check_etag
from turnwise.pipeline.store.datasets import datasets_of, remove_from_datasets
from turnwise.pipeline.store.engine import ConflictError
from turnwise.pipeline.store.evaluations import find_evaluation, remove_evaluation
from turnwise.schemas.ces.names import checked_name
from turnwise.schemas.ces.requests import DeleteEvaluationRequest
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
