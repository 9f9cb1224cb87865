"""`turnwise serve`: starts the server of MCP, REST and pages, and answers the requests of REST."""

import gc
import logging
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from importlib import import_module
from urllib.parse import unquote

import anyio
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from turnwise.pipeline.batch.process import calm_collector, leave_signals
from turnwise.pipeline.io.terminal import log_to_terminal
from turnwise.pipeline.service.computed_fields import COMPUTED, LAST_TEN, MAX_BYTES
from turnwise.pipeline.service.evaluations import (
    create_evaluation,
    delete_evaluation,
    get_evaluation,
    get_evaluation_result,
    list_evaluation_results,
    list_evaluations,
    update_evaluation,
)
from turnwise.pipeline.service.http import (
    AuthMiddleware,
    Health,
    Workers,
    listening,
    may_write,
    shown_url,
    web_server,
)
from turnwise.pipeline.service.mcp import mcp_server
from turnwise.pipeline.service.requests import RestMethod, has_method, in_app, read_request
from turnwise.pipeline.service.runs import Service, get_evaluation_run, list_evaluation_runs
from turnwise.pipeline.service.serve import HTTP_CODES, ServeOptions, ServiceError, Tokens, read_token_file
from turnwise.pipeline.service.web import web_routes
from turnwise.pipeline.settings.options import current_user
from turnwise.pipeline.store.database import Store, open_store
from turnwise.schemas.ces.resources import (
    CreateEvaluationRequest,
    DeleteEvaluationRequest,
    GetEvaluationResultRequest,
    ListEvaluationResultsRequest,
    ListEvaluationsRequest,
    UpdateEvaluationRequest,
)
from turnwise.schemas.ces.run import GetEvaluationRunRequest
from turnwise.schemas.ces.tools import GetEvaluationWithResults, ListEvaluationRunsRequest
from turnwise.schemas.jsonio import JsonObject, dump_json
from turnwise.transforms.criteria.base import CRITERIA

_METHODS = ("DELETE", "GET", "PATCH", "POST", "PUT")


def serve(options: ServeOptions) -> int:
    """Serves a store until the process is stopped.

    Returns:
        Exit status 0.

    Raises:
        ConfigError: The URL of the store is wrong, a criterion of a plugin cannot be used, the file of tokens
            is refused, or the address of the server is in use.
        StoreError: The store does not answer.
    """
    leave_signals()
    log_to_terminal("turnwise: %(message)s", _in_one_line)
    tokens = read_token_file(options.token_file) if options.token_file else Tokens()
    # What the first comparison would wait for; numpy.unique imports numpy.ma when it is first called.
    CRITERIA.load()
    import_module("numpy.ma")
    store = open_store(options.store, create=True, read_only=options.read_only)
    service = Service(store, current_user(), options.read_only)
    gc.collect()
    calm_collector()
    try:
        if options.stdio:
            anyio.run(_serve_stdio, service)
        else:
            _serve_http(service, options, tokens)
    finally:
        store.close()
    return 0


def _in_one_line(record: logging.LogRecord) -> bool:
    """Keeps the first line of a record: a traceback, and what a library says below, may hold a request."""
    record.msg, record.args = next(iter(record.getMessage().strip().splitlines()), ""), ()
    record.exc_info = record.exc_text = record.stack_info = None
    return True


async def _serve_stdio(service: Service) -> None:
    server = mcp_server(service, Workers())
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def _serve_http(service: Service, options: ServeOptions, tokens: Tokens) -> None:
    where = f"--host {options.host} --port {options.port}"
    with listening(options.host, options.port, where) as listener:
        url = shown_url(listener)
        print(f"turnwise: MCP at {url}/mcp, REST at {url}/v1beta, pages at {url}/ui", flush=True)
        web_server(http_app(service, options, tokens)).run(sockets=[listener])


@asynccontextmanager
async def _life(sessions: StreamableHTTPSessionManager, store: Store) -> AsyncIterator[None]:
    """Runs the sessions of a server, and closes its store before a signal ends the process."""
    async with sessions.run():
        yield
    store.close()


def http_app(service: Service, options: ServeOptions, tokens: Tokens) -> ASGIApp:
    """Returns the ASGI application: the parts of the server by their paths."""
    workers = Workers()
    sessions = StreamableHTTPSessionManager(
        mcp_server(service, workers), json_response=True, stateless=True, max_request_body_size=MAX_BYTES
    )
    routes = [
        Route("/mcp", StreamableHTTPASGIApp(sessions), methods=["POST"]),
        Route("/v1beta/{path:path}", RestApi(service, workers).answer, methods=_METHODS),
        Route("/healthz", Health(service.store).answer, methods=["GET"]),
        *web_routes(service, workers),
    ]
    unrouted = {404: answer_unrouted, 405: answer_unrouted}
    app = Starlette(
        routes=routes, lifespan=lambda _: _life(sessions, service.store), exception_handlers=unrouted
    )
    # A path with a further slash is another path.
    app.router.redirect_slashes = False
    return AuthMiddleware(app, options.host, options.allowed_hosts, tokens)


# Answers the requests of the REST interface.

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
        service = self._service.of(may_write(request))

        def work() -> JsonObject:
            return method.call(service, read_request(method, resource, query, body))

        return await self._workers.run(work, changes=method.changes)


def _path(request: Request) -> str:
    """Returns the path below `/v1beta/`; a slash that is escaped there separates no segments."""
    segments = request.scope["raw_path"].decode("ascii", "replace").split("/")[1:]
    version, *others = [unquote(_SLASH.sub("%252F", segment)) for segment in segments]
    return "/".join(others) if f"/{version}/" == _BELOW else ""


async def _read_body(request: Request, is_needed: bool) -> bytes:
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if is_needed and media_type != _JSON:
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


_EVALUATION, _EVALUATIONS = "evaluations/*", in_app("parent") + "/evaluations"


def _get_evaluation(service: Service, request: GetEvaluationWithResults) -> JsonObject:
    computed = {*COMPUTED, LAST_TEN} if request.last_ten_results else COMPUTED
    return get_evaluation(service, request.name, computed)


METHODS = (
    RestMethod(
        *("list_evaluations", "GET", _EVALUATIONS, ListEvaluationsRequest),
        call=list_evaluations,
    ),
    RestMethod(
        *("create_evaluation", "POST", _EVALUATIONS, CreateEvaluationRequest),
        call=create_evaluation,
        body="evaluation",
    ),
    RestMethod(
        *("get_evaluation", "GET", in_app("name", _EVALUATION), GetEvaluationWithResults),
        call=_get_evaluation,
    ),
    RestMethod(
        *("update_evaluation", "PATCH", in_app("evaluation.name", _EVALUATION), UpdateEvaluationRequest),
        call=lambda service, asked: update_evaluation(service, asked.evaluation, asked.update_mask or ""),
        body="evaluation",
    ),
    RestMethod(
        *("delete_evaluation", "DELETE", in_app("name", _EVALUATION), DeleteEvaluationRequest),
        call=delete_evaluation,
    ),
    RestMethod(
        *("list_evaluation_results", "GET", in_app("parent", "evaluations/*") + "/results"),
        request=ListEvaluationResultsRequest,
        call=list_evaluation_results,
    ),
    RestMethod(
        *("get_evaluation_result", "GET", in_app("name", "evaluations/*/results/*")),
        request=GetEvaluationResultRequest,
        call=lambda service, asked: get_evaluation_result(service, asked.name),
    ),
    RestMethod(
        *("list_evaluation_runs", "GET", in_app("parent") + "/evaluationRuns", ListEvaluationRunsRequest),
        call=list_evaluation_runs,
    ),
    RestMethod(
        *("get_evaluation_run", "GET", in_app("name", "evaluationRuns/*"), GetEvaluationRunRequest),
        call=lambda service, asked: get_evaluation_run(service, asked.name),
    ),
)
"""The methods that the service has."""


def find_method(verb: str, path: str) -> tuple[RestMethod, str]:
    """Returns the method of a request, and the name in its path (below `/v1beta/`).

    Raises:
        ServiceError: The API has no such method, or the service does not.
    """
    for method in METHODS:
        match = method.template[1].fullmatch(path) if method.verb == verb else None
        if match:
            return method, match[1]
    if has_method(verb, path):
        raise ServiceError("UNIMPLEMENTED", "the CES API has this method, this service does not")
    raise ServiceError("NOT_FOUND", "the service has no such method")
