"""The bearer tokens of servers: of `turnwise serve` in a file, of a receiver of spans in the environment."""

import os
import re
from collections.abc import Mapping
from hmac import compare_digest
from pathlib import Path

import msgspec

from turnwise.pipeline.service.errors import ServiceError
from turnwise.schemas.config import ConfigError

TOKEN = "TURNWISE_TOKEN"
"""The environment variable that holds the token of a receiver of spans."""

_FORM = re.compile(r"[A-Za-z0-9._~+/=-]{16,}")
_FORM_TEXT = "must have at least 16 letters, digits or . _ ~ + / = -"
_OF_OTHERS = 0o077


class Tokens(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The tokens that a server accepts; without any, requests need none.

    Attributes:
        write: The token that permits everything; "": there is none.
        read: The token that permits reading; "": there is none.
    """

    write: str = ""
    read: str = ""

    def __bool__(self) -> bool:
        return bool(self.write or self.read)

    def may_write(self, given: str) -> bool:
        """Returns whether a request may change something.

        Args:
            given: The token of the request; "": it has none.

        Raises:
            ServiceError: A token is needed, and this is none.
        """
        if not self or _is_same(given, self.write):
            return True
        if _is_same(given, self.read):
            return False
        raise ServiceError("UNAUTHENTICATED", "a bearer token is required")


def _is_same(given: str, token: str) -> bool:
    return bool(token) and compare_digest(given.encode(), token.encode())


def bearer_token(environ: Mapping[str, str]) -> str:
    """Returns the token of the environment; "": none is set.

    Raises:
        ConfigError: It is too short, or has other characters than a header may have.
    """
    token = environ.get(TOKEN, "")
    if token and not _FORM.fullmatch(token):
        raise ConfigError(f"{TOKEN}: {_FORM_TEXT}")
    return token


def read_token_file(path: str) -> Tokens:
    """Returns the tokens of a file: `{"write": "...", "read": "..."}`, or one of the two.

    Raises:
        ConfigError: The file cannot be read, others may read it, or it holds something else.
    """
    try:
        with Path(path).open("rb") as file:
            mode, data = os.fstat(file.fileno()).st_mode, file.read()
    except OSError as error:
        raise ConfigError(f"--token_file {path}: {error.strerror or error}") from None
    if mode & _OF_OTHERS:
        raise ConfigError(f"--token_file {path}: others may read it: chmod 600 {path}")
    try:
        tokens = msgspec.json.decode(data, type=Tokens)
    except msgspec.MsgspecError:
        # The message of the error may hold a part of the file.
        raise ConfigError(f'--token_file {path}: its form is {{"write": "...", "read": "..."}}') from None
    given = [token for token in (tokens.write, tokens.read) if token]
    if not given or not all(map(_FORM.fullmatch, given)):
        raise ConfigError(f"--token_file {path}: a token {_FORM_TEXT}")
    if tokens.write == tokens.read:
        raise ConfigError(f"--token_file {path}: the tokens must differ")
    return tokens
