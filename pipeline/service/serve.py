"""Defines the options of `turnwise serve`. Does not import the server, so that help is fast."""

import argparse
import os
from collections.abc import Mapping, Sequence

from msgspec import Struct

from turnwise.pipeline.service.token import TOKEN
from turnwise.pipeline.settings.options import OptionParser
from turnwise.pipeline.store.urls import is_loopback
from turnwise.schemas.config import ConfigError
from turnwise.schemas.jsonio import is_store_url, shown_url


class ServeOptions(Struct, frozen=True):
    """The options of the server.

    Attributes:
        store: URL of the store.
        allowed_hosts: Host names of the server, beside its address.
        token_file: Path of the file with the tokens that requests over HTTP need; None: they need none.
    """

    store: str
    stdio: bool = False
    host: str = "127.0.0.1"
    port: int = 8000
    allowed_hosts: tuple[str, ...] = ()
    read_only: bool = False
    token_file: str | None = None


def add_serve_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options to a parser."""
    parser.add_argument(
        "--store",
        metavar="URL",
        help="sqlite:///FILE (created if it does not exist) or postgresql://... (required)",
    )
    parser.add_argument(
        "--stdio", action="store_true", help="serve MCP over standard input and output instead of HTTP"
    )
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="address to listen on (default: 127.0.0.1); other than loopback requires --token_file",
    )
    parser.add_argument(
        "--port", type=int, default=8000, metavar="N", help="port (default: 8000); 0: any free port"
    )
    parser.add_argument(
        "--allowed_hosts",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME",
        help="host names accepted in the Host and Origin headers, beside the address",
    )
    parser.add_argument(
        "--token_file",
        metavar="FILE",
        help='tokens that requests need: {"write": "...", "read": "..."}, or one of the two',
    )
    parser.add_argument("--read_only", action="store_true", help="refuse every change")


def parse_serve_options(
    argv: Sequence[str], environment: Mapping[str, str] = os.environ
) -> ServeOptions | None:
    """Parses the command line; returns None after printing help.

    Raises:
        ConfigError: An option is wrong or missing.
    """
    parser = OptionParser(
        prog="turnwise serve",
        description="Serves a store over MCP (/mcp) and REST (/v1beta), or over MCP on stdio.",
        allow_abbrev=False,
    )
    add_serve_arguments(parser)
    if "-h" in argv or "--help" in argv:
        parser.print_help()
        return None
    given = vars(parser.parse_args(list(argv)))
    names = tuple(given.pop("allowed_hosts"))
    if environment.get(TOKEN) and not given["token_file"] and not given["stdio"]:
        raise ConfigError(f"{TOKEN} is set, which turnwise serve does not read: name a --token_file")
    return _checked(ServeOptions(**given, allowed_hosts=names))


def _checked(options: ServeOptions) -> ServeOptions:
    if not options.store:
        raise ConfigError("--store is missing: name a store (sqlite:///FILE, postgresql://...)")
    if not is_store_url(options.store):
        shown = shown_url(options.store)
        raise ConfigError(f"--store {shown}: is no URL of a store (sqlite:///FILE, postgresql://...)")
    if not 0 <= options.port < 65_536:
        raise ConfigError(f"--port must lie between 0 and 65535, not {options.port}")
    if not (options.stdio or options.token_file or is_loopback(options.host)):
        raise ConfigError(f"--host {options.host}: other machines can reach it: name a --token_file")
    return options
