"""Implements `turnwise serve`: starts the MCP and REST server."""

import gc
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module

import anyio
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import ASGIApp

from turnwise.pipeline.batch.process import calm_collector, leave_signals
from turnwise.pipeline.io.terminal import log_to_terminal
from turnwise.pipeline.service.http import AuthMiddleware
from turnwise.pipeline.service.http.health import Health
from turnwise.pipeline.service.http.listening import listening, shown_url, web_server
from turnwise.pipeline.service.http.workers import Workers
from turnwise.pipeline.service.mcp.server import mcp_server
from turnwise.pipeline.service.rest.app import RestApi, answer_unrouted
from turnwise.pipeline.service.serve import ServeOptions
from turnwise.pipeline.service.service import Service
from turnwise.pipeline.service.token import Tokens, read_token_file
from turnwise.pipeline.service.validation import MAX_BYTES
from turnwise.pipeline.service.web.app import web_routes
from turnwise.pipeline.settings.options import current_user
from turnwise.pipeline.store.database import Store, open_store
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
    _load()
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


def _load() -> None:
    """Imports what the first comparison would wait for."""
    CRITERIA.load()
    import_module("numpy.ma")  # numpy.unique imports it when it is first called


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
