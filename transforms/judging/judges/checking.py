"""The check of a judge's models before a run."""

import asyncio
from collections.abc import Callable, Sequence

from turnwise.schemas.config import ConfigError, JudgeConfig
from turnwise.schemas.jsonio import JsonObject
from turnwise.transforms.judging.ask import JudgeModelOptions
from turnwise.transforms.judging.backends.calling import ApiBackend
from turnwise.transforms.judging.requests import merged_settings


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
