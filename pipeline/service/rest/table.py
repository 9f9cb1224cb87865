"""The methods that the service has."""

from turnwise.pipeline.service.errors import ServiceError
from turnwise.pipeline.service.rest import evaluations, results, runs
from turnwise.pipeline.service.rest.api_methods import has_method
from turnwise.pipeline.service.rest.method import RestMethod

METHODS: tuple[RestMethod, ...] = (
    *evaluations.METHODS,
    *results.METHODS,
    *runs.METHODS,
)


def find_method(verb: str, path: str) -> tuple[RestMethod, str]:
    """Returns the method of a request, and the name in its path (below `/v1beta/`).

    Raises:
        ServiceError: The API has no such method, or the service does not.
    """
    for method in METHODS:
        match = method.template[1].fullmatch(path) if method.verb == verb else None
        if match:
            return method, match[1]
    if has_method(verb, path):
        raise ServiceError("UNIMPLEMENTED", "the CES API has this method, this service does not")
    raise ServiceError("NOT_FOUND", "the service has no such method")
