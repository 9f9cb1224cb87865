"""Errors of the service, in the format of Google's APIs."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.proto.masks import FilterError, MaskError
from turnwise.schemas.proto.message import WireError

HTTP_CODES = {
    "INVALID_ARGUMENT": 400,
    "FAILED_PRECONDITION": 400,
    "UNAUTHENTICATED": 401,
    "PERMISSION_DENIED": 403,
    "NOT_FOUND": 404,
    "ABORTED": 409,
    "ALREADY_EXISTS": 409,
    "RESOURCE_EXHAUSTED": 429,
    "INTERNAL": 500,
    "UNIMPLEMENTED": 501,
    "UNAVAILABLE": 503,
}
"""Status -> HTTP status code."""

_PATH = re.compile(r"\w+((?:\.\w+|\[\d+\])*): (.*)", re.DOTALL)


class ServiceError(Exception):
    """A request is refused.

    Attributes:
        status: One of `HTTP_CODES`.
        message: One line.
        field: The invalid field of the request; "": none in particular.
    """

    def __init__(self, status: str, message: str, field: str = "") -> None:
        super().__init__(message)
        self.status, self.message, self.field = status, message, field

    def to_value(self) -> JsonObject:
        """Returns the body of the response."""
        error: JsonObject = {
            "code": HTTP_CODES[self.status],
            "message": f"{self.field}: {self.message}" if self.field else self.message,
            "status": self.status,
        }
        if self.field:
            violation = {"field": self.field, "description": self.message}
            kind = "type.googleapis.com/google.rpc.BadRequest"
            error["details"] = [{"@type": kind, "fieldViolations": [violation]}]
        return {"error": error}


def invalid(field: str, why: object) -> ServiceError:
    """Returns the error for an invalid field."""
    return ServiceError("INVALID_ARGUMENT", str(why), field)


def not_found(name: str) -> ServiceError:
    """Returns the error for a resource that does not exist."""
    return ServiceError("NOT_FOUND", f"{name} was not found")


@contextmanager
def field_errors(field: str) -> Iterator[None]:
    """Converts errors of the body.

    Raises:
        ServiceError: It names the field.
    """
    try:
        yield
    except WireError as error:
        raise message_error(error, field) from None
    except (MaskError, FilterError, ValueError) as error:
        raise invalid(field, error) from None


def message_error(error: WireError, root: str = "") -> ServiceError:
    """Returns the error for an invalid message, with the path of the field below `root`."""
    match = _PATH.fullmatch(str(error))
    path, why = (match[1].lstrip("."), match[2]) if match else ("", str(error))
    return invalid(".".join(part for part in (root, path) if part), why)
