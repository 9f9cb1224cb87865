"""Answers the requests of the REST interface."""

from collections.abc import Mapping
from functools import partial

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from turnwise.pipeline.service.errors import HTTP_CODES, ServiceError
from turnwise.pipeline.service.http.auth import request_user
from turnwise.pipeline.service.http.workers import Workers
from turnwise.pipeline.service.rest.method import RestMethod
from turnwise.pipeline.service.rest.requests import read_request
from turnwise.pipeline.service.rest.system_parameters import without_system_parameters
from turnwise.pipeline.service.rest.table import find_method
from turnwise.pipeline.service.service import Service
from turnwise.pipeline.service.validation import MAX_BYTES
from turnwise.schemas.jsonio import dump_json
from turnwise.schemas.values import JsonObject

_BELOW = "/v1beta/"
_UNROUTED = {405: "UNIMPLEMENTED"}
_HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


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
        method, resource = find_method(request.method, request.path_params["path"])
        query = dict(request.query_params)
        if len(query) != len(request.query_params.multi_items()):
            raise ServiceError("INVALID_ARGUMENT", "a parameter is given twice")
        own = without_system_parameters(query)
        body = await _read_body(request) if method.body else b""
        work = partial(_called, method, self._service.of(request_user(request)), resource, own, body)
        return await self._workers.run(work, f"rest.{method.name}", changes=method.changes)


def _called(
    method: RestMethod, service: Service, resource: str, query: Mapping[str, str], body: bytes
) -> JsonObject:
    return method.call(service, read_request(method, resource, query, body))


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
