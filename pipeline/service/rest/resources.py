"""The methods of datasets and expectations: the same for both, with messages of their own."""

from functools import partial
from typing import Any

from msgspec import Struct
from pydantic.alias_generators import to_snake

from turnwise.pipeline.service.datasets import DATASETS
from turnwise.pipeline.service.expectations import EXPECTATIONS
from turnwise.pipeline.service.resources import (
    ResourceKind,
    create_resource,
    get_resource,
    list_resources,
    remove_resource,
    update_resource,
)
from turnwise.pipeline.service.rest.method import Empty, RestMethod, in_app
from turnwise.pipeline.service.service import Service
from turnwise.schemas.ces import datasets, expectations
from turnwise.schemas.proto.json import Message
from turnwise.schemas.values import JsonObject


class _Requests(Struct, frozen=True):
    """The messages of the methods of a kind of resource."""

    create: type[Message]
    get: type[Message]
    list: type[Message]
    page: type[Message]
    update: type[Message]
    delete: type[Message]


def _create(kind: ResourceKind, service: Service, request: Any) -> JsonObject:
    field = to_snake(kind.field)
    resource_id, resource = getattr(request, f"{field}_id"), getattr(request, field)
    return create_resource(kind, service, request.parent, resource_id, resource)


def _get(kind: ResourceKind, service: Service, request: Any) -> JsonObject:
    return get_resource(kind, service, request.name)


def _update(kind: ResourceKind, service: Service, request: Any) -> JsonObject:
    return update_resource(kind, service, getattr(request, to_snake(kind.field)), request.update_mask)


def _delete(kind: ResourceKind, service: Service, request: Any) -> JsonObject:
    return remove_resource(kind, service, request.name, request.etag)


def _methods(kind: ResourceKind, known: _Requests) -> tuple[RestMethod, ...]:
    field, answer = to_snake(kind.field), kind.message
    one, every = f"{kind.collection}/*", f"{in_app('parent')}/{kind.collection}"
    call = {name: partial(work, kind) for name, work in _CALLS.items()}
    return (
        RestMethod(f"list_{field}s", "GET", every, known.list, known.page, call["list"]),
        RestMethod(f"create_{field}", "POST", every, known.create, answer, call["create"], body=field),
        RestMethod(f"get_{field}", "GET", in_app("name", one), known.get, answer, call["get"]),
        RestMethod(
            f"update_{field}",
            "PATCH",
            in_app(f"{field}.name", one),
            known.update,
            answer,
            call["update"],
            body=field,
        ),
        RestMethod(f"delete_{field}", "DELETE", in_app("name", one), known.delete, Empty, call["delete"]),
    )


_CALLS = {"list": list_resources, "create": _create, "get": _get, "update": _update, "delete": _delete}

METHODS = (
    *_methods(
        DATASETS,
        _Requests(
            datasets.CreateEvaluationDatasetRequest,
            datasets.GetEvaluationDatasetRequest,
            datasets.ListEvaluationDatasetsRequest,
            datasets.ListEvaluationDatasetsResponse,
            datasets.UpdateEvaluationDatasetRequest,
            datasets.DeleteEvaluationDatasetRequest,
        ),
    ),
    *_methods(
        EXPECTATIONS,
        _Requests(
            expectations.CreateEvaluationExpectationRequest,
            expectations.GetEvaluationExpectationRequest,
            expectations.ListEvaluationExpectationsRequest,
            expectations.ListEvaluationExpectationsResponse,
            expectations.UpdateEvaluationExpectationRequest,
            expectations.DeleteEvaluationExpectationRequest,
        ),
    ),
)
