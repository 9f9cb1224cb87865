"""Reads the revisions of an evaluation."""

from sqlalchemy import Connection

from turnwise.pipeline.service.errors import field_errors, not_found
from turnwise.pipeline.service.lists import next_token, read_paging
from turnwise.pipeline.service.service import Service
from turnwise.pipeline.store.database import Position
from turnwise.pipeline.store.evaluations import StoredRevision, read_revisions
from turnwise.schemas.ces.names import checked_name
from turnwise.schemas.ces.tools import ListEvaluationRevisionsRequest
from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.proto.scalars import nanos_timestamp


def list_evaluation_revisions(service: Service, request: ListEvaluationRevisionsRequest) -> JsonObject:
    """Returns a page of the revisions of an evaluation, the newest first.

    Raises:
        ServiceError: The request is invalid, or there is no such evaluation.
    """
    with field_errors("name"):
        name = checked_name("evaluation", request.name)
    paging = read_paging(request.page_size, request.page_token, "revisions", name)
    before = paging.after.nanos if paging.after else None

    def work(connection: Connection) -> list[StoredRevision]:
        return read_revisions(connection, name, before, paging.size + 1)

    found = service.store.read(work)
    if not found and before is None:
        raise not_found(name)
    page = found[: paging.size]
    end = Position(page[-1].revision, name) if len(found) > len(page) else None
    return ({"revisions": list(map(_told, page))} if page else {}) | next_token(paging, end)


def _told(stored: StoredRevision) -> JsonObject:
    return {
        "revision": stored.revision,
        "etag": stored.etag,
        "changeTime": nanos_timestamp(stored.nanos),
        "changedBy": stored.actor,
        **({"updateMask": stored.update_mask} if stored.update_mask else {}),
        **({"deleted": True} if stored.is_deletion else {}),
        "evaluation": stored.content,
    }
