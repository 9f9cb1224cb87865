"""What an MCP tool is: function, description, messages and hints."""

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from turnwise.pipeline.service.mcp.views import View
from turnwise.pipeline.service.service import Service
from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.proto.message import Message
from turnwise.schemas.proto.schema import SchemaUse

PAGE = 20
"""Entries of a page if the caller does not say."""


class Tool(Struct, frozen=True):
    """One tool.

    Attributes:
        call: Function of the tool. Its docstring is the description for callers.
        request: Message type of the arguments.
        response: Message type of the response.
        stated: Message type of the published schema, if `request` accepts more.
        use: What the schema of the arguments is for.
        changes: Whether it changes the store.
        is_idempotent: Whether a repeated call has no further effect.
    """

    call: Callable[[Service, Any], JsonObject]
    request: type[Message]
    response: type[Message]
    stated: type[Message] | None = None
    use: SchemaUse = "request"
    changes: bool = False
    is_idempotent: bool = True

    @property
    def description(self) -> str:
        """Description for callers."""
        return " ".join((self.call.__doc__ or "").split())


def seen(page: JsonObject, key: str, view: View) -> JsonObject:
    """Returns a page with the fields that a view selects of each entry of `key`."""
    return {**page, key: [view.select(one) for one in page[key]]} if key in page else page
