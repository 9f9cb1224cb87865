"""Checks that the optional packages and the credentials that an option needs are there."""

import logging
import os
from collections.abc import Sequence
from functools import cache, partial
from importlib.util import find_spec
from urllib.parse import quote

from turnwise.pipeline.settings.options import is_bigquery, parse_address
from turnwise.schemas.config import ConfigError
from turnwise.schemas.jsonio import is_local, is_sqlite_url, is_store_url, shown_url

_MODULES = {
    "turnwise[gcp]": (
        *("google.cloud.storage", "google.cloud.pubsub_v1"),
        *("google.cloud.bigquery", "google.cloud.bigquery_storage"),
    ),
    "turnwise[kafka]": ("confluent_kafka",),
    "turnwise[otlp]": ("opentelemetry.proto", "starlette", "uvicorn"),
    "turnwise[postgres]": ("sqlalchemy", "psycopg"),
    "turnwise[store]": ("sqlalchemy", "mcp", "starlette", "uvicorn"),
    "apache-beam[aws]": ("boto3",),
    "apache-beam[azure]": ("azure.storage.blob",),
    "apache-beam[hadoop]": ("hdfs",),
    "build": ("build",),
}
_BY_SCHEME = {
    "gs": "turnwise[gcp]",
    "s3": "apache-beam[aws]",
    "azfs": "apache-beam[azure]",
    "hdfs": "apache-beam[hadoop]",
}


def check_extra(what: str, extra: str, *others: str) -> None:
    """Raises ConfigError if a package of an extra (such as `turnwise[gcp]`) is not installed.

    `what` is the option that needs it, `others` modules of the extra that not every user of it needs.
    """
    if not all(map(_is_installed, (*_MODULES[extra], *others))):
        raise ConfigError(f"{what}: needs {extra}, which is not installed: pip install '{extra}'")


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # a package around it is missing
        return False


def check_store(option: str, url: str) -> None:
    """Raises ConfigError if a text is no URL of a store that turnwise reads, or its packages are missing."""
    if not is_store_url(url):
        scheme, mark, _ = url.partition("://")
        other = f"; this command cannot read {scheme}" if mark else ""
        raise ConfigError(
            f"{option} {shown_url(url)}: is no URL of a store (sqlite:///FILE, postgresql://...){other}"
        )
    extra = "store" if is_sqlite_url(url) else "postgres"
    check_extra(f"{option} {shown_url(url)}", f"turnwise[{extra}]")


_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
HOW_TO = "run `gcloud auth application-default login`, or name a key file in GOOGLE_APPLICATION_CREDENTIALS"
_TOKEN_SECONDS = 5.0
_STORAGE = "gs://"


def check_google(what: str, path: str = "") -> None:
    """Raises ConfigError, in seconds, if this process has no credentials of Google, or they are refused.

    Google's own clients, and Beam's, would try for minutes. `what` needs them, for a path on any filesystem,
    whose package must be installed, or ("") a service.
    """
    if extra := _BY_SCHEME.get(path.partition(":")[0].lower()):
        check_extra(what, extra)
    if path and not path.lower().startswith(_STORAGE):
        return
    host = os.environ.get("STORAGE_EMULATOR_HOST") or "https://storage.googleapis.com"
    try:
        _find_access(host, path[len(_STORAGE) :].partition("/")[0])
    except ConfigError as error:
        raise ConfigError(f"{what}: {error}") from None


@cache
def _find_access(host: str, bucket: str) -> None:
    """Raises ConfigError if there is no access. Only that there is some is remembered."""
    problem = _google_problem()
    if problem and not (bucket and _needs_none(host, bucket)):
        raise ConfigError(f"{problem}; {HOW_TO}")


def _needs_none(host: str, bucket: str) -> bool:
    """Returns whether a bucket can be listed without credentials: it is public, or of an emulator."""
    import requests

    url = f"{host}/storage/v1/b/{quote(bucket, safe='')}/o?maxResults=1"
    try:
        return requests.get(url, timeout=_TOKEN_SECONDS, allow_redirects=False).ok
    except requests.RequestException:
        return False


def _google_problem() -> str:
    """Returns why there is no access to Google, in one line; "": there is."""
    import google.auth
    from google.auth.exceptions import DefaultCredentialsError, GoogleAuthError, TransportError
    from google.auth.transport.requests import Request

    logging.getLogger("google.auth").setLevel(logging.ERROR)  # a missing project is none of ours
    try:
        credentials, _ = google.auth.default(scopes=[_SCOPE])
        if not credentials.valid:
            credentials.refresh(partial(Request(), timeout=_TOKEN_SECONDS))
    except DefaultCredentialsError as error:
        key_file = os.environ.get("GOOGLE_APPLICATION_CREDENTIALS")
        return f"the credentials cannot be used ({_short(error)})" if key_file else "no credentials of Google"
    except TransportError as error:
        return f"Google's server of tokens cannot be reached ({_short(error)})"
    except (GoogleAuthError, OSError, ValueError) as error:
        return f"the credentials are refused ({_short(error)})"
    return ""


def _short(error: Exception) -> str:
    return " ".join(str(error.args[0] if error.args else error).split())[:160]


def check_places(option: str, paths: Sequence[str]) -> None:
    """Raises ConfigError if a package for the filesystems or stores of an option is missing."""
    for path in paths:
        if is_bigquery(path) and option != "--output":
            try:
                address = parse_address(path)
            except ConfigError as error:
                raise ConfigError(f"{option} {error}") from None
            check_extra(f"{option} {address.shown}", "turnwise[gcp]")
        elif is_store_url(path):
            check_store(option, path)
        elif not is_local(path):
            _check_file_system(option, path)


def _check_file_system(option: str, path: str) -> None:
    if extra := _BY_SCHEME.get(path.partition(":")[0].lower()):
        check_extra(f"{option} {path}", extra)
        return
    from apache_beam.io.filesystems import FileSystems

    try:
        FileSystems.get_filesystem(path)
    except ValueError:
        known = ", ".join(f"{scheme}://" for scheme in _BY_SCHEME)
        raise ConfigError(
            f"{option} {path}: unknown file system (use a path without a scheme, or {known})"
        ) from None
