"""Parses paging, order and filter of list requests."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import NamedTuple, get_args

from turnwise.pipeline.service.errors import field_errors, invalid
from turnwise.pipeline.store.conditions import Field, Sql, condition_of
from turnwise.pipeline.store.database import OrderBy, Position
from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.proto.masks import parse_filter
from turnwise.schemas.proto.scalars import shown

DEFAULT_PAGE = 50
LARGEST_PAGE = 200

_DIRECTIONS = {"name": "asc", "create_time": "desc", "update_time": "desc"}


class Paging(NamedTuple):
    """The requested part of a list.

    Attributes:
        digest: Identifies the list, so that a page token of another list is refused.
        after: The last entry of the previous page; None: start at the beginning.
        size: Number of entries.
    """

    digest: str
    after: Position | None
    size: int


def read_paging(page_size: int, page_token: str, *identity: str) -> Paging:
    """Returns the requested page.

    Args:
        page_size: 0: the default; values above the maximum are reduced to it.
        page_token: Token of the previous page; "": the first page.
        identity: All parameters that determine the list and its order.

    Raises:
        ServiceError: The size or the token is invalid.
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
        raise invalid("pageToken", "is not a token of this service")
    if found != digest:
        raise invalid("pageToken", "is of another list: keep parent, filter and orderBy the same")
    return position


def next_token(paging: Paging, end: Position | None) -> JsonObject:
    """Returns the token of the page after a position; empty after the last page."""
    if end is None:
        return {}
    text = json.dumps([paging.digest, end.nanos, end.name]).encode()
    return {"nextPageToken": urlsafe_b64encode(text).decode()}


def read_order(text: str, orders: Sequence[OrderBy] = get_args(OrderBy)) -> OrderBy:
    """Returns the requested order, by default that of the names.

    By name, entries keep their places while others are written, so that pages miss none.

    Raises:
        ServiceError: It is not supported.
    """
    name, _, direction = " ".join(text.split()).partition(" ")
    snake = {"createTime": "create_time", "updateTime": "update_time", "": "name"}.get(name, name)
    for order in orders:
        if snake == order and direction in ("", _DIRECTIONS[order]):
            return order
    known = ", ".join(f"{order} {_DIRECTIONS[order]}" for order in orders)
    raise invalid("orderBy", f"{shown(text)} is not supported; use one of {known}")


def read_filter(field: str, text: str, fields: Mapping[str, Field]) -> list[Sql]:
    """Returns the condition of a request's filter as a list, empty if it is empty; raises ServiceError."""
    with field_errors(field):
        parsed = parse_filter(text)
        return [] if parsed is None else [condition_of(parsed, fields)]
