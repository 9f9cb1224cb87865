"""What the REST interface must know of a method."""

import re
from collections.abc import Callable
from functools import cached_property
from typing import Any

from msgspec import Struct

from turnwise.pipeline.service.service import Service
from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.proto.message import Message

_TEMPLATE = re.compile(r"(.*)\{([\w.]+)=([^}]+)\}(.*)")


class Empty(Message):
    """The answer of methods that answer nothing."""

    PACKAGE = "google.protobuf"


class RestMethod(Struct, frozen=True, dict=True):
    """A method of the CES API: a request message in, a response message out.

    The path fills one field of the request, the body another one or all, the query the rest.

    Attributes:
        name: Its name.
        verb: HTTP method.
        path: Template in the notation of google.api.http, below `/v1beta/`.
        request: Message class of the request.
        response: Message class of the response.
        call: Answers a request.
        body: Field of the request that the body holds; "*": the body is the request; "": there is none.
    """

    name: str
    verb: str
    path: str
    request: type[Message]
    response: type[Message]
    call: Callable[[Service, Any], JsonObject]
    body: str = ""

    @property
    def changes(self) -> bool:
        """Whether it may change the store."""
        return self.verb != "GET"

    @cached_property
    def template(self) -> tuple[str, re.Pattern[str]]:
        """The field that the path fills (with a dot: inside the body's), and the pattern of paths.

        Raises:
            ValueError: The path is no template.
        """
        match = _TEMPLATE.fullmatch(self.path)
        if match is None:
            raise ValueError(f"{self.path} holds no {{field=path}}")
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
