"""Finds the credentials of a judge in the environment."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from turnwise.schemas.config import ConfigError
from turnwise.schemas.judge_config import BackendName, JudgeConfig

HOW_TO = (
    "set GOOGLE_API_KEY, or judge.project (or GOOGLE_GENAI_USE_VERTEXAI=true and GOOGLE_CLOUD_PROJECT) "
    "for Vertex AI, or take --judge local"
)


@dataclass(frozen=True, slots=True)
class Access:
    """How Gemini is reached. Never pickled, never printed with its key.

    Attributes:
        vertexai: Whether it is Vertex AI, with a project's credentials, or the Gemini API, with a key.
        api_key: The key; None: Google's application default credentials.
        base_url: Where the API is served; None: at Google's.
    """

    vertexai: bool
    api_key: str | None = field(default=None, repr=False)
    project: str | None = None
    location: str | None = None
    base_url: str | None = None

    @property
    def endpoint(self) -> str:
        """Which service answers, as far as that may change the answers."""
        return self.base_url or ("vertexai" if self.vertexai else "gemini")


def chosen_backend(config: JudgeConfig, environ: Mapping[str, str]) -> BackendName:
    """Returns the backend a config names; else `gemini` if the environment has credentials, else `none`.

    Credentials are an API key (GOOGLE_API_KEY or GEMINI_API_KEY), or the wish for Vertex AI: a project in the
    config, or GOOGLE_GENAI_USE_VERTEXAI (or GOOGLE_GENAI_USE_ENTERPRISE) set to true.
    """
    if config.backend:
        return config.backend
    return "gemini" if _api_key(environ) or config.project or _wants_vertexai(environ) else "none"


def find_access(config: JudgeConfig, environ: Mapping[str, str]) -> Access:
    """Returns how Gemini is reached; raises ConfigError if nothing says how.

    A project in the config, or the wish in the environment, means Vertex AI; it takes a project before a key.
    """
    vertexai = bool(config.project) or _wants_vertexai(environ)
    key = _api_key(environ)
    base_url = config.base_url or environ.get(
        "GOOGLE_VERTEX_BASE_URL" if vertexai else "GOOGLE_GEMINI_BASE_URL"
    )
    if not vertexai:
        if not key:
            raise ConfigError(f"judge: no credentials for gemini; {HOW_TO}")
        return Access(False, key, base_url=base_url)
    project = config.project or environ.get("GOOGLE_CLOUD_PROJECT")
    location = config.location or environ.get("GOOGLE_CLOUD_LOCATION") or "global"
    if project:
        return Access(True, None, project, location, base_url)
    if key:
        return Access(True, key, base_url=base_url)
    raise ConfigError(f"judge: no project for Vertex AI; {HOW_TO}")


def stated_access(config: JudgeConfig, environ: Mapping[str, str]) -> dict[str, str | None]:
    """Returns the fields of a config that say, without the environment, how Gemini is reached on Vertex AI.

    Raises:
        ConfigError: Nothing says how.
    """
    access = find_access(config, environ)
    return {"project": access.project, "location": access.location, "base_url": access.base_url}


def find_endpoint(config: JudgeConfig, environ: Mapping[str, str]) -> str:
    """Returns which service would answer; "gemini" where there are no credentials."""
    try:
        return find_access(config, environ).endpoint
    except ConfigError:
        return config.base_url or "gemini"


def _api_key(environ: Mapping[str, str]) -> str | None:
    return (environ.get("GOOGLE_API_KEY") or environ.get("GEMINI_API_KEY") or "").strip() or None


def _wants_vertexai(environ: Mapping[str, str]) -> bool:
    wish = environ.get("GOOGLE_GENAI_USE_ENTERPRISE") or environ.get("GOOGLE_GENAI_USE_VERTEXAI") or ""
    return wish.lower() in ("true", "1")
