"""The judge `gemini`: its credentials, and the check before a run."""

from collections.abc import Callable, Mapping, Sequence

from turnwise.schemas.config import ConfigError, JudgeConfig
from turnwise.transforms.judging.ask import JudgeModelOptions
from turnwise.transforms.judging.backends.calling import ApiBackend
from turnwise.transforms.judging.judges.checking import check_models
from turnwise.transforms.judging.judges.keys import key_in, with_key
from turnwise.transforms.judging.judges_base import HOW_TO, Access, JudgeKind, register_judge

_NAME = "gemini"


def find_access(config: JudgeConfig, environ: Mapping[str, str]) -> Access:
    """Returns the access to Gemini.

    A project in the config, or a variable of the environment, selects Vertex AI. A project is preferred to a
    key there. A secret is not read here.

    Raises:
        ConfigError: No setting gives one, or two exclude each other.
    """
    secret = config.api_key_secret
    if secret and config.project:
        raise ConfigError("judge: project and api_key_secret exclude each other: Vertex AI needs no key")
    vertexai = bool(config.project) or (_is_vertexai_set(environ) and not secret)
    key = None if secret else _api_key(environ)
    base_url = config.base_url or environ.get(
        "GOOGLE_VERTEX_BASE_URL" if vertexai else "GOOGLE_GEMINI_BASE_URL"
    )
    if not vertexai:
        if not key and not secret:
            raise ConfigError(f"judge: no credentials for gemini; {HOW_TO}")
        return Access(base_url or _NAME, key, base_url, secret=secret)
    endpoint = base_url or "vertexai"
    project = config.project or environ.get("GOOGLE_CLOUD_PROJECT")
    location = config.location or environ.get("GOOGLE_CLOUD_LOCATION") or "global"
    if project:
        return Access(endpoint, None, base_url, True, project, location)
    if key:
        return Access(endpoint, key, base_url, True)
    raise ConfigError(f"judge: no project for Vertex AI; {HOW_TO}")


def _is_available(config: JudgeConfig, environ: Mapping[str, str]) -> bool:
    """Returns whether there are credentials: an API key or its secret, or a setting that selects Vertex AI.

    Keys are GOOGLE_API_KEY and GEMINI_API_KEY; the setting is a project in the config, or
    GOOGLE_GENAI_USE_VERTEXAI (or GOOGLE_GENAI_USE_ENTERPRISE) set to true.
    """
    return bool(config.api_key_secret or _api_key(environ) or config.project or _is_vertexai_set(environ))


def _api_key(environ: Mapping[str, str]) -> str | None:
    return key_in(environ, "GOOGLE_API_KEY", "GEMINI_API_KEY")


def _is_vertexai_set(environ: Mapping[str, str]) -> bool:
    wish = environ.get("GOOGLE_GENAI_USE_ENTERPRISE") or environ.get("GOOGLE_GENAI_USE_VERTEXAI") or ""
    return wish.lower() in ("true", "1")


def _connect(config: JudgeConfig, environ: Mapping[str, str], on_retry: Callable[[str], None]) -> ApiBackend:
    # Loading it takes a second, which only those who need it wait for.
    from turnwise.transforms.judging.backends.gemini import GeminiApi

    access = with_key(find_access(config, environ), environ)
    return ApiBackend(config, GeminiApi(config, access), on_retry, access.api_key)


def _check(config: JudgeConfig, environ: Mapping[str, str], options: Sequence[JudgeModelOptions]) -> None:
    from turnwise.transforms.judging.backends.gemini import check_settings

    check_models(config, options, check_settings, lambda: _connect(config, environ, lambda model: None))


register_judge(
    JudgeKind(
        name=_NAME,
        help="a model, through google-genai",
        connect=_connect,
        access=find_access,
        check=_check,
        is_available=_is_available,
        provider=(_NAME, "vertex_ai"),
        paths=("models", "tunedModels", "publishers", "projects", "google"),
    )
)
