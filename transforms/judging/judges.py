"""The judges that ask a model's API: `gemini`, `openai`, `azure` and `anthropic`.

Each says how its API is reached, makes its client, and checks its models before a run. A client's library is
loaded only where the judge is connected: that takes a second, which only those who need it wait for.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlsplit

from turnwise.schemas.config import ConfigError, JudgeConfig
from turnwise.schemas.jsonio import JsonObject
from turnwise.transforms.judging.ask import JudgeModelOptions
from turnwise.transforms.judging.backends.calling import Api, ApiBackend
from turnwise.transforms.judging.judges_base import (
    HOW_TO,
    Access,
    Environ,
    JudgeKind,
    api_url,
    key_in,
    keyed_access,
    needing,
    register_judge,
    with_key,
)
from turnwise.transforms.judging.routes import merged_settings

_GEMINI, _OPENAI, _ANTHROPIC = "gemini", "openai", "anthropic"
_Find = Callable[[JudgeConfig, Environ], Access]
_CheckSettings = Callable[[str, JsonObject], object]


def find_access(config: JudgeConfig, environ: Environ) -> Access:
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
        return Access(base_url or _GEMINI, key, base_url, secret=secret)
    endpoint = base_url or "vertexai"
    project = config.project or environ.get("GOOGLE_CLOUD_PROJECT")
    location = config.location or environ.get("GOOGLE_CLOUD_LOCATION") or "global"
    if project:
        return Access(endpoint, None, base_url, True, project, location)
    if key:
        return Access(endpoint, key, base_url, True)
    raise ConfigError(f"judge: no project for Vertex AI; {HOW_TO}")


def _is_available(config: JudgeConfig, environ: Environ) -> bool:
    """Returns whether there are credentials: an API key or its secret, or a setting that selects Vertex AI.

    Keys are GOOGLE_API_KEY and GEMINI_API_KEY; the setting is a project in the config, or
    GOOGLE_GENAI_USE_VERTEXAI (or GOOGLE_GENAI_USE_ENTERPRISE) set to true.
    """
    return bool(config.api_key_secret or _api_key(environ) or config.project or _is_vertexai_set(environ))


def _api_key(environ: Environ) -> str | None:
    return key_in(environ, "GOOGLE_API_KEY", "GEMINI_API_KEY")


def _is_vertexai_set(environ: Environ) -> bool:
    wish = environ.get("GOOGLE_GENAI_USE_ENTERPRISE") or environ.get("GOOGLE_GENAI_USE_VERTEXAI") or ""
    return wish.lower() in ("true", "1")


def _gemini_api(config: JudgeConfig, access: Access) -> Api:
    from turnwise.transforms.judging.backends.gemini import GeminiApi

    return GeminiApi(config, access)


def _check_gemini(model: str, settings: JsonObject) -> None:
    from turnwise.transforms.judging.backends.gemini import check_settings

    check_settings(model, settings)


def _openai(config: JudgeConfig, environ: Environ) -> Access:
    url = config.base_url or environ.get("OPENAI_BASE_URL")
    own = api_url(url, "api.openai.com", "/chat/completions", "/responses")
    return keyed_access(_OPENAI, "OPENAI_API_KEY", config, environ, own)


def _azure(config: JudgeConfig, environ: Environ) -> Access:
    host = config.base_url or environ.get("AZURE_OPENAI_ENDPOINT")
    if not host:
        raise ConfigError("judge: no address of azure; set AZURE_OPENAI_ENDPOINT, or judge.base_url")
    url = host.rstrip("/").removesuffix("/openai/v1") + "/openai/v1"
    access = keyed_access("azure", "AZURE_OPENAI_API_KEY", config, environ, url)
    if not (access.api_key or access.secret):
        raise ConfigError("judge: no credentials for azure; set AZURE_OPENAI_API_KEY")
    return access


def _openai_api(config: JudgeConfig, access: Access) -> Api:
    with needing(_OPENAI):
        from turnwise.transforms.judging.backends.openai import OpenAiApi

    # OpenAI's own servers, and Azure's, know the newest names of settings; servers of one's own may not.
    host = urlsplit(access.base_url or "").hostname or ""
    is_newest = access.base_url is None or host.endswith((".openai.com", ".openai.azure.com"))
    return OpenAiApi(access, is_newest)


def _azure_api(config: JudgeConfig, access: Access) -> Api:
    with needing(_OPENAI):
        from turnwise.transforms.judging.backends.openai import OpenAiApi

    return OpenAiApi(access, True)


def _check_openai(model: str, settings: JsonObject) -> None:
    from turnwise.transforms.judging.backends.settings import check_openai_settings

    check_openai_settings(model, settings)


def _anthropic(config: JudgeConfig, environ: Environ) -> Access:
    url = config.base_url or environ.get("ANTHROPIC_BASE_URL")
    own = api_url(url, "api.anthropic.com", "/messages", "/v1")
    return keyed_access(_ANTHROPIC, "ANTHROPIC_API_KEY", config, environ, own)


def _anthropic_api(config: JudgeConfig, access: Access) -> Api:
    with needing(_ANTHROPIC):
        from turnwise.transforms.judging.backends.openai import AnthropicApi

    return AnthropicApi(access)


def _check_anthropic(model: str, settings: JsonObject) -> None:
    from turnwise.transforms.judging.backends.settings import check_anthropic_settings

    check_anthropic_settings(settings)


def _register(
    name: str,
    help_line: str,
    find: _Find,
    api: Callable[[JudgeConfig, Access], Api],
    check_settings: _CheckSettings,
    **more: Any,
) -> None:
    """Registers a judge by how its API is reached and made, and what checks generation settings."""

    def connect(config: JudgeConfig, environ: Environ, on_retry: Callable[[str], None]) -> ApiBackend:
        access = with_key(find(config, environ), environ)
        return ApiBackend(config, api(config, access), on_retry, access.api_key)

    def check(config: JudgeConfig, environ: Environ, options: Sequence[JudgeModelOptions]) -> None:
        stated = options or [JudgeModelOptions()]
        for each in stated:
            check_settings(each.judge_model or config.model, _merged(config, each.judge_model_config))
        backend = connect(config, environ, lambda model: None)
        asyncio.run(_find_models(backend, sorted({each.judge_model or config.model for each in stated})))

    fields = {"provider": (name,), "needs_model": True, **more}
    register_judge(JudgeKind(name=name, help=help_line, connect=connect, access=find, check=check, **fields))


def _merged(config: JudgeConfig, own: JsonObject | None) -> JsonObject:
    try:
        return merged_settings(config, own)
    except ValueError as error:
        raise ConfigError(f"judge_model_config: {error}") from None


async def _find_models(backend: ApiBackend, models: Sequence[str]) -> None:
    try:
        await asyncio.gather(*(backend.check(model) for model in models))
    finally:
        await backend.aclose()


_register(
    _GEMINI,
    "a model, through google-genai",
    find_access,
    _gemini_api,
    _check_gemini,
    is_available=_is_available,
    provider=(_GEMINI, "vertex_ai"),
    paths=("models", "tunedModels", "publishers", "projects", "google"),
    needs_model=False,
)
_register(
    _OPENAI,
    "a model of OpenAI, or of any server with its API",
    _openai,
    _openai_api,
    _check_openai,
    extra=_OPENAI,
)
_register("azure", "a model of OpenAI at Azure", _azure, _azure_api, _check_openai, extra=_OPENAI)
_register(_ANTHROPIC, "a model of Anthropic", _anthropic, _anthropic_api, _check_anthropic, extra=_ANTHROPIC)
