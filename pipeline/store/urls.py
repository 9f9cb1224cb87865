"""Handles URLs of stores and host names, without importing a database library."""

from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from typing import Literal, get_args

from turnwise.schemas.jsonio import is_sqlite_url, is_store_url, shown_url


class StoreError(OSError):
    """A store cannot be reached or does not answer. The message is one line without a password."""


def shown_place(text: str) -> str:
    """Returns a path unchanged, and the URL of a database with its password replaced."""
    return shown_url(text) if is_store_url(text) else text


def absolute_url(url: str) -> str:
    """Returns the URL of a SQLite file with an absolute path; other texts unchanged."""
    scheme, _, path = url.partition(":///")
    is_relative = is_sqlite_url(url) and path and not path.startswith(("/", ":", "file:"))
    return f"{scheme}:///{Path(path).absolute()}" if is_relative else url


def driver_url(url: str) -> str:
    """Returns a URL with the name of the driver."""
    _, _, rest = url.partition(":")
    return f"{'sqlite' if is_sqlite_url(url) else 'postgresql+psycopg'}:{rest}"


def address_of(host: str) -> IPv4Address | IPv6Address | None:
    """Returns the IP address that a host is given by; None: it is given by a name."""
    try:
        return ip_address(host.strip("[]"))
    except ValueError:
        return None


def is_loopback(host: str) -> bool:
    """Returns whether a host name or address can only be this machine."""
    address = address_of(host)
    return host.lower() == "localhost" or (address is not None and address.is_loopback)


# The states of runs, without importing a database library.

RUNNING = "RUNNING"
COMPLETED = "COMPLETED"
"""Figures and comparisons speak of runs in this state."""

Broken = Literal["ERROR", "CANCELLED"]
"""How a run can break off."""

STATES = (RUNNING, COMPLETED, *get_args(Broken))
"""All states of a run."""
