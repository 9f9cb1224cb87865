"""The bearer token of a server, from the environment."""

import re
from collections.abc import Mapping

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
