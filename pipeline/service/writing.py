"""What all changes of a store have in common: who made them, etags, unique names."""

from collections.abc import Callable
from time import time_ns
from typing import TypeVar

from sqlalchemy import Connection

from turnwise.pipeline.service.errors import ServiceError
from turnwise.pipeline.service.service import Service
from turnwise.pipeline.store.database import ConflictError
from turnwise.pipeline.store.evaluations import EvaluationChange, find_by_display_name
from turnwise.schemas.ces.names import app_of
from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.proto.scalars import shown

T = TypeVar("T")

_MICROSECOND = 1000


def change_by(service: Service, update_mask: str | None = None) -> EvaluationChange:
    """Returns a change that the user of a service makes now."""
    now = time_ns() // _MICROSECOND * _MICROSECOND
    return EvaluationChange(service.actor, now, update_mask or None)


def check_etag(name: str, given: str, stored: str, field: str) -> None:
    """Raises ServiceError if a request gives an etag, and it is not that of the resource."""
    if given and given != stored:
        raise ServiceError("ABORTED", f"{name} has another etag: it was changed since", field)


def check_display_name(connection: Connection, content: JsonObject) -> None:
    """Raises ServiceError if another evaluation of the app has the display name of a content."""
    display_name = content["displayName"]
    found = find_by_display_name(connection, app_of(content["name"]), display_name)
    if found not in (None, content["name"]):
        raise ServiceError(
            "ALREADY_EXISTS", f"{found} has the name {shown(display_name)} already", "evaluation.displayName"
        )


def written(service: Service, work: Callable[[Connection], T]) -> T:
    """Runs `work` in a write transaction; raises ServiceError after a conflict with another writer."""
    try:
        return service.store.write(work)
    except ConflictError:
        raise ServiceError("ALREADY_EXISTS", "the app has an entry of that name already") from None
