"""Builds the request message of a method from a path, a query and a body."""

import re
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from msgspec import Struct
from pydantic.alias_generators import to_camel

from turnwise.pipeline.service.computed_fields import check_lists
from turnwise.pipeline.service.runs import Service
from turnwise.pipeline.service.serve import invalid, message_error
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.schemas.proto.masks import mask_fields
from turnwise.schemas.proto.message import Message, WireError

# What the REST interface must know of a method.

_TEMPLATE = re.compile(r"(.*)\{([\w.]+)=([^}]+)\}(.*)")


class RestMethod(Struct, frozen=True, dict=True):
    """A method of the CES API.

    The path fills one field of the request, the body another one or all, the query the rest.

    Attributes:
        name: Its name.
        verb: HTTP method.
        path: Template in the notation of google.api.http, below `/v1beta/`.
        request: Message class of the request.
        call: Answers a request.
        body: Field of the request that the body holds; "*": the body is the request; "": there is none.
    """

    name: str
    verb: str
    path: str
    request: type[Message]
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


_FLAGS: Mapping[str, JsonValue] = {"true": True, "false": False}


def read_request(method: RestMethod, resource: str, query: Mapping[str, str], body: bytes) -> Message:
    """Returns the request of a method.

    Raises:
        ServiceError: A parameter is unknown, or a value is invalid.
    """
    place, _, inner = method.template[0].partition(".")
    others = {} if method.body == "*" else method.request.model_fields
    kinds = {to_camel(f): info.annotation for f, info in others.items() if f not in (place, method.body)}
    value = _query_value(query, kinds)
    check_lists(body)
    try:
        request = method.request.from_json(body) if method.body == "*" else method.request.from_value(value)
    except WireError as error:
        raise message_error(error) from None
    if method.body not in ("", "*"):
        setattr(request, method.body, _inner_message(method, body))
    _name(getattr(request, place) if inner else request, inner or place, resource, method.template[0])
    return request


def _query_value(query: Mapping[str, str], kinds: Mapping[str, Any]) -> JsonObject:
    found: JsonObject = {}
    for key, text in query.items():
        name = to_camel(key) if "_" in key else key
        if name not in kinds or name in found:
            raise invalid(key, "unknown parameter" if name not in kinds else "is given twice")
        found[name] = _query_field(name, text, kinds[name])
    return found


def _query_field(name: str, text: str, kind: Any) -> JsonValue:
    if name == "updateMask":
        # In a query, paths may have either spelling.
        return ",".join(".".join(map(_camel, path.split("."))) for path in text.split(","))
    if kind is not bool:
        return text
    if text not in _FLAGS:
        raise invalid(name, "must be true or false")
    return _FLAGS[text]


def _camel(segment: str) -> str:
    return to_camel(segment) if "_" in segment else segment


def _inner_message(method: RestMethod, body: bytes) -> Message:
    kind = mask_fields(method.request)[method.body].message
    if kind is None:
        raise TypeError(f"{method.name}: {method.body} is no message")
    try:
        return kind.from_json(body)
    except WireError as error:
        raise message_error(error, to_camel(method.body)) from None


def _name(holder: Message, field: str, resource: str, path: str) -> None:
    """Puts the name of the path into its field; raises ServiceError if the body has another one."""
    if getattr(holder, field) not in ("", resource):
        raise invalid(".".join(map(to_camel, path.split("."))), "is another one than in the path")
    setattr(holder, field, resource)


# Lists the methods of the CES API v1beta, by the HTTP rules of its services.

_PLACE = "projects/*/locations/*"
_APP = f"{_PLACE}/apps/*"
_LISTED = ("GET", "POST")
_CHANGED = ("DELETE", "GET", "PATCH")
_COLLECTIONS = {
    **{
        name: (_LISTED, _CHANGED)
        for name in (
            *("agents", "deployments", "evaluationDatasets", "evaluationExpectations", "evaluations"),
            *("examples", "guardrails", "scheduledEvaluationRuns", "tools", "toolsets"),
        )
    },
    "changelogs": (("GET",), ("GET",)),
    "conversations": (("GET",), ("DELETE", "GET")),
    "evaluationRuns": (("GET",), ("DELETE", "GET")),
    "evaluations/*/results": (("GET",), ("DELETE", "GET")),
    "versions": (_LISTED, ("DELETE", "GET")),
}
"""Collections of an app: methods of the collection, methods of one resource."""

_ACTIONS = (
    *(":executeTool", ":exportApp", ":generateAppResource", ":importEvaluations", ":retrieveToolSchema"),
    *(":runEvaluation", ":testPersonaVoice"),
    *("/conversations/*:generateEvaluation", "/conversations:batchDelete"),
    *("/evaluationRuns:export", "/evaluations:export", "/evaluations/*:uploadEvaluationAudio"),
    *("/evaluations/*/results:export", "/evaluations/*/results/*:runEvaluationResultMetrics"),
    *("/sessions/*:generateChatToken", "/sessions/*:runSession", "/sessions/*:streamRunSession"),
    *("/toolsets/*:retrieveTools", "/versions/*:restore"),
)
"""Custom methods of an app and its resources (POST)."""

_METHODS: dict[str, tuple[str, ...]] = {
    "projects/*/locations": ("GET",),
    _PLACE: ("GET",),
    f"{_PLACE}/apps": _LISTED,
    _APP: _CHANGED,
    f"{_PLACE}/apps:importApp": ("POST",),
    f"{_PLACE}/operations": ("GET",),
    f"{_PLACE}/operations/*": ("DELETE", "GET"),
    f"{_PLACE}/operations/*:cancel": ("POST",),
    f"{_PLACE}/securitySettings": ("GET", "PATCH"),
    **{f"{_APP}/{name}": whole for name, (whole, _) in _COLLECTIONS.items()},
    **{f"{_APP}/{name}/*": one for name, (_, one) in _COLLECTIONS.items()},
    **{f"{_APP}{action}": ("POST",) for action in _ACTIONS},
}


_PATTERNS = [(re.compile(path_pattern(path)), methods) for path, methods in _METHODS.items()]


def has_method(method: str, path: str) -> bool:
    """Returns whether the API has a method at a path (below `/v1beta/`)."""
    return any(method in methods and pattern.fullmatch(path) for pattern, methods in _PATTERNS)
