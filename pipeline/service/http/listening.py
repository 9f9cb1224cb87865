"""Opens the socket of a server, and makes the server."""

import socket

import uvicorn
from starlette.types import ASGIApp

from turnwise.schemas.config import ConfigError

_SHUTDOWN_SECONDS = 5


def listening(host: str, port: int, option: str) -> socket.socket:
    """Returns a listening socket.

    Args:
        host: Name or address of this machine.
        port: 0: any free port.
        option: The options that name them; the start of the message.

    Raises:
        ConfigError: The address is in use, or is not of this machine.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With an explicit protocol, asyncio sets TCP_NODELAY; otherwise small answers wait 40 ms for an ACK.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host.strip("[]"), port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise ConfigError(f"{option}: {error.strerror or error}") from None
    return listener


def shown_url(listener: socket.socket) -> str:
    """Returns the URL of a listening socket."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def web_server(app: ASGIApp, lifespan: bool = True) -> uvicorn.Server:
    """Returns a server without a log of requests, which may be confidential.

    Args:
        app: The application.
        lifespan: Whether the application is told of start and end.
    """
    config = uvicorn.Config(
        app,
        http="h11",
        ws="none",
        lifespan="on" if lifespan else "off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
    )
    return uvicorn.Server(config)
