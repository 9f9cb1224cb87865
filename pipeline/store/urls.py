"""Handles URLs of stores and host names, without importing a database library."""

import re
from ipaddress import ip_address
from pathlib import Path

SCHEMES = ("sqlite", "postgresql", "postgresql+psycopg", "postgres")
"""Schemes of the addresses of stores."""

_PASSWORD = re.compile(r"(?<=://)([^:@/?]*):.*(?=@)")
_SECRETS = re.compile(r"([?&](?:password|passfile|sslpassword)=)[^&]*", re.IGNORECASE)


class StoreError(OSError):
    """A store cannot be reached or does not answer. The message is one line without a password."""


def is_store_url(text: str) -> bool:
    """Returns whether a text is the URL of a store or another database, with any driver, not a path."""
    return text.partition(":")[0].partition("+")[0].lower() in SCHEMES and ":/" in text


def is_sqlite_url(text: str) -> bool:
    """Returns whether a text is the URL of a SQLite file."""
    return is_store_url(text) and text.lower().startswith("sqlite")


def shown_place(text: str) -> str:
    """Returns a path unchanged, and the URL of a database with its password replaced."""
    return shown_url(text) if is_store_url(text) else text


def shown_url(url: str) -> str:
    """Returns a URL with its password replaced."""
    return _SECRETS.sub(r"\1***", _PASSWORD.sub(r"\1:***", url))


def absolute_url(url: str) -> str:
    """Returns the URL of a SQLite file with an absolute path; other texts unchanged."""
    scheme, _, path = url.partition(":///")
    is_relative = is_sqlite_url(url) and path and not path.startswith(("/", ":", "file:"))
    return f"{scheme}:///{Path(path).absolute()}" if is_relative else url


def driver_url(url: str) -> str:
    """Returns a URL with the name of the driver."""
    _, _, rest = url.partition(":")
    return f"{'sqlite' if is_sqlite_url(url) else 'postgresql+psycopg'}:{rest}"


def is_loopback(host: str) -> bool:
    """Returns whether a host name or address can only be this machine."""
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
