"""Who uses the service."""

from typing import NamedTuple

from turnwise.pipeline.store.roles import Role


class User(NamedTuple):
    """The user of a request.

    Attributes:
        name: Name of the token; of requests that need none and of `TURNWISE_TOKEN`, of the server's own user.
        role: What is permitted.
    """

    name: str
    role: Role
