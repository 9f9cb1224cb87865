"""Implements `turnwise serve`: starts the MCP and REST server."""

import gc
import getpass
import socket
from functools import partial

import anyio
import uvicorn
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import ASGIApp

from turnwise.pipeline.batch.signals import leave_signals
from turnwise.pipeline.io.terminal import log_to_terminal
from turnwise.pipeline.service.arguments import ServeOptions
from turnwise.pipeline.service.http.auth import AuthMiddleware
from turnwise.pipeline.service.http.log_limit import LogRateLimit
from turnwise.pipeline.service.http.protocol import LimitedProtocol, server_limits
from turnwise.pipeline.service.http.rest import RestApi, answer_unrouted
from turnwise.pipeline.service.http.workers import Workers
from turnwise.pipeline.service.mcp.server import mcp_server
from turnwise.pipeline.service.service import Service
from turnwise.pipeline.service.validation import MAX_BYTES
from turnwise.pipeline.store.engine import open_store
from turnwise.schemas.config import ConfigError

_SHUTDOWN_SECONDS = 5
_METHODS = ("DELETE", "GET", "PATCH", "POST", "PUT")


def serve(options: ServeOptions) -> int:
    """Serves a store until the process is stopped.

    Returns:
        Exit status 0.

    Raises:
        ConfigError: The URL of the store is wrong, or the address of the server is in use.
        StoreError: The store does not answer.
    """
    leave_signals()
    # URLs and bodies of requests are not logged, because they may be confidential.
    log_to_terminal("turnwise: %(message)s", LogRateLimit())
    store = open_store(options.store, create=True, read_only=options.read_only)
    service = Service(store, _user(), options.read_only)
    # Loaded modules exist until the end: to scan them in every collection would delay answers.
    gc.collect()
    gc.freeze()
    try:
        if options.stdio:
            anyio.run(_serve_stdio, service)
        else:
            _serve_http(service, options)
    finally:
        store.close()
    return 0


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"


async def _serve_stdio(service: Service) -> None:
    server = mcp_server(service, Workers())
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def _serve_http(service: Service, options: ServeOptions) -> None:
    with _listening(options.host, options.port) as listener:
        host, port = listener.getsockname()[:2]
        shown = f"[{host}]" if ":" in host else host
        print(f"turnwise: MCP at http://{shown}:{port}/mcp, REST at http://{shown}:{port}/v1beta", flush=True)
        limits = server_limits()
        config = uvicorn.Config(
            http_app(service, options),
            http=partial(LimitedProtocol, limits=limits),  # type: ignore[arg-type]
            backlog=max(1, limits.connections // 4),
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
        )
        uvicorn.Server(config).run(sockets=[listener])


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With an explicit protocol, asyncio sets TCP_NODELAY; otherwise small answers wait 40 ms for an ACK.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host.strip("[]"), port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise ConfigError(f"--host {host} --port {port}: {error.strerror or error}") from None
    return listener


def http_app(service: Service, options: ServeOptions) -> ASGIApp:
    """Returns the ASGI application with MCP at `/mcp` and REST below `/v1beta`."""
    workers = Workers()
    sessions = StreamableHTTPSessionManager(
        mcp_server(service, workers), json_response=True, stateless=True, max_request_body_size=MAX_BYTES
    )
    routes = [
        Route("/mcp", StreamableHTTPASGIApp(sessions), methods=["POST"]),
        Route("/v1beta/{path:path}", RestApi(service, workers).answer, methods=_METHODS),
    ]
    unrouted = {404: answer_unrouted, 405: answer_unrouted}
    app = Starlette(routes=routes, lifespan=lambda _: sessions.run(), exception_handlers=unrouted)
    return AuthMiddleware(app, options.host, options.allowed_hosts, options.token)
