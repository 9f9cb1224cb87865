"""Lists, reads, cancels and deletes long-running operations."""

from sqlalchemy import ColumnElement, Connection

from turnwise.pipeline.service.errors import ServiceError, field_errors, not_found
from turnwise.pipeline.service.lists import next_token, read_filter, read_paging
from turnwise.pipeline.service.operations.kinds import operation_value
from turnwise.pipeline.service.service import Service
from turnwise.pipeline.store.conditions import Field, Sql, name_field, text_field, time_field
from turnwise.pipeline.store.operations import (
    COLUMNS,
    StoredOperation,
    database_nanos,
    find_operation,
    forget_operation,
    is_going_on,
    request_cancel,
    stored_operation,
)
from turnwise.pipeline.store.pages import Listing, read_page
from turnwise.pipeline.store.tables import OPERATIONS
from turnwise.schemas.ces.names import checked_name
from turnwise.schemas.ces.operations import ListOperationsRequest
from turnwise.schemas.proto.filters import Operator
from turnwise.schemas.proto.scalars import shown
from turnwise.schemas.values import JsonObject


def get_operation(service: Service, name: str) -> JsonObject:
    """Returns an operation; raises ServiceError if there is none of that name."""
    return operation_value(service.store.read(lambda connection: _found(connection, name)))


def cancel_operation(service: Service, name: str) -> JsonObject:
    """Asks an operation to stop; one that is done stays as it is.

    Raises:
        ServiceError: There is none of that name, or the service is read-only.
    """
    service.check_writable()

    def work(connection: Connection) -> None:
        _found(connection, name)
        request_cancel(connection, name)

    service.store.write(work)
    return {}


def delete_operation(service: Service, name: str) -> JsonObject:
    """Deletes an operation that is done.

    Raises:
        ServiceError: There is none of that name, it is not done, or the service is read-only.
    """
    service.check_writable()

    def work(connection: Connection) -> None:
        if _found(connection, name).end_nanos is None:
            raise ServiceError("FAILED_PRECONDITION", f"{name} is not done; cancel it first")
        forget_operation(connection, name)

    service.store.write(work)
    return {}


def list_operations(service: Service, request: ListOperationsRequest) -> JsonObject:
    """Returns a page of the operations of a location, in the order in which they were asked for.

    Raises:
        ServiceError: The request is invalid.
    """
    with field_errors("name"):
        place = checked_name("location", request.name)
    paging = read_paging(request.page_size, request.page_token, "operations", place, request.filter)

    def work(connection: Connection) -> JsonObject:
        now = database_nanos(connection)
        conditions = [
            OPERATIONS.c.place == place,
            *read_filter("filter", request.filter, _fields(place, now)),
        ]
        page = read_page(
            connection, Listing(OPERATIONS, COLUMNS, conditions, "name"), paging.after, paging.size
        )
        values = [operation_value(stored_operation(row, now)) for row in page.rows]
        return ({"operations": values} if values else {}) | next_token(paging, page.end)

    return service.store.read(work)


def _found(connection: Connection, name: str) -> StoredOperation:
    with field_errors("name"):
        checked_name("operation", name)
    found = find_operation(connection, name)
    if found is None:
        raise not_found(name)
    return found


def _fields(place: str, now: int) -> dict[str, Field]:
    def done(operator: Operator, value: str) -> Sql:
        if operator not in ("=", "!=") or value not in ("true", "false"):
            raise ValueError(f"{shown(value)} is neither true nor false, or the operator is neither = nor !=")
        goes_on: ColumnElement[bool] = is_going_on(now)
        return goes_on if (value == "false") is (operator == "=") else ~goes_on

    return {
        "name": name_field(OPERATIONS.c.name, f"{place}/operations"),
        "app": name_field(OPERATIONS.c.app, f"{place}/apps"),
        "method": text_field(OPERATIONS.c.method),
        "done": done,
        "create_time": time_field(OPERATIONS.c.create_nanos),
    }
