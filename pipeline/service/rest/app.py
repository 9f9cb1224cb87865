"""Answers the requests of the REST interface."""

import re
from collections.abc import Mapping
from functools import partial
from urllib.parse import unquote

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from turnwise.pipeline.service.errors import HTTP_CODES, ServiceError
from turnwise.pipeline.service.http import may_write
from turnwise.pipeline.service.http.workers import Workers
from turnwise.pipeline.service.requests import read_request
from turnwise.pipeline.service.rest.method import RestMethod
from turnwise.pipeline.service.rest.table import find_method
from turnwise.pipeline.service.service import Service
from turnwise.pipeline.service.validation import MAX_BYTES
from turnwise.schemas.jsonio import JsonObject, dump_json

_BELOW = "/v1beta/"
_JSON = "application/json"
_SLASH = re.compile("%2F", re.IGNORECASE)
_ALT = ("json", "json;enum-encoding=int")
"""What Google's clients ask for as `$alt`. They read names of enum values as well as numbers."""
_UNROUTED = {405: "UNIMPLEMENTED"}
_HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


def _response(value: JsonObject, code: int, headers: Mapping[str, str] | None = None) -> Response:
    return Response(dump_json(value), code, {**_HEADERS, **(headers or {})}, _JSON)


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
        """Handles one request; HEAD as GET, and the server leaves out the body."""
        try:
            return _response(await self._answer(request), 200)
        except ServiceError as error:
            return _response(error.to_value(), HTTP_CODES[error.status])

    async def _answer(self, request: Request) -> JsonObject:
        verb = "GET" if request.method == "HEAD" else request.method
        method, resource = find_method(verb, _path(request))
        query = dict(request.query_params)
        if len(query) != len(request.query_params.multi_items()):
            raise ServiceError("INVALID_ARGUMENT", "a parameter is given twice")
        if query.get("$alt") in _ALT:
            del query["$alt"]
        body = await _read_body(request, bool(method.body))
        work = partial(_called, method, self._service.of(may_write(request)), resource, query, body)
        return await self._workers.run(work, changes=method.changes)


def _path(request: Request) -> str:
    """Returns the path below `/v1beta/`; a slash that is escaped there separates no segments."""
    segments = request.scope["raw_path"].decode("ascii", "replace").split("/")[1:]
    version, *others = [unquote(_SLASH.sub("%252F", segment)) for segment in segments]
    return "/".join(others) if f"/{version}/" == _BELOW else ""


def _called(
    method: RestMethod, service: Service, resource: str, query: Mapping[str, str], body: bytes
) -> JsonObject:
    return method.call(service, read_request(method, resource, query, body))


async def _read_body(request: Request, is_needed: bool) -> bytes:
    if is_needed and _media_type(request) != _JSON:
        raise ServiceError("INVALID_ARGUMENT", f"the Content-Type must be {_JSON}")
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
    if body and not is_needed:
        raise ServiceError("INVALID_ARGUMENT", "the method takes no body")
    return bytes(body)


def _media_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()
