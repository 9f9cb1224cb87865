"""The judge `anthropic`: Anthropic's API."""

from collections.abc import Callable, Mapping, Sequence

from turnwise.schemas.config import JudgeConfig
from turnwise.transforms.judging.ask import JudgeModelOptions
from turnwise.transforms.judging.backends.calling import ApiBackend
from turnwise.transforms.judging.judges.checking import check_models
from turnwise.transforms.judging.judges.keys import api_url, keyed_access, needing, with_key
from turnwise.transforms.judging.judges_base import Access, JudgeKind, register_judge

_NAME = "anthropic"


def _access(config: JudgeConfig, environ: Mapping[str, str]) -> Access:
    url = config.base_url or environ.get("ANTHROPIC_BASE_URL")
    own = api_url(url, "api.anthropic.com", "/messages", "/v1")
    return keyed_access(_NAME, "ANTHROPIC_API_KEY", config, environ, own)


def _connect(config: JudgeConfig, environ: Mapping[str, str], on_retry: Callable[[str], None]) -> ApiBackend:
    with needing("anthropic"):
        from turnwise.transforms.judging.backends.anthropic import AnthropicApi

    access = with_key(_access(config, environ), environ)
    return ApiBackend(config, AnthropicApi(access), on_retry, access.api_key)


def _check(config: JudgeConfig, environ: Mapping[str, str], options: Sequence[JudgeModelOptions]) -> None:
    from turnwise.transforms.judging.backends.anthropic_settings import check_settings

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
