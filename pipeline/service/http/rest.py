"""The REST interface: the supported methods of the CES API v1beta."""

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeVar

from pydantic.alias_generators import to_camel
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from turnwise.pipeline.service.changes import create_evaluation, update_evaluation
from turnwise.pipeline.service.computed_fields import COMPUTED, LAST_TEN
from turnwise.pipeline.service.errors import HTTP_CODES, ServiceError, invalid, message_error
from turnwise.pipeline.service.evaluations import get_evaluation, list_evaluations
from turnwise.pipeline.service.http.api_methods import has_method
from turnwise.pipeline.service.http.workers import Workers
from turnwise.pipeline.service.results import get_evaluation_result, list_evaluation_results
from turnwise.pipeline.service.runs import (
    delete_evaluation_run,
    get_evaluation_run,
    list_evaluation_runs,
)
from turnwise.pipeline.service.service import Service
from turnwise.pipeline.service.validation import MAX_BYTES, check_lists
from turnwise.schemas.ces.cases import Evaluation
from turnwise.schemas.ces.requests import (
    CreateEvaluationRequest,
    ListEvaluationResultsRequest,
    ListEvaluationsRequest,
)
from turnwise.schemas.ces.run_tools import ListEvaluationRunsRequest
from turnwise.schemas.jsonio import dump_json
from turnwise.schemas.proto.json import Message, WireError
from turnwise.schemas.values import JsonObject

M = TypeVar("M", bound=Message)

QueryParameters = Mapping[str, str]
Handler = Callable[[Service, str, QueryParameters, bytes], JsonObject]

_SYSTEM_PARAMETERS = re.compile(r"\$?(alt|prettyPrint|userProject|xgafv)")
_BELOW = "/v1beta/"
_UNROUTED = {405: "UNIMPLEMENTED"}
_FLAGS = {"true": True, "false": False}
_HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


def _only(query: QueryParameters, *known: str) -> JsonObject:
    """Returns the parameters of a query by their JSON names; raises ServiceError for others."""
    found: JsonObject = {}
    for key, text in query.items():
        name = to_camel(key) if "_" in key else key
        if _SYSTEM_PARAMETERS.fullmatch(key):
            continue
        if name not in known or name in found:
            raise invalid(key, "unknown parameter" if name not in known else "is given twice")
        found[name] = text
    return found


def _listing(kind: type[M], query: QueryParameters, parent: str) -> M:
    names = [name for field in kind.model_fields if (name := to_camel(field)) != "parent"]
    value = _only(query, *names)
    if LAST_TEN in value:
        value[LAST_TEN] = _flag(value[LAST_TEN])
    return _message(kind, {**value, "parent": parent})


def _flag(text: str) -> bool:
    if text not in _FLAGS:
        raise invalid(LAST_TEN, "must be true or false")
    return _FLAGS[text]


def _message(kind: type[M], value: JsonObject) -> M:
    try:
        return kind.from_value(value)
    except WireError as error:
        raise message_error(error) from None


def _body(body: bytes) -> Evaluation:
    check_lists(body)
    try:
        return Evaluation.from_json(body)
    except WireError as error:
        raise message_error(error, "evaluation") from None


def _get_evaluation(service: Service, name: str, query: QueryParameters, body: bytes) -> JsonObject:
    wants_ten = _flag(_only(query, LAST_TEN).get(LAST_TEN, "false"))
    return get_evaluation(service, name, {*COMPUTED, LAST_TEN} if wants_ten else COMPUTED)


def _list_evaluations(service: Service, name: str, query: QueryParameters, body: bytes) -> JsonObject:
    return list_evaluations(service, _listing(ListEvaluationsRequest, query, name))


def _create_evaluation(service: Service, name: str, query: QueryParameters, body: bytes) -> JsonObject:
    value = {**_only(query, "evaluationId"), "parent": name}
    request = _message(CreateEvaluationRequest, value)
    request.evaluation = _body(body)
    return create_evaluation(service, request)


def _update_evaluation(service: Service, name: str, query: QueryParameters, body: bytes) -> JsonObject:
    mask = _only(query, "updateMask").get("updateMask", "")
    evaluation = _body(body)
    if evaluation.name not in ("", name):
        raise invalid("evaluation.name", "is another one than in the path")
    evaluation.name = name
    return update_evaluation(service, evaluation, mask)


def _get_result(service: Service, name: str, query: QueryParameters, body: bytes) -> JsonObject:
    _only(query)
    return get_evaluation_result(service, name)


def _list_results(service: Service, name: str, query: QueryParameters, body: bytes) -> JsonObject:
    return list_evaluation_results(service, _listing(ListEvaluationResultsRequest, query, name))


def _list_runs(service: Service, name: str, query: QueryParameters, body: bytes) -> JsonObject:
    return list_evaluation_runs(service, _listing(ListEvaluationRunsRequest, query, name))


def _get_run(service: Service, name: str, query: QueryParameters, body: bytes) -> JsonObject:
    _only(query)
    return get_evaluation_run(service, name)


def _delete_run(service: Service, name: str, query: QueryParameters, body: bytes) -> JsonObject:
    _only(query)
    return delete_evaluation_run(service, name)


_APP = "projects/[^/]+/locations/[^/]+/apps/[^/]+"
_ROUTES: list[tuple[re.Pattern[str], dict[str, Handler]]] = [
    (re.compile(rf"({_APP})/evaluations"), {"GET": _list_evaluations, "POST": _create_evaluation}),
    (re.compile(rf"({_APP}/evaluations/[^/]+)"), {"GET": _get_evaluation, "PATCH": _update_evaluation}),
    (re.compile(rf"({_APP}/evaluations/[^/]+)/results"), {"GET": _list_results}),
    (re.compile(rf"({_APP}/evaluations/[^/]+/results/[^/]+)"), {"GET": _get_result}),
    (re.compile(rf"({_APP})/evaluationRuns"), {"GET": _list_runs}),
    (re.compile(rf"({_APP}/evaluationRuns/[^/]+)"), {"GET": _get_run, "DELETE": _delete_run}),
]


def _response(value: JsonObject, code: int, headers: Mapping[str, str] | None = None) -> Response:
    return Response(dump_json(value), code, {**_HEADERS, **(headers or {})}, "application/json")


async def answer_unrouted(request: Request, error: Exception) -> Response:
    """Answers a request with an unknown path or method."""
    code, headers = (error.status_code, error.headers) if isinstance(error, HTTPException) else (404, None)
    if code == 405 and request.url.path.startswith(_BELOW):
        code, headers = 404, None  # as for every method that a resource of the API does not have
    value = ServiceError(_UNROUTED.get(code, "NOT_FOUND"), "the service has no such method").to_value()
    value["error"]["code"] = code
    return _response(value, code, headers)


class RestApi:
    """Handles the requests below `/v1beta/`."""

    def __init__(self, service: Service, workers: Workers) -> None:
        self._service, self._workers = service, workers

    async def answer(self, request: Request) -> Response:
        """Handles one request."""
        try:
            value = await self._answer(request)
        except ServiceError as error:
            return _response(error.to_value(), HTTP_CODES[error.status])
        return _response(value, 200)

    async def _answer(self, request: Request) -> JsonObject:
        handler, name = _route(request.method, request.path_params["path"])
        query = dict(request.query_params)
        if len(query) != len(request.query_params.multi_items()):
            raise ServiceError("INVALID_ARGUMENT", "a parameter is given twice")
        changes = request.method in ("PATCH", "POST")
        body = await _read_body(request) if changes else b""
        work = partial(handler, self._service, name, query, body)
        return await self._workers.run(work, f"rest.{handler.__name__.strip('_')}", changes=changes)


def _route(method: str, path: str) -> tuple[Handler, str]:
    for pattern, handlers in _ROUTES:
        match = pattern.fullmatch(path)
        if match and method in handlers:
            return handlers[method], match[1]
    if has_method(method, path):
        raise ServiceError("UNIMPLEMENTED", "the CES API has this method, this service does not")
    raise ServiceError("NOT_FOUND", "the service has no such method")


async def _read_body(request: Request) -> bytes:
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise ServiceError("INVALID_ARGUMENT", "the Content-Type must be application/json")
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > MAX_BYTES:
                raise ServiceError(
                    "INVALID_ARGUMENT", f"the body is larger than {MAX_BYTES // 1024 // 1024} MiB"
                )
    except ClientDisconnect:
        raise ServiceError("INVALID_ARGUMENT", "the body is incomplete") from None
    return bytes(body)
