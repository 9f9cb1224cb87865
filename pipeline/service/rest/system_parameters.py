"""The parameters that every method of a Google API takes (cloud.google.com/apis/docs/system-parameters)."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from turnwise.pipeline.service.errors import field_errors, invalid
from turnwise.schemas.proto.json import Message
from turnwise.schemas.proto.masks import FieldPath, parse_mask

_WITHOUT_EFFECT = frozenset({"key", "quotaUser", "userProject", "trace"})
"""They say who is charged."""

_VALUES: Mapping[str, Sequence[str]] = {
    "alt": ("json", "json;enum-encoding=int"),
    "outputDefaults": ("false",),
    "prettyPrint": ("true", "false"),
    "xgafv": ("2",),
}
"""The values that are possible."""

_REFUSED = {
    **dict.fromkeys(("access_token", "oauth_token"), "send it in the Authorization header: URLs are logged"),
    "callback": "there is no JSONP",
    **dict.fromkeys(("uploadType", "upload_protocol"), "there are no uploads"),
    **dict.fromkeys(("apiVersion", "ct", "httpHeaders", "httpMethod", "req", "unique"), "is not supported"),
    **dict.fromkeys(("passwd", "password"), "is reserved"),
}
_HEADERS = {
    "x-goog-api-version": "apiVersion",
    "x-goog-fieldmask": "fields",
    "x-http-method-override": "httpMethod",
}
"""Headers that mean the same; others have no effect."""

_GROUP = re.compile(r"([^,()]+)\(([^()]*)\)")
_MOST_CHARACTERS = 4_000


class SystemParameters(NamedTuple):
    """How a response is written.

    Attributes:
        fields: Paths of the wanted fields; None: all.
        is_indented: Whether it has a line for each field.
        has_enum_numbers: Whether enum values are numbers.
    """

    fields: Sequence[FieldPath] | None = None
    is_indented: bool = False
    has_enum_numbers: bool = False


def read_system_parameters(
    query: Mapping[str, str], headers: Mapping[str, str], response: type[Message]
) -> tuple[SystemParameters, dict[str, str]]:
    """Returns the system parameters of a request, and the parameters that are the method's own.

    Args:
        query: All parameters of the query.
        headers: Headers of the request.
        response: Message class of the response.

    Raises:
        ServiceError: A system parameter is not supported, or its value is not.
    """
    own, found = dict[str, str](), dict[str, str]()
    for key, text in query.items():
        name = _system_name(key)
        if name is None:
            own[key] = text
        elif name in found:
            raise invalid(key, "is given twice")
        else:
            found[name] = _checked(key, name, text)
    for header, name in _HEADERS.items():
        if header in headers:
            if name in found:
                raise invalid(header, f"is given beside {name}")
            found[name] = _checked(header, name, headers[header])
    with field_errors("fields"):
        paths = parse_mask(response, _spelled_out(found.get("fields", "")), through_lists=True)
    is_indented = found.get("prettyPrint") == "true"
    return SystemParameters(paths, is_indented, found.get("alt", "").endswith("=int")), own


def _system_name(key: str) -> str | None:
    name = key.removeprefix("$").removeprefix(".")
    is_known = name == "fields" or name in _WITHOUT_EFFECT or name in _VALUES or name in _REFUSED
    return name if is_known else None


def _checked(key: str, name: str, text: str) -> str:
    if name in _REFUSED:
        raise invalid(key, _REFUSED[name])
    possible = _VALUES.get(name, ())
    if possible and text.replace(" ", "") not in possible:
        raise invalid(key, f"must be {' or '.join(possible)}")
    return text.replace(" ", "")


def _spelled_out(mask: str) -> str:
    """Returns a mask in dots and commas: `a/b` is a.b, `a(b,c)` is a.b,a.c.

    Raises:
        ValueError: It is too long.
    """
    text = mask.replace("/", ".")
    while match := _GROUP.search(text):
        parts = ",".join(f"{match[1]}.{part}" for part in match[2].split(","))
        text = f"{text[: match.start()]}{parts}{text[match.end() :]}"
        if len(text) > _MOST_CHARACTERS:
            raise ValueError("is too long")
    return text
