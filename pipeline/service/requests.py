"""Builds the request message of a method from a path, a query and a body."""

from collections.abc import Mapping
from typing import Any

from pydantic.alias_generators import to_camel

from turnwise.pipeline.service.errors import invalid, message_error
from turnwise.pipeline.service.rest.method import RestMethod
from turnwise.pipeline.service.validation import check_lists
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.schemas.proto.masks import mask_fields
from turnwise.schemas.proto.message import Message, WireError

_FLAGS: Mapping[str, JsonValue] = {"true": True, "false": False}


def read_request(method: RestMethod, resource: str, query: Mapping[str, str], body: bytes) -> Message:
    """Returns the request of a method.

    Args:
        method: The method.
        resource: The name in the path.
        query: Parameters.
        body: Proto3 JSON.

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
