"""Builds a judge from its settings, and checks it before a run."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from turnwise.schemas.config import ConfigError
from turnwise.schemas.extension.registry import hook_errors
from turnwise.schemas.judge_config import JudgeConfig
from turnwise.transforms.judging.ask import Ask, JudgeModelOptions
from turnwise.transforms.judging.backends.base import backend_fault
from turnwise.transforms.judging.cache import ReplyCache
from turnwise.transforms.judging.judge import Judge
from turnwise.transforms.judging.judges.base import JudgeKind, find_judge
from turnwise.transforms.judging.limits.counts import JudgeCounts
from turnwise.transforms.judging.limits.estimate import Estimator
from turnwise.transforms.judging.limits.pace import Pace
from turnwise.transforms.judging.requests import Requests


@dataclass(frozen=True)
class JudgeSettings:
    """Settings of the judge for workers; picklable and without secrets.

    Attributes:
        config: Its `backend` is given: `chosen_judge` says which, where the run is started.
        concurrency: Calls in flight at most, per worker process.
        run_id: Run that owns the budget.
        only_estimates: Count what would be asked of a model, and ask nothing.
        own: A judge that was handed in, in place of the one that the config names.
    """

    config: JudgeConfig
    concurrency: int = 64
    run_id: str = ""
    only_estimates: bool = False
    own: JudgeKind | None = None

    @property
    def most_waiting(self) -> int:
        """Conversations that wait for answers at most: so many that the judge always has calls to make."""
        return 2 * self.concurrency

    @property
    def kind(self) -> JudgeKind:
        """The judge; raises ConfigError if the config names none that there is."""
        return self.own or find_judge(self.config)

    def key(self) -> str:
        """Returns a text that is the same for equal settings."""
        return f"{self.run_id}\n{self.concurrency}\n{self.only_estimates}\n{self.config.model_dump_json()}"


class BuiltJudge(NamedTuple):
    """A judge, and how it is closed."""

    ask: Ask
    aclose: Callable[[], Awaitable[None]]


def build_judge(settings: JudgeSettings, environ: Mapping[str, str], counts: JudgeCounts) -> BuiltJudge:
    """Returns the judge that the settings name.

    Raises:
        ConfigError: Credentials or a cache are missing, or the judge gives no backend.
    """
    config, kind = settings.config, settings.kind
    if kind.answer:
        return BuiltJudge(kind.answer(), _nothing)
    assert kind.connect
    requests = Requests(config, kind.endpoint(config, environ))
    cache = ReplyCache(config.cache) if config.cache else None
    if settings.only_estimates:
        estimator = Estimator(config, requests, counts, cache)
        return BuiltJudge(estimator, estimator.aclose)
    pace = Pace(config.requests_per_minute)

    def note_retry(model: str) -> None:
        counts.add_retry(model)
        pace.charge()

    with hook_errors(f"judge {kind.name}: connect"):
        backend = kind.connect(config, environ, note_retry)
    fault = backend_fault(backend)
    if fault:
        raise ConfigError(f"judge {kind.name}: connect returned no Backend: {fault}")
    judge = Judge(config, backend, requests, counts, pace, settings.concurrency, cache)
    return BuiltJudge(judge, judge.aclose)


def check_judge(
    settings: JudgeSettings, environ: Mapping[str, str], options: Iterable[JudgeModelOptions] = ()
) -> None:
    """Checks before a run, at no cost, that the judge can work.

    Args:
        settings: Settings of the judge.
        environ: Environment with the credentials.
        options: Models and generation settings of the judged criteria.

    Raises:
        ConfigError: There are no credentials, or they are refused; a model does not exist, or a generation
            setting; the API cannot be reached; the cache cannot be used.
    """
    config, kind = settings.config, settings.kind
    if kind.connect and config.cache:
        ReplyCache(config.cache).close()
    with hook_errors(f"judge {kind.name}: check"):
        kind.check(config, environ, tuple(options))


async def _nothing() -> None:
    return None
