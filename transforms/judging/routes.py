"""Which judge has a model: names such as `openai/gpt-4o` say it themselves."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from turnwise.schemas.config import ConfigError, JudgeConfig
from turnwise.transforms.judging.judges_base import JUDGES, JudgeKind

_OF_ONE_API = ("project", "location", "base_url", "api_key_secret")


class Route(NamedTuple):
    """Where questions for a model go.

    Attributes:
        kind: The judge.
        model: The model's name at its API.
    """

    kind: JudgeKind
    model: str


def provider_of(model: str) -> JudgeKind | None:
    """Returns the judge that a model's name begins with (`openai/...`); None: it begins with none."""
    provider, slash, name = model.partition("/")
    if not (slash and name):
        return None
    return next((kind for kind in JUDGES.values() if provider in kind.provider), None)


def check_provider(model: str, paths: Iterable[str] | None = None) -> None:
    """Checks what a model's name begins with.

    Args:
        model: The model as the config names it.
        paths: What models' names may begin with besides providers; None: what those of any judge may.

    Raises:
        ConfigError: It is unknown.
    """
    first, slash, _ = model.partition("/")
    if paths is None:
        paths = [path for kind in JUDGES.values() for path in kind.paths or ()]
    if slash and provider_of(model) is None and first not in paths:
        known = sorted(name for each in JUDGES.values() for name in each.provider)
        raise ConfigError(f"judge_model {model}: unknown provider {first} (there are: {', '.join(known)})")


def route_of(own: JudgeKind, model: str) -> Route:
    """Returns where the questions for a model go.

    Args:
        own: The run's judge. One that stands for no provider (a plugin's) gets all names as they are.
        model: The model as the config names it.

    Raises:
        ConfigError: Its name begins with an unknown provider.
    """
    kind = provider_of(model) if own.provider else None
    if kind is not None:
        return Route(kind, model.partition("/")[2])
    if own.paths is not None:
        check_provider(model, own.paths)
    return Route(own, model)


class Routes:
    """The judges of a run's models, and the settings of each.

    Address, project and secret in the config are those of the run's own judge. Other judges are found by the
    environment.
    """

    def __init__(self, config: JudgeConfig, environ: Mapping[str, str], own: JudgeKind):
        self._config, self._environ, self._own = config, environ, own

    def find(self, model: str) -> Route:
        """Returns where the questions for a model go; raises ConfigError for an unknown provider."""
        return route_of(self._own, model)

    def config(self, kind: JudgeKind) -> JudgeConfig:
        """Returns the settings of a judge."""
        if kind.name == self._own.name:
            return self._config
        return self._config.model_copy(update={"backend": kind.name, **dict.fromkeys(_OF_ONE_API)})

    def endpoint(self, kind: JudgeKind) -> str:
        """Returns the service that would answer, even if credentials are missing."""
        return kind.endpoint(self.config(kind), self._environ)
