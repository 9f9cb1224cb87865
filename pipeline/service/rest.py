"""`turnwise serve`: starts the server of MCP, REST and pages, and reads and answers the requests of REST."""

import gc
import getpass
import logging
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import cached_property, partial
from importlib import import_module
from typing import Any
from urllib.parse import unquote

import anyio
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from msgspec import Struct
from pydantic.alias_generators import to_camel
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from turnwise.pipeline.batch.process import calm_collector, leave_signals
from turnwise.pipeline.io.terminal import log_to_terminal
from turnwise.pipeline.service import evaluations, http
from turnwise.pipeline.service.computed_fields import MAX_BYTES, check_lists
from turnwise.pipeline.service.mcp import mcp_server
from turnwise.pipeline.service.runs import Service, get_evaluation_run, list_evaluation_runs
from turnwise.pipeline.service.serve import (
    HTTP_CODES,
    ServeOptions,
    ServiceError,
    Tokens,
    invalid,
    message_error,
    read_token_file,
)
from turnwise.pipeline.service.web import web_routes
from turnwise.pipeline.store.database import Store, open_store
from turnwise.schemas.ces import tools
from turnwise.schemas.jsonio import JsonObject, dump_json
from turnwise.schemas.proto.masks import mask_fields
from turnwise.schemas.proto.message import Message, WireError
from turnwise.transforms.criteria.base import CRITERIA

_VERBS = ("DELETE", "GET", "PATCH", "POST", "PUT")


def serve(options: ServeOptions) -> int:
    """Serves a store until the process is stopped; returns 0. Raises ConfigError or StoreError."""
    leave_signals()
    log_to_terminal("turnwise: %(message)s", _in_one_line)
    tokens = read_token_file(options.token_file) if options.token_file else Tokens()
    # What the first comparison would wait for; numpy.unique imports numpy.ma when it is first called.
    CRITERIA.load()
    import_module("numpy.ma")
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # the system knows no name
        user = "unknown"
    store = open_store(options.store, create=True, read_only=options.read_only)
    service = Service(store, user, options.read_only)
    gc.collect()
    calm_collector()
    try:
        if options.stdio:
            anyio.run(_serve_stdio, service)
        else:
            where = f"--host {options.host} --port {options.port}"
            with http.listening(options.host, options.port, where) as listener:
                url = http.shown_url(listener)
                print(f"turnwise: MCP at {url}/mcp, REST at {url}/v1beta, pages at {url}/ui", flush=True)
                http.web_server(http_app(service, options, tokens)).run(sockets=[listener])
    finally:
        store.close()
    return 0


def _in_one_line(record: logging.LogRecord) -> bool:
    """Keeps the first line of a record: a traceback, and what a library says below, may hold a request."""
    record.msg, record.args = next(iter(record.getMessage().strip().splitlines()), ""), ()
    record.exc_info = record.exc_text = record.stack_info = None
    return True


async def _serve_stdio(service: Service) -> None:
    server = mcp_server(service, http.Workers())
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


@asynccontextmanager
async def _life(sessions: StreamableHTTPSessionManager, store: Store) -> AsyncIterator[None]:
    """Runs the sessions of a server, and closes its store before a signal ends the process."""
    async with sessions.run():
        yield
    store.close()


def http_app(service: Service, options: ServeOptions, tokens: Tokens) -> ASGIApp:
    """Returns the ASGI application: the parts of the server by their paths."""
    workers = http.Workers()
    sessions = StreamableHTTPSessionManager(
        mcp_server(service, workers), json_response=True, stateless=True, max_request_body_size=MAX_BYTES
    )
    routes = [
        Route("/mcp", StreamableHTTPASGIApp(sessions), methods=["POST"]),
        Route("/v1beta/{path:path}", partial(_answer, service, workers), methods=_VERBS),
        Route("/healthz", http.health_of(service.store), methods=["GET"]),
        *web_routes(service, workers),
    ]
    unrouted = {404: answer_unrouted, 405: answer_unrouted}
    app = Starlette(
        routes=routes, lifespan=lambda _: _life(sessions, service.store), exception_handlers=unrouted
    )
    # A path with a further slash is another path.
    app.router.redirect_slashes = False
    return http.AuthMiddleware(app, options.host, options.allowed_hosts, tokens)


# Answers the requests of the REST interface.

_BELOW = "/v1beta/"
_JSON = "application/json"
_SLASH = re.compile("%2F", re.IGNORECASE)
_ALT = ("json", "json;enum-encoding=int")
"""What Google's clients ask for as `$alt`. They read names of enum values as well as numbers."""
_HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


def _response(value: JsonObject, code: int, headers: Mapping[str, str] | None = None) -> Response:
    return Response(dump_json(value), code, {**_HEADERS, **(headers or {})}, _JSON)


async def answer_unrouted(request: Request, error: Exception) -> Response:
    """Answers a request with an unknown path or method."""
    code, headers = (error.status_code, error.headers) if isinstance(error, HTTPException) else (404, None)
    if code == 405 and request.url.path.startswith(_BELOW):
        code, headers = 404, None  # as for every method that a resource of the API does not have
    status = "UNIMPLEMENTED" if code == 405 else "NOT_FOUND"
    value = ServiceError(status, "the service has no such method").to_value()
    value["error"]["code"] = code
    return _response(value, code, headers)


async def _answer(service: Service, workers: http.Workers, request: Request) -> Response:
    """Answers a request below `/v1beta/`; HEAD as GET, and the server leaves out the body."""
    try:
        verb = "GET" if request.method == "HEAD" else request.method
        segments = request.scope["raw_path"].decode("ascii", "replace").split("/")[1:]
        version, *others = [unquote(_SLASH.sub("%252F", segment)) for segment in segments]
        method, resource = find_method(verb, ("/".join(others) if f"/{version}/" == _BELOW else ""))
        query = dict(request.query_params)
        if len(query) != len(request.query_params.multi_items()):
            raise ServiceError("INVALID_ARGUMENT", "a parameter is given twice")
        if query.get("$alt") in _ALT:
            del query["$alt"]
        body = await _read_body(request, bool(method.body))
        permitted = service.of(http.may_write(request))

        def work() -> JsonObject:
            return method.call(permitted, read_request(method, resource, query, body))

        return _response(await workers.run(work, changes=verb != "GET"), 200)
    except ServiceError as error:
        return _response(error.to_value(), HTTP_CODES[error.status])


async def _read_body(request: Request, is_needed: bool) -> bytes:
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if is_needed and media_type != _JSON:
        raise ServiceError("INVALID_ARGUMENT", f"the Content-Type must be {_JSON}")
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > MAX_BYTES:
                size = f"{MAX_BYTES // 1024 // 1024} MiB"
                raise ServiceError("INVALID_ARGUMENT", f"the body is larger than {size}")
    except ClientDisconnect:
        raise ServiceError("INVALID_ARGUMENT", "the body is incomplete") from None
    if body and not is_needed:
        raise ServiceError("INVALID_ARGUMENT", "the method takes no body")
    return bytes(body)


# What the REST interface must know of a method.

_TEMPLATE = re.compile(r"(.*)\{([\w.]+)=([^}]+)\}(.*)")


class RestMethod(Struct, frozen=True, dict=True):
    """A method of the CES API.

    The path fills one field of the request, the body another one or all, the query the rest.

    Attributes:
        path: Template in the notation of google.api.http, below `/v1beta/`.
        body: Field of the request that the body holds; "*": the body is the request; "": there is none.
    """

    verb: str
    path: str
    request: type[Message]
    call: Callable[[Service, Any], JsonObject]
    body: str = ""

    @cached_property
    def template(self) -> tuple[str, re.Pattern[str]]:
        """The field of the path (with a dot: inside the body's), and its pattern."""
        match = _TEMPLATE.fullmatch(self.path)
        assert match is not None
        before, field, resource, after = match.groups()
        return field, re.compile(f"{re.escape(before)}({path_pattern(resource)}){re.escape(after)}")


def in_app(field: str, resource: str = "") -> str:
    """Returns the template of a resource of an app (by default, of the app), whose name fills a field."""
    return f"{{{field}=projects/*/locations/*/apps/*/{resource}}}".replace("/}", "}")


def path_pattern(path: str) -> str:
    """Returns the pattern of a path in which a star stands for a segment."""
    # Only a project id may contain a colon.
    project, *others = map(re.escape, path.split("*"))
    return "[^/]+".join((project, "[^/:]+".join(others)))


def read_request(method: RestMethod, resource: str, query: Mapping[str, str], body: bytes) -> Message:
    """Returns the request of a method; raises ServiceError for an unknown parameter or an invalid value."""
    outer, _, inner = method.template[0].partition(".")
    others = {} if method.body == "*" else method.request.model_fields
    kinds = {to_camel(f): info.annotation for f, info in others.items() if f not in (outer, method.body)}
    fields: JsonObject = {}
    for key, text in query.items():
        name = _camel(key)
        if name not in kinds or name in fields:
            raise invalid(key, "unknown parameter" if name not in kinds else "is given twice")
        fields[name] = text
        if name == "updateMask":
            # In a query, paths may have either spelling.
            fields[name] = ",".join(".".join(map(_camel, path.split("."))) for path in text.split(","))
        elif kinds[name] is bool:
            if text not in ("true", "false"):
                raise invalid(name, "must be true or false")
            fields[name] = text == "true"
    check_lists(body)
    try:
        request = method.request.from_json(body) if method.body == "*" else method.request.from_value(fields)
    except WireError as error:
        raise message_error(error) from None
    if method.body not in ("", "*"):
        kind = mask_fields(method.request)[method.body].message
        assert kind is not None
        try:
            setattr(request, method.body, kind.from_json(body))
        except WireError as error:
            raise message_error(error, to_camel(method.body)) from None
    holder = getattr(request, outer) if inner else request
    field = inner or outer
    if getattr(holder, field) not in ("", resource):
        path = ".".join(map(to_camel, method.template[0].split(".")))
        raise invalid(path, "is another one than in the path")
    setattr(holder, field, resource)
    return request


def _camel(segment: str) -> str:
    return to_camel(segment) if "_" in segment else segment


# Lists the methods of the CES API v1beta, by the HTTP rules of its services.

_PLACE = "projects/*/locations/*"
_APP = f"{_PLACE}/apps/*"
_LISTED, _CHANGED = "GET POST", "DELETE GET PATCH"
_COLLECTIONS = {
    (_LISTED, _CHANGED): "agents deployments evaluationDatasets evaluationExpectations evaluations examples "
    "guardrails scheduledEvaluationRuns tools toolsets",
    ("GET", "GET"): "changelogs",
    ("GET", "DELETE GET"): "conversations evaluationRuns evaluations/*/results",
    (_LISTED, "DELETE GET"): "versions",
}
"""Methods of a collection of an app, and those of one resource in it -> such collections."""
_ACTIONS = (
    ":executeTool :exportApp :generateAppResource :importEvaluations :retrieveToolSchema :runEvaluation "
    ":testPersonaVoice /conversations/*:generateEvaluation /conversations:batchDelete /evaluationRuns:export "
    "/evaluations:export /evaluations/*:uploadEvaluationAudio /evaluations/*/results:export "
    "/evaluations/*/results/*:runEvaluationResultMetrics /sessions/*:generateChatToken "
    "/sessions/*:runSession /sessions/*:streamRunSession /toolsets/*:retrieveTools /versions/*:restore"
)
"""Custom methods of an app and its resources (POST)."""
_METHODS = {
    "projects/*/locations": "GET",
    _PLACE: "GET",
    f"{_PLACE}/apps": _LISTED,
    _APP: _CHANGED,
    f"{_PLACE}/apps:importApp": "POST",
    f"{_PLACE}/operations": "GET",
    f"{_PLACE}/operations/*": "DELETE GET",
    f"{_PLACE}/operations/*:cancel": "POST",
    f"{_PLACE}/securitySettings": "GET PATCH",
    **{
        f"{_APP}/{name}{end}": verbs
        for both, names in _COLLECTIONS.items()
        for name in names.split()
        for end, verbs in zip(("", "/*"), both, strict=True)
    },
    **{f"{_APP}{action}": "POST" for action in _ACTIONS.split()},
}
_PATTERNS = [(re.compile(path_pattern(path)), verbs.split()) for path, verbs in _METHODS.items()]


def has_method(verb: str, path: str) -> bool:
    """Returns whether the API has a method at a path (below `/v1beta/`)."""
    return any(verb in verbs and pattern.fullmatch(path) for pattern, verbs in _PATTERNS)


_EVALUATIONS = in_app("parent") + "/evaluations"
_EVALUATION, _RESULT = in_app("name", "evaluations/*"), in_app("name", "evaluations/*/results/*")
METHODS = (
    RestMethod("GET", _EVALUATIONS, tools.ListEvaluationsRequest, evaluations.list_evaluations),
    RestMethod(
        "POST", _EVALUATIONS, tools.CreateEvaluationRequest, evaluations.create_evaluation, "evaluation"
    ),
    RestMethod("GET", _EVALUATION, tools.GetEvaluationWithResults, evaluations.get_evaluation),
    RestMethod(
        *("PATCH", in_app("evaluation.name", "evaluations/*"), tools.UpdateEvaluationRequest),
        *(evaluations.update_evaluation, "evaluation"),
    ),
    RestMethod("DELETE", _EVALUATION, tools.DeleteEvaluationRequest, evaluations.delete_evaluation),
    RestMethod(
        *("GET", in_app("parent", "evaluations/*") + "/results"),
        *(tools.ListEvaluationResultsRequest, evaluations.list_evaluation_results),
    ),
    RestMethod("GET", _RESULT, tools.GetEvaluationResultRequest, evaluations.get_evaluation_result),
    RestMethod(
        "GET", in_app("parent") + "/evaluationRuns", tools.ListEvaluationRunsRequest, list_evaluation_runs
    ),
    RestMethod("GET", in_app("name", "evaluationRuns/*"), tools.GetEvaluationRunRequest, get_evaluation_run),
)
"""The methods that the service has."""


def find_method(verb: str, path: str) -> tuple[RestMethod, str]:
    """Returns the method of a request, and the name in its path; raises ServiceError if there is none."""
    for method in METHODS:
        match = method.template[1].fullmatch(path) if method.verb == verb else None
        if match:
            return method, match[1]
    if has_method(verb, path):
        raise ServiceError("UNIMPLEMENTED", "the CES API has this method, this service does not")
    raise ServiceError("NOT_FOUND", "the service has no such method")
