"""Creates, updates and restores evaluations, each in one transaction."""

from collections.abc import Callable
from functools import partial
from uuid import uuid4

from sqlalchemy import Connection

from turnwise.pipeline.service.computed_fields import COMPUTED, with_computed_fields
from turnwise.pipeline.service.errors import ServiceError, field_errors, invalid, not_found
from turnwise.pipeline.service.service import Service
from turnwise.pipeline.service.validation import check_content
from turnwise.pipeline.service.writing import change_by, check_display_name, check_etag, written
from turnwise.pipeline.store.evaluations import (
    EvaluationChange,
    StoredEvaluation,
    add_evaluation,
    find_evaluation,
    read_revisions,
    replace_evaluation,
)
from turnwise.schemas.ces.names import checked_name, is_id
from turnwise.schemas.ces.resources import CreateEvaluationRequest
from turnwise.schemas.ces.results import Evaluation
from turnwise.schemas.ces.tools import RestoreEvaluationRequest
from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.proto.masks import updated_content, written_fields

_MOST_ATTEMPTS = 100


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
        check_display_name(connection, content)
        return add_evaluation(connection, content, change_by(service))

    return _with_computed_fields(service, written(service, work))


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

    def new_content(old: JsonObject) -> JsonObject:
        return updated_content(old, evaluation, update_mask)

    return _replaced(service, name, (evaluation.etag, "evaluation.etag"), new_content, update_mask)


def restore_evaluation(service: Service, request: RestoreEvaluationRequest) -> JsonObject:
    """Gives an evaluation the content of one of its revisions, and returns it.

    Raises:
        ServiceError: The request is invalid, there is no such revision, or the etag differs.
    """
    service.check_writable()
    with field_errors("name"):
        name = checked_name("evaluation", request.name)
    if request.revision < 1:
        raise invalid("revision", "is required: the number of a revision, from 1")
    found = service.store.read(lambda connection: read_revisions(connection, name, request.revision + 1, 1))
    if not found or found[0].revision != request.revision:
        raise not_found(f"revision {request.revision} of {name}")
    content = found[0].content
    if service.store.read(lambda connection: find_evaluation(connection, name)) is None:
        return _created_again(service, content, request.etag)
    return _replaced(service, name, (request.etag, "etag"), lambda _: content)


def _created_again(service: Service, content: JsonObject, etag: str) -> JsonObject:
    """Creates an evaluation that was deleted; `etag`: that of its deletion ("": any)."""
    name = content["name"]
    check_content(content)

    def work(connection: Connection) -> StoredEvaluation:
        last = read_revisions(connection, name, None, 1)[0]
        check_etag(name, etag, last.etag, "etag")
        if not last.is_deletion:
            raise ServiceError("ABORTED", f"{name} was created by another; try again")
        check_display_name(connection, content)
        return add_evaluation(connection, content, change_by(service))

    return _with_computed_fields(service, written(service, work))


def _replaced(
    service: Service,
    name: str,
    etag: tuple[str, str],
    new_content: Callable[[JsonObject], JsonObject],
    update_mask: str = "",
) -> JsonObject:
    """Changes an evaluation and returns it.

    The new content is made and checked before the store is locked, and again if the evaluation has changed
    meanwhile.

    Args:
        service: The service.
        name: Name of the evaluation.
        etag: The etag that it must have ("": any), and the field of the request that holds it.
        new_content: Returns the new content of an old one.
        update_mask: The mask, for the history.
    """
    for _ in range(_MOST_ATTEMPTS):
        old = service.store.read(lambda connection: find_evaluation(connection, name))
        if old is None:
            raise not_found(name)
        check_etag(name, etag[0], old.etag, etag[1])
        content = new_content(old.content)
        check_content(content)
        work = partial(_replace, old=old, content=content, change=change_by(service, update_mask))
        made = written(service, work)
        if made is not None:
            return _with_computed_fields(service, made)
    raise ServiceError("ABORTED", f"{name} is changed by others all the time; try again")


def _replace(
    connection: Connection, old: StoredEvaluation, content: JsonObject, change: EvaluationChange
) -> StoredEvaluation | None:
    check_display_name(connection, content)
    return replace_evaluation(connection, old, content, change)


def _with_computed_fields(service: Service, made: StoredEvaluation) -> JsonObject:
    return service.store.read(
        lambda connection: with_computed_fields(connection, [made], service.cache, COMPUTED)[0]
    )
