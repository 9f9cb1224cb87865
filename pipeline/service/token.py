"""The bearer token of a server that the environment names."""

import re
from collections.abc import Mapping
from hmac import compare_digest

from turnwise.pipeline.service.errors import ServiceError
from turnwise.pipeline.service.users import User
from turnwise.schemas.config import ConfigError

TOKEN = "TURNWISE_TOKEN"
"""The environment variable that holds the bearer token."""

_FORM = re.compile(r"[A-Za-z0-9._~+/=-]{16,}")


def bearer_token(environ: Mapping[str, str]) -> str:
    """Returns the token; "": none is set.

    Raises:
        ConfigError: It is too short, or has other characters than a header may have.
    """
    token = environ.get(TOKEN, "")
    if token and not _FORM.fullmatch(token):
        raise ConfigError(f"{TOKEN}: must have at least 16 letters, digits or . _ ~ + / = -")
    return token


class OneToken:
    """The token of a server without a store, or beside those of its store.

    Attributes:
        owner: The user who sends it, or who sends none where none is needed.
        is_set: Whether there is one.
    """

    def __init__(self, owner: str, token: str) -> None:
        """Creates it; "": there is none, and none is needed."""
        self.owner, self.is_set = User(owner, "admin"), bool(token)
        self._token = token.encode()

    def is_it(self, given: str) -> bool:
        """Returns whether a text is the token."""
        return self.is_set and compare_digest(given.encode(), self._token)

    async def user_of(self, given: str) -> User:
        """Returns the user of a text; raises ServiceError if it is not the token."""
        if self.is_set and not self.is_it(given):
            raise needs_token()
        return self.owner

    async def note_uses(self) -> None:
        """Does nothing: nothing is written of its use."""


def needs_token() -> ServiceError:
    """Returns the error of a request without a valid token."""
    return ServiceError("UNAUTHENTICATED", "a bearer token is required")
