"""Puts a judge together from its settings, and tries it before a run."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from turnwise.schemas.config import ConfigError
from turnwise.schemas.judge_config import JudgeConfig
from turnwise.schemas.values import JsonObject
from turnwise.transforms.judging.ask import Ask, JudgeModelOptions
from turnwise.transforms.judging.backends.access import find_access, find_endpoint
from turnwise.transforms.judging.cache import ReplyCache
from turnwise.transforms.judging.judge import Judge
from turnwise.transforms.judging.limits.counts import JudgeCounts
from turnwise.transforms.judging.limits.estimate import Estimator
from turnwise.transforms.judging.limits.pace import Pace
from turnwise.transforms.judging.offline import LocalJudge, NoJudge
from turnwise.transforms.judging.requests import Requests, merged_settings


@dataclass(frozen=True)
class JudgeSettings:
    """What a worker needs to know of the judge. It pickles, and holds no secret.

    Attributes:
        config: Its `backend` is given: `chosen_backend` says which, where the run is started.
        concurrency: Calls in flight at most, per worker process.
        run_id: Whose budget it is: another run has another judge.
        only_estimates: Count what would be asked of a model, and ask nothing.
    """

    config: JudgeConfig
    concurrency: int = 64
    run_id: str = ""
    only_estimates: bool = False

    def key(self) -> str:
        """Returns a text that equal settings have in common."""
        return f"{self.run_id}\n{self.concurrency}\n{self.only_estimates}\n{self.config.model_dump_json()}"


class BuiltJudge(NamedTuple):
    """A judge, and how it is closed."""

    ask: Ask
    aclose: Callable[[], Awaitable[None]]


def build_judge(settings: JudgeSettings, environ: Mapping[str, str], counts: JudgeCounts) -> BuiltJudge:
    """Returns the judge that the settings name; raises ConfigError for want of credentials or of a cache."""
    config = settings.config
    if settings.only_estimates:
        endpoint = find_endpoint(config, environ)
        cache = ReplyCache(config.cache) if config.cache else None
        estimator = Estimator(config, Requests(config, endpoint), counts, cache)
        return BuiltJudge(estimator, estimator.aclose)
    if config.backend != "gemini":
        return BuiltJudge(LocalJudge() if config.backend == "local" else NoJudge(), _nothing)
    from turnwise.transforms.judging.backends.gemini import (
        Gemini,  # it takes a second, which only those who need it wait for
    )

    access = find_access(config, environ)
    pace = Pace(config.requests_per_minute)

    def note_retry(model: str) -> None:
        counts.add_retry(model)
        pace.charge()

    cache = ReplyCache(config.cache) if config.cache else None
    requests = Requests(config, access.endpoint)
    backend = Gemini(config, access, note_retry)
    judge = Judge(config, backend, requests, counts, pace, settings.concurrency, cache)
    return BuiltJudge(judge, judge.aclose)


def check_judge(
    settings: JudgeSettings, environ: Mapping[str, str], options: Iterable[JudgeModelOptions] = ()
) -> None:
    """Finds out before a run, at no cost, whether the judge can work.

    Args:
        settings: What judge it is.
        environ: Where credentials are found.
        options: What the judged criteria say of models and generation settings.

    Raises:
        ConfigError: There are no credentials, or they are refused; a model does not exist, or a generation
            setting; the API cannot be reached; the cache cannot be used.
    """
    config = settings.config
    if config.backend != "gemini":
        return
    if config.cache:
        ReplyCache(config.cache).close()
    asyncio.run(_check(config, environ, tuple(options)))


async def _check(
    config: JudgeConfig, environ: Mapping[str, str], options: Sequence[JudgeModelOptions]
) -> None:
    from turnwise.transforms.judging.backends.gemini import Gemini, check_settings

    for own in [None, *(each.judge_model_config for each in options)]:
        check_settings(_merged(config, own))
    models = {each.judge_model or config.model for each in options} or {config.model}
    backend = Gemini(config, find_access(config, environ), lambda model: None)
    try:
        await asyncio.gather(*(backend.check(model) for model in sorted(models)))
    finally:
        await backend.aclose()


def _merged(config: JudgeConfig, own: JsonObject | None) -> JsonObject:
    try:
        return merged_settings(config, own)
    except ValueError as error:
        raise ConfigError(f"judge_model_config: {error}") from None


async def _nothing() -> None:
    return None
