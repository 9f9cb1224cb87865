"""The subcommand `turnwise store token`: makes, lists and revokes the tokens of a server."""

import re
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING

from turnwise.pipeline.cli.store.base import StoreCommand
from turnwise.pipeline.io.terminal import printable, say
from turnwise.pipeline.store.roles import ROLES
from turnwise.schemas.config import ConfigError

if TYPE_CHECKING:
    from turnwise.pipeline.store.tokens import StoredToken

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,99}")
_DAY = 24 * 3600 * 10**9
_MOST_DAYS = 36_500


def _add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("action", choices=tuple(_ACTIONS), metavar="add|list|revoke", help="what to do")
    parser.add_argument(
        "name", nargs="?", metavar="NAME", help="name of the token's user, for add and revoke"
    )
    parser.add_argument("--role", choices=ROLES, help="what a new token permits (required)")
    parser.add_argument("--days", type=int, metavar="N", help="a new token expires after N days")


def _run(options: Namespace) -> int:
    is_list = options.action == "list"
    if is_list != (options.name is None):
        raise ConfigError(
            "token list: goes without a name" if is_list else f"token {options.action}: NAME is missing"
        )
    if options.name is not None and not _NAME.fullmatch(options.name):
        raise ConfigError(f"{printable(options.name)}: a name has at most 100 letters, digits and . _ @ + -")
    if options.action != "add" and (options.role or options.days is not None):
        raise ConfigError("--role, --days: are for token add")
    return _ACTIONS[options.action](options)


def _add(options: Namespace) -> int:
    if options.role is None:
        raise ConfigError(f"--role is missing: {', '.join(ROLES)}")
    if options.days is not None and not 1 <= options.days <= _MOST_DAYS:
        raise ConfigError(f"--days must lie between 1 and {_MOST_DAYS}, not {options.days}")
    from time import time_ns

    from turnwise.pipeline.settings.user import current_user
    from turnwise.pipeline.store.engine import ConflictError, open_store
    from turnwise.pipeline.store.tokens import add_token, new_token

    now = time_ns()
    expires = None if options.days is None else now + options.days * _DAY
    text, token = new_token(options.name, options.role, current_user(), now, expires)
    store = open_store(options.store, create=True)
    try:
        store.write(lambda connection: add_token(connection, token))
    except ConflictError:
        raise ConfigError(f"{options.name}: has a token already; revoke it first") from None
    finally:
        store.close()
    say(f"token of {options.name} ({_told(token, now)}) of {store.url}; it is shown only now:", sys.stderr)
    say(text)
    return 0


def _list(options: Namespace) -> int:
    from time import time_ns

    from turnwise.pipeline.store.engine import open_store
    from turnwise.pipeline.store.tokens import read_tokens

    store = open_store(options.store, read_only=True)
    try:
        tokens = store.read(read_tokens)
    finally:
        store.close()
    now = time_ns()
    for token in tokens:
        say(f"{token.name}: {_told(token, now)}")
    if not tokens:
        say(f"{store.url} has no tokens", sys.stderr)
    return 0


def _revoke(options: Namespace) -> int:
    from time import time_ns

    from turnwise.pipeline.store.engine import open_store
    from turnwise.pipeline.store.tokens import revoke_token

    # An older store is refused, and not upgraded.
    open_store(options.store, read_only=True).close()
    with closing(open_store(options.store)) as store:
        found = store.write(lambda connection: revoke_token(connection, options.name, time_ns()))
    if not found:
        raise ConfigError(f"{options.name}: has no token in {store.url}, or it is revoked already")
    say(f"the token of {options.name} is revoked")
    return 0


def _told(token: "StoredToken", now: int) -> str:
    """Returns role, state and times of a token."""
    parts = [token.role, f"made {_day(token.create_nanos)} by {token.created_by}"]
    if token.revoke_nanos is not None:
        parts.append(f"revoked {_day(token.revoke_nanos)}")
    elif token.expire_nanos is not None:
        parts.append(f"{'expires' if token.is_valid(now) else 'expired'} {_day(token.expire_nanos)}")
    if token.used_day:
        parts.append(f"last used {token.used_day}")
    return ", ".join(parts)


def _day(nanos: int) -> str:
    from turnwise.schemas.proto.scalars import nanos_timestamp

    return nanos_timestamp(nanos)[:10]


_ACTIONS: dict[str, Callable[[Namespace], int]] = {"add": _add, "list": _list, "revoke": _revoke}

TOKEN = StoreCommand(
    name="token",
    summary="make, list and revoke the tokens of a server",
    add_arguments=_add_arguments,
    run=_run,
    epilog="A new token is printed to standard output, and cannot be shown again. A store that has had a "
    "token answers no request without one.",
)
