"""Deletes evaluations."""

from sqlalchemy import Connection

from turnwise.pipeline.service.errors import ServiceError, field_errors, not_found
from turnwise.pipeline.service.service import Service
from turnwise.pipeline.service.writing import change_by, check_etag
from turnwise.pipeline.store.evaluations import find_evaluation, remove_evaluation
from turnwise.schemas.ces.names import checked_name
from turnwise.schemas.ces.resources import DeleteEvaluationRequest
from turnwise.schemas.jsonio import JsonObject


def delete_evaluation(service: Service, request: DeleteEvaluationRequest) -> JsonObject:
    """Deletes an evaluation; its history and its results stay.

    Raises:
        ServiceError: There is none of that name, or its etag differs.
    """
    service.check_writable()
    with field_errors("name"):
        name = checked_name("evaluation", request.name)

    def work(connection: Connection) -> None:
        old, change = find_evaluation(connection, name), change_by(service)
        if old is None:
            raise not_found(name)
        check_etag(name, request.etag, old.etag, "etag")
        if not remove_evaluation(connection, old, change):
            raise ServiceError("ABORTED", f"{name} is changed by others; try again")

    service.store.write(work)
    return {}
