"""Where questions go: which judge has a model, requests with cache keys, and one client a judge."""

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from hashlib import sha256
from typing import Any, NamedTuple

import orjson
from msgspec import Struct, field
from pydantic import BaseModel

from turnwise.schemas.config import ConfigError, JudgeConfig, generation_settings
from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.registry import hook_errors
from turnwise.transforms.judging.ask import JudgeModelOptions, Question
from turnwise.transforms.judging.backends.base import (
    AuthenticationError,
    Backend,
    RawReply,
    Request,
    RequestTemplate,
    backend_fault,
)
from turnwise.transforms.judging.judges import JUDGES, JudgeKind
from turnwise.transforms.judging.limits import JudgeUsage
from turnwise.transforms.judging.prompts import asked_schema

_OF_ONE_API = ("project", "location", "base_url", "api_key_secret")


class Route(NamedTuple):
    """Where questions for a model go: the judge, and the model's name at its API."""

    kind: JudgeKind
    model: str


def provider_of(model: str) -> JudgeKind | None:
    """Returns the judge that a model's name begins with (`openai/...`); None: it begins with none."""
    provider, slash, name = model.partition("/")
    if not (slash and name):
        return None
    return next((kind for kind in JUDGES.values() if provider in kind.provider), None)


def check_provider(model: str, paths: Iterable[str] | None = None) -> None:
    """Checks what a model's name begins with; raises ConfigError if it is unknown."""
    first, slash, _ = model.partition("/")
    if paths is None:
        paths = [path for kind in JUDGES.values() for path in kind.paths or ()]
    if slash and provider_of(model) is None and first not in paths:
        known = sorted(name for judge in JUDGES.values() for name in judge.provider)
        raise ConfigError(f"judge_model {model}: unknown provider {first} (there are: {', '.join(known)})")


def route_of(run_judge: JudgeKind, model: str) -> Route:
    """Returns where the questions for a model go; raises ConfigError for an unknown provider."""
    kind = provider_of(model) if run_judge.provider else None
    if kind is not None:
        return Route(kind, model.partition("/")[2])
    if run_judge.paths is not None:
        check_provider(model, run_judge.paths)
    return Route(run_judge, model)


class Routes:
    """The judges of a run's models, and the settings of each.

    Address, project and secret in the config are those of the run's own judge. Other judges are found by the
    environment.
    """

    def __init__(self, config: JudgeConfig, environ: Mapping[str, str], run_judge: JudgeKind):
        self._config, self._environ, self._run_judge = config, environ, run_judge

    def find(self, model: str) -> Route:
        """Returns where the questions for a model go; raises ConfigError for an unknown provider."""
        return route_of(self._run_judge, model)

    def config(self, kind: JudgeKind) -> JudgeConfig:
        """Returns the settings of a judge."""
        if kind.name == self._run_judge.name:
            return self._config
        return self._config.model_copy(update={"backend": kind.name, **dict.fromkeys(_OF_ONE_API)})

    def endpoint(self, kind: JudgeKind) -> str:
        """Returns the service that would answer, even if credentials are missing."""
        return kind.endpoint(self.config(kind), self._environ)


_KINDS_KEPT = 1024


def merged_settings(config: JudgeConfig, stated: JsonObject | None) -> JsonObject:
    """Returns the generation settings of a criterion over the run's; raises ValueError if they are none."""
    return {**config.generation_config, **generation_settings(stated or {})}


class Requests:
    """Makes requests with one config.

    The key of a request is a SHA-256 over the endpoint (a base URL of the user's own, else the API by its
    name), the model, the generation settings, the prompt's version, instructions and evidence, and the
    answer's schema. The project and the region are left out: the same model serves them all.
    """

    def __init__(self, config: JudgeConfig, routes: Routes):
        self._config = config
        self._routes = routes
        self._template = lru_cache(_KINDS_KEPT)(self._make_template)

    def make(self, question: Question[Any]) -> Request:
        """Returns the request of a question; raises ValueError as `generation_settings` does."""
        prompt, options = question.prompt, question.options
        reply_model: type[BaseModel] = question.reply_model
        stated = orjson.dumps(options.judge_model_config, option=orjson.OPT_SORT_KEYS)
        model = self.model(options)
        template = self._template(model, stated, prompt.version, prompt.instructions, reply_model)
        evidence = prompt.evidence.encode("utf-8", "surrogatepass")
        return Request(template, prompt.evidence, sha256(template.digest + evidence).digest())

    def model(self, options: JudgeModelOptions) -> str:
        """Returns the model of a question, as the config names it."""
        return options.judge_model or self._config.model

    def _make_template(
        self,
        name: str,
        stated_settings: bytes,
        version: str,
        instructions: str,
        reply_model: type[BaseModel],
    ) -> RequestTemplate:
        settings = merged_settings(self._config, orjson.loads(stated_settings))
        schema = asked_schema(reply_model)
        kind, model = self._routes.find(name)
        parts = [self._routes.endpoint(kind), model, settings, version, instructions, schema]
        digest = sha256(orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)).digest()
        return RequestTemplate(model, instructions, schema, settings, digest, name, kind.name)


class Connections:
    """A backend for the models of all judges. The run's own judge is connected at once, others when asked."""

    def __init__(
        self,
        routes: Routes,
        run_judge: JudgeKind,
        environ: Mapping[str, str],
        note_retry: Callable[[str], None],
    ):
        """Connects the run's own judge; raises ConfigError if that fails."""
        self._routes, self._environ, self._note_retry = routes, environ, note_retry
        self._backends = {run_judge.name: self._connected(run_judge)}

    async def generate(self, request: Request, count: int) -> list[RawReply]:
        """Makes one call; see Backend; raises AuthenticationError if a judge cannot be connected."""
        return await self.backend(request.template.judge).generate(request, count)

    def backend(self, judge: str) -> Backend:
        """Returns the backend of a judge; raises AuthenticationError if it cannot be connected."""
        if judge not in self._backends:
            try:
                self._backends[judge] = self._connected(JUDGES[judge])
            except ConfigError as error:
                raise AuthenticationError(str(error)) from None
        return self._backends[judge]

    async def aclose(self) -> None:
        """Closes all connections."""
        for backend in self._backends.values():
            await backend.aclose()

    def _connected(self, kind: JudgeKind) -> Backend:
        assert kind.connect
        with hook_errors(f"judge {kind.name}: connect"):
            backend = kind.connect(self._routes.config(kind), self._environ, self._note_retry)
        fault = backend_fault(backend)
        if fault:
            raise ConfigError(f"judge {kind.name}: connect returned no Backend: {fault}")
        return backend


class JudgeProgress(Struct):
    """Calls in flight in this process, batch jobs by id with their status, and usage by model."""

    asking: int = 0
    jobs: dict[str, str] = field(default_factory=dict)
    judged: dict[str, JudgeUsage] = field(default_factory=dict)


JUDGING = JudgeProgress()
