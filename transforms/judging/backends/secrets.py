"""Reads an API key from Google's Secret Manager, by the identity of the process."""

import base64
import os
import re
from collections.abc import Mapping

from turnwise.schemas.config import ConfigError

OVERRIDE = "CLOUDSDK_API_ENDPOINT_OVERRIDES_SECRETMANAGER"
"""gcloud's variable for another address of the service."""

_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
_LOCATION = re.compile(r"projects/[^/]+/locations/([^/]+)/")
_TIMEOUT_S = 30


def read_secret(name: str, environ: Mapping[str, str] = os.environ) -> str:
    """Returns a secret's text.

    Args:
        name: `projects/P/secrets/S/versions/V`, or with `locations/L` a regional one; V may be `latest`.
        environ: Environment, which may name another address of the service.

    Raises:
        ConfigError: It cannot be read; one line without the secret.
    """
    # Loading them takes time, which only those who need them wait for.
    import google.auth
    import requests
    from google.auth.exceptions import GoogleAuthError
    from google.auth.transport.requests import Request

    try:
        credentials, _ = google.auth.default(scopes=[_SCOPE])
        credentials.refresh(Request())
        headers = {"Authorization": f"Bearer {credentials.token}"}
        url = f"{_address(name, environ)}/v1/{name}:access"
        answer = requests.get(url, headers=headers, timeout=_TIMEOUT_S, allow_redirects=False)
    except (GoogleAuthError, requests.RequestException) as error:
        said = " ".join(str(error).split())
        raise ConfigError(f"judge.api_key_secret: {name}: cannot be read: {said}") from None
    if answer.status_code != 200:
        raise ConfigError(f"judge.api_key_secret: {name}: {_refusal(answer.status_code)}")
    try:
        return base64.b64decode(answer.json()["payload"]["data"], validate=True).decode("ascii").strip()
    except (KeyError, TypeError, ValueError):
        raise ConfigError(f"judge.api_key_secret: {name}: holds no API key") from None


def _address(name: str, environ: Mapping[str, str]) -> str:
    stated = environ.get(OVERRIDE)
    if stated:
        return stated.rstrip("/")
    region = _LOCATION.match(name)
    return (
        f"https://secretmanager.{region[1]}.rep.googleapis.com"
        if region
        else "https://secretmanager.googleapis.com"
    )


def _refusal(status: int) -> str:
    if status == 403:
        return "HTTP 403: this identity may not read it (it needs the role Secret Manager Secret Accessor)"
    return "HTTP 404: there is no such secret or version" if status == 404 else f"HTTP {status}"
