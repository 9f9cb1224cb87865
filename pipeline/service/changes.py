"""Creates and updates evaluations, each in one transaction."""

from collections.abc import Callable
from time import time_ns
from uuid import uuid4

from sqlalchemy import Connection

from turnwise.pipeline.service.computed_fields import COMPUTED, with_computed_fields
from turnwise.pipeline.service.errors import ServiceError, field_errors, invalid, not_found
from turnwise.pipeline.service.service import Service
from turnwise.pipeline.service.validation import check_content
from turnwise.pipeline.store.engine import ConflictError
from turnwise.pipeline.store.evaluations import (
    EvaluationChange,
    StoredEvaluation,
    add_evaluation,
    find_by_display_name,
    find_evaluation,
    replace_evaluation,
)
from turnwise.schemas.ces.cases import Evaluation, updated_content, written_fields
from turnwise.schemas.ces.names import app_of, checked_name, is_id
from turnwise.schemas.ces.requests import CreateEvaluationRequest
from turnwise.schemas.proto.scalars import shown
from turnwise.schemas.values import JsonObject

_MICROSECOND = 1000


def create_evaluation(service: Service, request: CreateEvaluationRequest) -> JsonObject:
    """Creates an evaluation and returns it.

    Raises:
        ServiceError: The request is invalid, or there is an evaluation of that name.
    """
    service.check_writable()
    with field_errors("parent"):
        checked_name("app", request.parent)
    if request.evaluation_id and not is_id(request.evaluation_id):
        raise invalid("evaluationId", "must have at most 100 letters, digits and . _ ~ -")
    if request.evaluation is None:
        raise invalid("evaluation", "is required")
    name = f"{request.parent}/evaluations/{request.evaluation_id or uuid4()}"
    content = {**written_fields(request.evaluation), "name": name}
    check_content(content)

    def work(connection: Connection) -> StoredEvaluation:
        if find_evaluation(connection, name):
            raise ServiceError("ALREADY_EXISTS", f"{name} exists already", "evaluationId")
        _check_display_name(connection, content)
        return add_evaluation(connection, content, _change(service))

    return _changed(service, work)


def update_evaluation(service: Service, evaluation: Evaluation | None, update_mask: str = "") -> JsonObject:
    """Updates an evaluation and returns it.

    Args:
        service: The service.
        evaluation: Name, new values and, optionally, the etag that the stored evaluation must have.
        update_mask: The fields to change, in snake_case or camelCase; "" or "*": all fields.

    Raises:
        ServiceError: The request is invalid, the evaluation does not exist, or its etag differs.
    """
    service.check_writable()
    if evaluation is None:
        raise invalid("evaluation", "is required")
    with field_errors("evaluation.name"):
        name = checked_name("evaluation", evaluation.name)
    with field_errors("updateMask"):
        updated_content({"name": name}, evaluation, update_mask)

    def work(connection: Connection) -> StoredEvaluation:
        old = find_evaluation(connection, name, to_change=True)
        if old is None:
            raise not_found(name)
        if evaluation.etag and evaluation.etag != old.etag:
            raise ServiceError("ABORTED", f"{name} has another etag: it was changed since", "evaluation.etag")
        content = updated_content(old.content, evaluation, update_mask)
        check_content(content)
        _check_display_name(connection, content)
        return replace_evaluation(connection, old, content, _change(service, update_mask))

    return _changed(service, work)


def _changed(service: Service, work: Callable[[Connection], StoredEvaluation]) -> JsonObject:
    try:
        made = service.store.write(work)
    except ConflictError:
        raise ServiceError("ALREADY_EXISTS", "the app has an evaluation of that name already") from None
    return service.store.read(
        lambda connection: with_computed_fields(connection, [made], service.cache, COMPUTED)[0]
    )


def _check_display_name(connection: Connection, content: JsonObject) -> None:
    display_name = content["displayName"]
    found = find_by_display_name(connection, app_of(content["name"]), display_name)
    if found not in (None, content["name"]):
        raise ServiceError(
            "ALREADY_EXISTS", f"{found} has the name {shown(display_name)} already", "evaluation.displayName"
        )


def _change(service: Service, update_mask: str = "") -> EvaluationChange:
    now = time_ns() // _MICROSECOND * _MICROSECOND
    return EvaluationChange(service.actor, now, update_mask or None)
