"""Pages of a list, as requests ask for them."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from hashlib import sha256
from typing import NamedTuple, get_args

from turnwise.pipeline.service.errors import field_errors, invalid
from turnwise.pipeline.store.conditions import Field, Sql, condition_of
from turnwise.pipeline.store.pages import OrderBy, Position
from turnwise.schemas.proto.filters import parse_filter
from turnwise.schemas.proto.scalars import shown
from turnwise.schemas.values import JsonObject

DEFAULT_PAGE = 50
LARGEST_PAGE = 200

_DIRECTIONS = {"name": "asc", "create_time": "desc", "update_time": "desc"}


class Paging(NamedTuple):
    """Which part of a list is wanted.

    Attributes:
        digest: Tells the list from others, so that no page token is used for another one.
        after: The last entry of the page before; None: the beginning.
    """

    digest: str
    after: Position | None
    size: int


def read_paging(page_size: int, page_token: str, *identity: str) -> Paging:
    """Returns the page that a request asks for; raises ServiceError.

    Args:
        page_size: 0: the service decides; too large: as many as are possible.
        page_token: From the page before.
        identity: All that decides what is in the list and how it is ordered.
    """
    if page_size < 0:
        raise invalid("pageSize", "must not be negative")
    digest = sha256("\0".join(identity).encode("utf-8", "replace")).hexdigest()[:16]
    after = _read_token(page_token, digest) if page_token else None
    return Paging(digest, after, min(page_size or DEFAULT_PAGE, LARGEST_PAGE))


def _read_token(token: str, digest: str) -> Position:
    try:
        found, nanos, name = json.loads(urlsafe_b64decode(token.encode("ascii")))
        position = Position(nanos, name)
        is_ours = isinstance(name, str) and type(nanos) is int and -(2**63) <= nanos < 2**63
    except (ValueError, TypeError, RecursionError):
        is_ours = False
    if not is_ours:
        raise invalid("pageToken", "is none that this service has given")
    if found != digest:
        raise invalid("pageToken", "is of another list: keep parent, filter and orderBy the same")
    return position


def next_token(paging: Paging, end: Position | None) -> JsonObject:
    """Returns the token of the page that begins after a position; nothing after the last page."""
    if end is None:
        return {}
    text = json.dumps([paging.digest, end.nanos, end.name]).encode()
    return {"nextPageToken": urlsafe_b64encode(text).decode()}


def read_order(text: str) -> OrderBy:
    """Returns the order that a request asks for; raises ServiceError."""
    name, _, direction = " ".join(text.split()).partition(" ")
    snake = {"createTime": "create_time", "updateTime": "update_time", "": "update_time"}.get(name, name)
    for order in get_args(OrderBy):
        if snake == order and direction in ("", _DIRECTIONS[order]):
            found: OrderBy = order
            return found
    known = ", ".join(f"{order} {direction}" for order, direction in _DIRECTIONS.items())
    raise invalid("orderBy", f"{shown(text)} is not possible; there are {known}")


def read_filter(field: str, text: str, fields: Mapping[str, Field]) -> Sql | None:
    """Returns the condition of a request's filter, None without one; raises ServiceError."""
    with field_errors(field):
        parsed = parse_filter(text)
        return None if parsed is None else condition_of(parsed, fields)
