"""The judge `gemini`: its credentials, and the check before a run."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from urllib.parse import urlsplit

from turnwise.schemas.config import ConfigError, JudgeConfig
from turnwise.schemas.jsonio import JsonObject
from turnwise.transforms.judging.ask import JudgeModelOptions, JudgeSample, Question, R
from turnwise.transforms.judging.backends.calling import ApiBackend
from turnwise.transforms.judging.judge import ReplyCache
from turnwise.transforms.judging.judges_base import (
    HOW_TO,
    Access,
    JudgeKind,
    api_url,
    key_in,
    keyed_access,
    needing,
    register_judge,
    with_key,
)
from turnwise.transforms.judging.limits import ANSWER_TOKENS, JudgeCounts, estimated_tokens
from turnwise.transforms.judging.routes import Requests, merged_settings

_JUDGES_NAME = "gemini"


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
        return Access(base_url or _JUDGES_NAME, key, base_url, secret=secret)
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


def _connect_judges(
    config: JudgeConfig, environ: Mapping[str, str], on_retry: Callable[[str], None]
) -> ApiBackend:
    # Loading it takes a second, which only those who need it wait for.
    from turnwise.transforms.judging.backends.gemini import GeminiApi

    access = with_key(find_access(config, environ), environ)
    return ApiBackend(config, GeminiApi(config, access), on_retry, access.api_key)


def _check_judges(
    config: JudgeConfig, environ: Mapping[str, str], options: Sequence[JudgeModelOptions]
) -> None:
    from turnwise.transforms.judging.backends.gemini import check_settings

    check_models(
        config, options, check_settings, lambda: _connect_judges(config, environ, lambda model: None)
    )


register_judge(
    JudgeKind(
        name=_JUDGES_NAME,
        help="a model, through google-genai",
        connect=_connect_judges,
        access=find_access,
        check=_check_judges,
        is_available=_is_available,
        provider=(_JUDGES_NAME, "vertex_ai"),
        paths=("models", "tunedModels", "publishers", "projects", "google"),
    )
)


# The judges `openai` and `azure`: OpenAI's API, at OpenAI, at Azure, or of a server of one's own.

_Find = Callable[[JudgeConfig, Mapping[str, str]], Access]


def _openai(config: JudgeConfig, environ: Mapping[str, str]) -> Access:
    url = config.base_url or environ.get("OPENAI_BASE_URL")
    own = api_url(url, "api.openai.com", "/chat/completions", "/responses")
    return keyed_access("openai", "OPENAI_API_KEY", config, environ, own)


def _azure(config: JudgeConfig, environ: Mapping[str, str]) -> Access:
    host = config.base_url or environ.get("AZURE_OPENAI_ENDPOINT")
    if not host:
        raise ConfigError("judge: no address of azure; set AZURE_OPENAI_ENDPOINT, or judge.base_url")
    url = host.rstrip("/").removesuffix("/openai/v1") + "/openai/v1"
    access = keyed_access("azure", "AZURE_OPENAI_API_KEY", config, environ, url)
    if not (access.api_key or access.secret):
        raise ConfigError("judge: no credentials for azure; set AZURE_OPENAI_API_KEY")
    return access


def _is_of_openai(url: str) -> bool:
    """Returns whether an address is a region of OpenAI's, or Azure's."""
    host = urlsplit(url).hostname or ""
    return host.endswith((".openai.com", ".openai.azure.com"))


def _kind(name: str, help_line: str, find: _Find, speaks_newest: bool) -> JudgeKind:
    def connect(
        config: JudgeConfig, environ: Mapping[str, str], on_retry: Callable[[str], None]
    ) -> ApiBackend:
        with needing("openai"):
            from turnwise.transforms.judging.backends.openai import OpenAiApi

        access = with_key(find(config, environ), environ)
        is_newest = speaks_newest or access.base_url is None or _is_of_openai(access.base_url)
        return ApiBackend(config, OpenAiApi(access, is_newest), on_retry, access.api_key)

    def check(config: JudgeConfig, environ: Mapping[str, str], options: Sequence[JudgeModelOptions]) -> None:
        from turnwise.transforms.judging.backends.settings import check_settings

        check_models(config, options, check_settings, lambda: connect(config, environ, lambda model: None))

    return JudgeKind(
        name=name,
        help=help_line,
        connect=connect,
        access=find,
        check=check,
        provider=(name,),
        needs_model=True,
        extra="openai",
    )


register_judge(_kind("openai", "a model of OpenAI, or of any server with its API", _openai, False))
register_judge(_kind("azure", "a model of OpenAI at Azure", _azure, True))


# The judge `anthropic`: Anthropic's API.

_NAME = "anthropic"


def _access(config: JudgeConfig, environ: Mapping[str, str]) -> Access:
    url = config.base_url or environ.get("ANTHROPIC_BASE_URL")
    own = api_url(url, "api.anthropic.com", "/messages", "/v1")
    return keyed_access(_NAME, "ANTHROPIC_API_KEY", config, environ, own)


def _connect(config: JudgeConfig, environ: Mapping[str, str], on_retry: Callable[[str], None]) -> ApiBackend:
    with needing("anthropic"):
        from turnwise.transforms.judging.backends.openai import AnthropicApi

    access = with_key(_access(config, environ), environ)
    return ApiBackend(config, AnthropicApi(access), on_retry, access.api_key)


def _check(config: JudgeConfig, environ: Mapping[str, str], options: Sequence[JudgeModelOptions]) -> None:
    from turnwise.transforms.judging.backends.settings import (
        check_settings_anthropic_settings as check_settings,
    )

    check_models(config, options, check_settings, lambda: _connect(config, environ, lambda model: None))


register_judge(
    JudgeKind(
        name=_NAME,
        help="a model of Anthropic",
        connect=_connect,
        access=_access,
        check=_check,
        provider=(_NAME,),
        needs_model=True,
        extra=_NAME,
    )
)


# Estimates the calls of a run without making any.


class Estimator:
    """Counts questions: as `calls` the minimum (if votes agree, and the first judge of a cascade is sure).

    The maximum is counted as `samples`.
    """

    def __init__(
        self, config: JudgeConfig, requests: Requests, counts: JudgeCounts, cache: ReplyCache | None
    ) -> None:
        self._candidates, self._requests = config.candidates, requests
        self._counts, self._cache = counts, cache
        self._seen: set[bytes] = set()

    async def __call__(self, question: Question[R], samples: range) -> list[JudgeSample[R]]:
        """Counts a question once, however often it is asked."""
        request = self._requests.make(question)
        if request.key not in self._seen:
            self._seen.add(request.key)
            kept = await self._cache.get(request.key) if self._cache else {}
            missing = 0 if question.if_unsure else sum(number not in kept for number in samples)
            most = sum(number not in kept for number in range(question.options.num_samples))
            calls = min(missing, 1) if self._candidates else missing
            prompt = estimated_tokens(request.template.instructions, request.evidence)
            model = request.template.name
            self._counts.add_estimate(model, calls, most, prompt * calls, ANSWER_TOKENS * missing)
        return [JudgeSample(None, "only estimated")] * len(samples)

    async def aclose(self) -> None:
        """Closes the cache."""
        if self._cache is not None:
            self._cache.close()


# The check of a judge's models before a run.


def check_models(
    config: JudgeConfig,
    options: Sequence[JudgeModelOptions],
    check_settings: Callable[[str, JsonObject], object],
    connect: Callable[[], ApiBackend],
) -> None:
    """Checks settings, credentials and models, at no cost.

    Args:
        config: The judge's settings.
        options: What the judged criteria say of models and generation settings.
        check_settings: Raises ConfigError for generation settings that a model does not have.
        connect: Makes the client, once the settings are right.

    Raises:
        ConfigError: The first error.
    """
    stated = options or [JudgeModelOptions()]
    for each in stated:
        check_settings(each.judge_model or config.model, _merged(config, each.judge_model_config))
    models = {each.judge_model or config.model for each in stated}
    asyncio.run(_find(connect(), sorted(models)))


def _merged(config: JudgeConfig, own: JsonObject | None) -> JsonObject:
    try:
        return merged_settings(config, own)
    except ValueError as error:
        raise ConfigError(f"judge_model_config: {error}") from None


async def _find(backend: ApiBackend, models: Sequence[str]) -> None:
    try:
        await asyncio.gather(*(backend.check(model) for model in models))
    finally:
        await backend.aclose()
