"""The judges `openai` and `azure`: OpenAI's API, at OpenAI, at Azure, or of a server of one's own."""

from collections.abc import Callable, Mapping, Sequence
from urllib.parse import urlsplit

from turnwise.schemas.config import ConfigError, JudgeConfig
from turnwise.transforms.judging.ask import JudgeModelOptions
from turnwise.transforms.judging.backends.calling import ApiBackend
from turnwise.transforms.judging.judges.checking import check_models
from turnwise.transforms.judging.judges.keys import api_url, keyed_access, needing, with_key
from turnwise.transforms.judging.judges_base import Access, JudgeKind, register_judge

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
