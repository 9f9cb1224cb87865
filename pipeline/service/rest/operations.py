"""The methods of long-running operations."""

from turnwise.pipeline.service.operations.methods import (
    cancel_operation,
    delete_operation,
    get_operation,
    list_operations,
)
from turnwise.pipeline.service.rest.method import Empty, RestMethod, in_place
from turnwise.pipeline.service.service import Service
from turnwise.schemas.ces.operations import (
    CancelOperationRequest,
    DeleteOperationRequest,
    GetOperationRequest,
    ListOperationsRequest,
    ListOperationsResponse,
    Operation,
)
from turnwise.schemas.values import JsonObject

_ONE = in_place("name", "operations/*")
_ALL = in_place("name", "") + "/operations"


def _get(service: Service, request: GetOperationRequest) -> JsonObject:
    return get_operation(service, request.name)


def _cancel(service: Service, request: CancelOperationRequest) -> JsonObject:
    return cancel_operation(service, request.name)


def _delete(service: Service, request: DeleteOperationRequest) -> JsonObject:
    return delete_operation(service, request.name)


METHODS = (
    RestMethod(
        "list_operations", "GET", _ALL, ListOperationsRequest, ListOperationsResponse, list_operations
    ),
    RestMethod("get_operation", "GET", _ONE, GetOperationRequest, Operation, _get),
    RestMethod("delete_operation", "DELETE", _ONE, DeleteOperationRequest, Empty, _delete),
    RestMethod(
        "cancel_operation", "POST", f"{_ONE}:cancel", CancelOperationRequest, Empty, _cancel, body="*"
    ),
)
