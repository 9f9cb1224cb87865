"""Recognises URLs of databases, and hides their passwords."""

import re

SCHEMES = ("sqlite", "postgresql", "postgresql+psycopg", "postgres")
"""Schemes of the addresses of stores."""

_PASSWORD = re.compile(r"(?<=://)([^:@/?]*):.*(?=@)")
_SECRETS = re.compile(r"([?&](?:password|passfile|sslpassword)=)[^&]*", re.IGNORECASE)


def is_store_url(text: str) -> bool:
    """Returns whether a text is the URL of a store or another database, with any driver, not a path."""
    return text.partition(":")[0].partition("+")[0].lower() in SCHEMES and ":/" in text


def is_sqlite_url(text: str) -> bool:
    """Returns whether a text is the URL of a SQLite file."""
    return is_store_url(text) and text.lower().startswith("sqlite")


def is_postgresql_url(text: str) -> bool:
    """Returns whether a text is the URL of a PostgreSQL database."""
    return is_store_url(text) and not is_sqlite_url(text)


def shown_url(url: str) -> str:
    """Returns a URL with its password replaced."""
    return _SECRETS.sub(r"\1***", _PASSWORD.sub(r"\1:***", url))
