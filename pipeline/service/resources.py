"""Creates, reads, lists, changes and deletes resources that have no history: datasets and expectations."""

from collections.abc import Callable, Mapping
from typing import Any
from uuid import uuid4

from msgspec import Struct
from sqlalchemy import Connection, Table

from turnwise.pipeline.service.errors import ServiceError, field_errors, invalid, not_found
from turnwise.pipeline.service.lists import next_token, read_filter, read_order, read_paging
from turnwise.pipeline.service.service import Service
from turnwise.pipeline.service.writing import change_by, check_display_name, check_etag, written
from turnwise.pipeline.store.conditions import Field
from turnwise.pipeline.store.pages import Listing, read_page
from turnwise.pipeline.store.resources import (
    StoredResource,
    add_resource,
    delete_resource,
    find_resource,
    replace_resource,
    stored_resource,
)
from turnwise.schemas.ces.names import checked_name, is_id
from turnwise.schemas.proto.json import Message
from turnwise.schemas.proto.masks import mask_fields
from turnwise.schemas.proto.scalars import nanos_timestamp
from turnwise.schemas.proto.updates import updated_content, written_fields
from turnwise.schemas.values import JsonObject

_OTHERS_CHANGE = "is changed by others; try again"


class ResourceKind(Struct, frozen=True):
    """What differs between kinds of resources.

    Attributes:
        noun: Kind of the name, as `checked_name` calls it.
        collection: Name of the collection in paths and lists.
        message: Message class.
        table: Its table.
        fields: Returns the filter fields of an app.
        check: Raises ServiceError if a content is not valid.
        bind: Writes what refers to the content of a resource; raises ServiceError.
        release: Is called before a resource is deleted; raises ServiceError if it may not be.
        computed: Returns the fields of a resource that are computed.
    """

    noun: str
    collection: str
    message: type[Message]
    table: Table
    fields: Callable[[str], Mapping[str, Field]]
    check: Callable[[JsonObject], None]
    bind: Callable[[Connection, JsonObject], None]
    release: Callable[[Connection, str], None]
    computed: Callable[[Service, Connection, StoredResource], JsonObject]

    @property
    def field(self) -> str:
        """The field of requests that holds a resource."""
        return self.collection.removesuffix("s")

    def value(self, service: Service, connection: Connection, stored: StoredResource) -> JsonObject:
        """Returns a resource with its output-only fields."""
        known = {
            "createTime": nanos_timestamp(stored.create_nanos),
            "createdBy": stored.created_by,
            "updateTime": nanos_timestamp(stored.update_nanos),
            "lastUpdatedBy": stored.last_updated_by,
            "etag": stored.etag,
        }
        fields = mask_fields(self.message)
        shown = {name: item for name, item in known.items() if name in fields}
        return {**stored.content, **shown, **self.computed(service, connection, stored)}


def create_resource(
    kind: ResourceKind, service: Service, parent: str, resource_id: str, resource: Message
) -> JsonObject:
    """Creates a resource and returns it.

    Raises:
        ServiceError: The request is invalid, or there is a resource of that name.
    """
    service.check_writable()
    with field_errors("parent"):
        checked_name("app", parent)
    if resource_id and not is_id(resource_id):
        raise invalid(f"{kind.field}Id", "must have at most 100 letters, digits and . _ ~ -")
    content = {**written_fields(resource), "name": f"{parent}/{kind.collection}/{resource_id or uuid4()}"}
    _check(kind, content)

    def work(connection: Connection) -> StoredResource:
        if find_resource(connection, kind.table, content["name"]):
            raise ServiceError("ALREADY_EXISTS", f"{content['name']} exists already", f"{kind.field}Id")
        check_display_name(connection, kind.table, content, kind.field)
        made = add_resource(connection, kind.table, content, change_by(service))
        kind.bind(connection, content)
        return made

    return _told(kind, service, written(service, work))


def get_resource(kind: ResourceKind, service: Service, name: str) -> JsonObject:
    """Returns a resource; raises ServiceError if there is none of that name."""
    with field_errors("name"):
        checked_name(kind.noun, name)
    return service.store.read(
        lambda connection: kind.value(service, connection, _found(kind, connection, name))
    )


def list_resources(kind: ResourceKind, service: Service, request: Any) -> JsonObject:
    """Returns a page of the resources of an app; raises ServiceError if the request is invalid."""
    with field_errors("parent"):
        app = checked_name("app", request.parent)
    identity = (kind.collection, app, request.filter, request.order_by)
    paging = read_paging(request.page_size, request.page_token, *identity)
    conditions = [kind.table.c.app == app, *read_filter("filter", request.filter, kind.fields(app))]
    listing = Listing(kind.table, StoredResource._fields, conditions, read_order(request.order_by))

    def work(connection: Connection) -> JsonObject:
        page = read_page(connection, listing, paging.after, paging.size)
        found = [kind.value(service, connection, stored_resource(row)) for row in page.rows]
        return ({kind.collection: found} if found else {}) | next_token(paging, page.end)

    return service.store.read(work)


def update_resource(
    kind: ResourceKind, service: Service, resource: Any, update_mask: str | None
) -> JsonObject:
    """Updates a resource and returns it.

    Raises:
        ServiceError: The request is invalid, the resource does not exist, or its etag differs.
    """
    service.check_writable()
    with field_errors(f"{kind.field}.name"):
        name = checked_name(kind.noun, resource.name)
    with field_errors("updateMask"):
        updated_content({"name": name}, resource, update_mask)

    def work(connection: Connection) -> StoredResource:
        old = _found(kind, connection, name)
        check_etag(name, resource.etag, old.etag, f"{kind.field}.etag")
        content = updated_content(old.content, resource, update_mask)
        _check(kind, content)
        check_display_name(connection, kind.table, content, kind.field)
        made = replace_resource(connection, kind.table, old, content, change_by(service))
        if made is None:
            raise ServiceError("ABORTED", f"{name} {_OTHERS_CHANGE}")
        kind.bind(connection, content)
        return made

    return _told(kind, service, written(service, work))


def remove_resource(kind: ResourceKind, service: Service, name: str, etag: str) -> JsonObject:
    """Deletes a resource.

    Raises:
        ServiceError: There is none of that name, its etag differs, or it is needed.
    """
    service.check_writable()
    with field_errors("name"):
        checked_name(kind.noun, name)

    def work(connection: Connection) -> JsonObject:
        old = _found(kind, connection, name)
        check_etag(name, etag, old.etag, "etag")
        kind.release(connection, name)
        if not delete_resource(connection, kind.table, old):
            raise ServiceError("ABORTED", f"{name} {_OTHERS_CHANGE}")
        return {}

    return written(service, work)


def _found(kind: ResourceKind, connection: Connection, name: str) -> StoredResource:
    stored = find_resource(connection, kind.table, name)
    if stored is None:
        raise not_found(name)
    return stored


def _told(kind: ResourceKind, service: Service, made: StoredResource) -> JsonObject:
    return service.store.read(lambda connection: kind.value(service, connection, made))


def _check(kind: ResourceKind, content: JsonObject) -> None:
    if not content.get("displayName", "").strip():
        raise invalid(f"{kind.field}.displayName", "is required")
    kind.check(content)
