"""API keys of judges: in the environment, or in Google's Secret Manager."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from urllib.parse import urlsplit

from turnwise.schemas.config import ConfigError, JudgeConfig
from turnwise.transforms.judging.judges_base import Access


def key_in(environ: Mapping[str, str], *names: str) -> str | None:
    """Returns the key that the first of some variables holds; None: none does."""
    return next((key for name in names if (key := environ.get(name, "").strip())), None)


def with_key(access: Access, environ: Mapping[str, str]) -> Access:
    """Returns an access with the key that its secret holds; raises ConfigError if it cannot be read."""
    if access.secret is None:
        return access
    from turnwise.transforms.judging.backends.secrets import read_secret

    return replace(access, api_key=read_secret(access.secret, environ))


@contextmanager
def needing(extra: str) -> Iterator[None]:
    """Raises ConfigError if what the body imports is not installed, and belongs to an extra of turnwise."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("turnwise"):
            raise
        what = f"needs turnwise[{extra}], which is not installed: pip install 'turnwise[{extra}]'"
        raise ConfigError(f"judge {extra}: {what}") from None


def api_url(url: str | None, usual: str, *added: str) -> str | None:
    """Returns the address of an API as its client needs it; None: it is the usual one.

    Args:
        url: The address that is given.
        usual: The host of the usual address.
        added: Ends of the path that the client adds itself, and that are often given too, the last one first.
    """
    if not url or urlsplit(url).hostname == usual:
        return None
    url = url.rstrip("/")
    for end in added:
        url = url.removesuffix(end)
    return url


def keyed_access(
    name: str, variable: str, config: JudgeConfig, environ: Mapping[str, str], url: str | None
) -> Access:
    """Returns the access to an API by a key; a server of one's own may need none.

    Args:
        name: The judge's name.
        variable: The variable that holds the key.
        config: The judge's settings.
        environ: The environment.
        url: Where the API is served; None: at its usual address.

    Raises:
        ConfigError: There is no key, or a setting that the API does not have.
    """
    for setting in ("project", "location"):
        if getattr(config, setting):
            raise ConfigError(f"judge.{setting}: is a setting of gemini, and the judge is {name}")
    secret = config.api_key_secret
    key = None if secret else key_in(environ, variable)
    if not (key or secret or url):
        raise ConfigError(f"judge: no credentials for {name}; set {variable}, or take --judge local")
    return Access(url or name, key, url, secret=secret)
