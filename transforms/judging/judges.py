"""The registry of judges, those without a model, what judges of an API share, and which one has a model."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import urlsplit

import msgspec
import orjson
from msgspec import Struct
from pydantic import BaseModel

from turnwise.schemas.config import ConfigError, JudgeConfig, generation_settings
from turnwise.schemas.jsonio import JsonObject, short_repr
from turnwise.schemas.registry import Registry, error_text, hook_errors, raised_at
from turnwise.transforms.judging.ask import Ask, JudgeModelOptions, JudgeSample, NotAsked, Question, R
from turnwise.transforms.judging.backends import base
from turnwise.transforms.judging.limits import JudgeUsage
from turnwise.transforms.judging.prompts import asked_schema

Environ: TypeAlias = Mapping[str, str]
OnRetry: TypeAlias = Callable[[str], None]
"""Called with the model's name before every repeated request."""
HOW_TO = (
    "set GOOGLE_API_KEY, or judge.project (or GOOGLE_GENAI_USE_VERTEXAI=true and GOOGLE_CLOUD_PROJECT) "
    "for Vertex AI, or judge.api_key_secret, or take --judge local"
)


# No struct: its __rich_repr__ would show the key.
@dataclass(frozen=True, slots=True)
class Access:
    """Access to a model's API. Never pickled, never printed with its key.

    Attributes:
        endpoint: Which service answers, as far as that may change the answers.
        api_key: The key; None: the service's own credentials.
        secret: Name of the secret that holds the key, which is read only where calls are made; None: none.
        base_url: Where the API is served; None: at its usual address.
        vertexai: Whether it is Vertex AI, with a project's credentials.

    >>> import turnwise
    >>> turnwise.Access("gateway", api_key="secret")
    Access(endpoint='gateway', ...)
    """

    endpoint: str
    api_key: str | None = field(default=None, repr=False)
    base_url: str | None = None
    vertexai: bool = False
    project: str | None = None
    location: str | None = None
    secret: str | None = None


class JudgeKind(Struct, frozen=True, kw_only=True):
    """A judge that `--judge` or the config can name.

    Add one with `register_judge`, in a module that an entry point of the group `turnwise.judges` or
    `--plugin` names. It has either `connect` or `answer`.

    Attributes:
        name: Its name for `--judge` and `judge.backend`.
        help: What it is, in one line.
        connect: Returns a client of a model's API. Called once a worker process; the third argument is to be
            called with the model's name before every repeated request. Raises ConfigError.
        answer: Returns a judge that needs no model.
        model: The model where neither the config nor an option names one; "": that of the config's default.
        access: Returns how the API is reached; raises ConfigError if nothing says how. None: no need.
        check: Raises ConfigError if the judge cannot work: before a run, at no cost. It is given what the
            judged criteria say of models and generation settings. None: nothing is checked.
        is_available: Whether it judges where no judge is named; None: it does not.
        provider: Names before a slash that stand for it in the name of a model (`openai/gpt-4o`).
        paths: Other names before a slash that are part of its models' own names; None: any.
        needs_model: Whether a model must be named, because it has no default.
        has_batches: Whether it takes batch jobs, at half the price; its backend is a `BatchBackend` then.
        extra: The extra of turnwise that its workers need; "": none.
        is_judging: False: it answers nothing, so that what needs a judge has no score.
        note: A line of the report of a run in which it was, or would have been, asked.

    >>> import turnwise
    >>> async def ask(question, samples):
    ...     return [turnwise.JudgeSample(None, reason="it is silent") for _ in samples]
    >>> kind = turnwise.JudgeKind(name="silent", help="gives no answer", answer=lambda: ask)
    >>> turn = {"user": "Hi", "agent": "Hello", "expected": {"response": "Good day"}}
    >>> log = {"conversation_id": "c1", "turns": [turn]}
    >>> turnwise.evaluate(log, criteria={"final_response_match_v2": 0.5}, judge=kind).scores[0]["reason"]
    'it is silent'
    """

    name: str
    help: str
    connect: Callable[[JudgeConfig, Environ, OnRetry], base.Backend] | None = None
    answer: Callable[[], Ask] | None = None
    model: str = ""
    access: Callable[[JudgeConfig, Environ], Access] | None = None
    check: Callable[[JudgeConfig, Environ, Sequence[JudgeModelOptions]], None] | None = None
    is_available: Callable[[JudgeConfig, Environ], bool] | None = None
    provider: tuple[str, ...] = ()
    paths: tuple[str, ...] | None = None
    needs_model: bool = False
    has_batches: bool = False
    extra: str = ""
    is_judging: bool = True
    note: str = ""

    def endpoint(self, config: JudgeConfig, environ: Environ) -> str:
        """Returns the service that would answer, even if credentials are missing."""
        with hook_errors(f"judge {self.name}: access"), suppress(ConfigError):
            if self.access and (endpoint := self.access(config, environ).endpoint):
                return endpoint
        return config.base_url or self.name


def _fault(item: object) -> str | None:
    if not isinstance(item, JudgeKind):
        return "it is no JudgeKind"
    return None if (item.connect is None) != (item.answer is None) else "it needs either connect or answer"


JUDGES = Registry[JudgeKind]("judge", "turnwise.judges", "turnwise.transforms.judging.backends", _fault)
"""Name -> judge."""


def register_judge(item: JudgeKind) -> JudgeKind:
    """Adds a judge, for all runs of this process, and returns it.

    Raises:
        TypeError: It is no `JudgeKind`, has not exactly one of `connect` and `answer`, or its name is taken.

    >>> import turnwise
    >>> class Silent:
    ...     def __init__(self, config, environ, on_retry):
    ...         pass
    ...     async def generate(self, request, count):
    ...         return [turnwise.RawReply(None, turnwise.Fault("empty", "it is silent"))] * count
    ...     async def aclose(self):
    ...         pass
    >>> _ = turnwise.register_judge(turnwise.JudgeKind(name="silent", help="is silent", connect=Silent))
    >>> turn = {"user": "Hi", "agent": "Hello", "expected": {"response": "Good day"}}
    >>> log = {"conversation_id": "c1", "turns": [turn]}
    >>> turnwise.evaluate(log, criteria={"final_response_match_v2": 0.5}, judge="silent").scores[0]["reason"]
    'it is silent'
    """
    return JUDGES.add(item)


def find_judge(config: JudgeConfig, before: str = "judge.backend ") -> JudgeKind:
    """Returns the judge that a config names; raises ConfigError if there is none of that name."""
    return JUDGES.find(config.backend or "", before)


def default_judge(config: JudgeConfig, environ: Environ) -> JudgeKind | None:
    """Returns the first judge that is available; None: none is."""
    for kind in JUDGES.values():
        with hook_errors(f"judge {kind.name}: is_available"):
            if kind.is_available and kind.is_available(config, environ):
                return kind
    return None


NONE = register_judge(
    JudgeKind(
        name="none",
        help="judged criteria have no score",
        answer=NotAsked,
        is_judging=False,
        note=f"judge: none, so judged criteria have no score; {HOW_TO}",
    )
)

LOCAL_MODEL = "turnwise-local-8"


class LocalJudge:
    """Answers the questions that have an answer without a model."""

    async def __call__(self, question: Question[R], samples: range) -> list[JudgeSample[R]]:
        """Answers once, the same for every sample."""
        if question.local is None:
            reason = "the local judge cannot answer this; a model can (see --judge)"
            return [JudgeSample(None, reason)] * len(samples)
        return [JudgeSample(question.local(), model=LOCAL_MODEL)] * len(samples)


LOCAL = "local"
register_judge(
    JudgeKind(
        name=LOCAL,
        help="rules, without network or model",
        answer=LocalJudge,
        note="judge: local, rules without a model; what they cannot decide has no score",
    )
)


def key_in(environ: Mapping[str, str], *names: str) -> str | None:
    """Returns the key that the first of some variables holds; None: none does."""
    return next((key for name in names if (key := environ.get(name, "").strip())), None)


@contextmanager
def needing(extra: str) -> Iterator[None]:
    """Raises ConfigError if what the body imports is not installed, and belongs to an extra of turnwise."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("turnwise"):
            raise
        what = f"needs turnwise[{extra}], which is not installed: pip install 'turnwise[{extra}]'"
        raise ConfigError(f"judge {extra}: {what}") from None


def server_access(
    name: str, variable: str, usual: str, added: Sequence[str], config: JudgeConfig, environ: Environ
) -> Access:
    """Returns the access to an API at its usual host, or at the address that a setting names.

    The variables of the address and the key begin with `variable`; `added` is what the API's client adds to
    the address. Raises ConfigError as `keyed_access` does.
    """
    url = config.base_url or environ.get(f"{variable}_BASE_URL") or ""
    is_usual = url == "" or urlsplit(url).hostname == usual
    url = url.rstrip("/")
    for end in added:
        url = url.removesuffix(end)
    return keyed_access(name, f"{variable}_API_KEY", config, environ, None if is_usual else url)


def keyed_access(name: str, variable: str, config: JudgeConfig, environ: Environ, url: str | None) -> Access:
    """Returns the access to an API by a key; a server of one's own may need none.

    Raises ConfigError if there is no key, or a setting that the API does not have.
    """
    for setting in ("project", "location"):
        if getattr(config, setting):
            raise ConfigError(f"judge.{setting}: is a setting of gemini, and the judge is {name}")
    secret = config.api_key_secret
    key = None if secret else key_in(environ, variable)
    if not (key or secret or url):
        raise ConfigError(f"judge: no credentials for {name}; set {variable}, or take --judge local")
    return Access(url or name, key, url, secret=secret)


# Where questions go: which judge has a model, requests with cache keys, and one client a judge.

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


def settings_of(kind: JudgeKind, config: JudgeConfig, run_judge: JudgeKind) -> JudgeConfig:
    """Returns the settings of a judge of a run.

    Address, project and secret in the config are those of the run's own judge. Other judges are found by the
    environment.
    """
    if kind.name == run_judge.name:
        return config
    return config.model_copy(update={"backend": kind.name, **dict.fromkeys(_OF_ONE_API)})


def merged_settings(config: JudgeConfig, stated: JsonObject | None) -> JsonObject:
    """Returns the generation settings of a criterion over the run's; raises ValueError if they are none."""
    return {**config.generation_config, **generation_settings(stated or {})}


class Requests:
    """Makes requests with one config.

    The key of a request is a SHA-256 over the endpoint (a base URL of the user's own, else the API by its
    name), the model, the generation settings, the prompt's version, instructions and evidence, and the
    answer's schema. The project and the region are left out: the same model serves them all.
    """

    def __init__(self, config: JudgeConfig, environ: Environ, run_judge: JudgeKind):
        self._config, self._environ, self._run_judge = config, environ, run_judge
        self._template = lru_cache(1024)(self._make_template)

    def make(self, question: Question[Any]) -> base.Request:
        """Returns the request of a question; raises ValueError as `generation_settings` does."""
        prompt, options = question.prompt, question.options
        reply_model: type[BaseModel] = question.reply_model
        stated = orjson.dumps(options.judge_model_config, option=orjson.OPT_SORT_KEYS)
        model = self.model(options)
        template = self._template(model, stated, prompt.version, prompt.instructions, reply_model)
        evidence = prompt.evidence.encode("utf-8", "surrogatepass")
        return base.Request(template, prompt.evidence, sha256(template.digest + evidence).digest())

    def model(self, options: JudgeModelOptions) -> str:
        """Returns the model of a question, as the config names it."""
        return options.judge_model or self._config.model

    def _make_template(
        self, name: str, stated: bytes, version: str, instructions: str, reply_model: type[BaseModel]
    ) -> base.RequestTemplate:
        settings = merged_settings(self._config, orjson.loads(stated))
        schema = asked_schema(reply_model)
        kind, model = route_of(self._run_judge, name)
        endpoint = kind.endpoint(settings_of(kind, self._config, self._run_judge), self._environ)
        parts = [endpoint, model, settings, version, instructions, schema]
        digest = sha256(orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)).digest()
        return base.RequestTemplate(model, instructions, schema, settings, digest, name, kind.name)


class Connections:
    """A backend for the models of all judges. The run's own judge is connected at once, others when asked."""

    def __init__(self, config: JudgeConfig, environ: Environ, run_judge: JudgeKind, note_retry: OnRetry):
        """Connects the run's own judge; raises ConfigError if that fails."""
        self._config, self._environ, self._run_judge = config, environ, run_judge
        self._note_retry = note_retry
        self._backends = {run_judge.name: self._connected(run_judge)}

    async def generate(self, request: base.Request, count: int) -> list[base.RawReply]:
        """Makes one call; see Backend; raises AuthenticationError if a judge cannot be connected.

        Where the backend of a plugin raises, hangs or returns something else, the replies say so.
        """
        backend, limit_s = self.backend(request.template.judge), self._config.timeout_s
        module = type(backend).__module__
        if module.startswith("turnwise.transforms."):
            return await backend.generate(request, count)
        text, limit = f"judge {request.template.judge}: generate", asyncio.timeout(limit_s)
        try:
            async with limit:
                replies = await backend.generate(request, count)
            if isinstance(replies, list) and [*map(_is_reply, replies)] == [True] * count:
                return replies
            why = f"returned {short_repr(replies)}; needed: {count} RawReply in a list, with text or fault"
            fault = base.Fault("other", f"{text} {why}")
        except (base.AuthenticationError, base.OneCandidateError, KeyboardInterrupt):
            raise
        except BaseException as error:
            if (task := asyncio.current_task()) and task.cancelling():
                raise
            why = f"{error_text(error)}{raised_at(error, [module])}"
            fault = base.Fault("other", base.one_line(f"{text}: {why}"))
            if limit.expired():
                fault = base.Fault("timeout", f"no answer within {limit_s:g} s")
        return [base.RawReply(None, fault, request.template.name, None, None)] * count

    def backend(self, judge: str) -> base.Backend:
        """Returns the backend of a judge; raises AuthenticationError if it cannot be connected."""
        if judge not in self._backends:
            try:
                self._backends[judge] = self._connected(JUDGES[judge])
            except ConfigError as error:
                raise base.AuthenticationError(str(error)) from None
        return self._backends[judge]

    async def aclose(self) -> None:
        """Closes all connections."""
        for backend in self._backends.values():
            await backend.aclose()

    def _connected(self, kind: JudgeKind) -> base.Backend:
        assert kind.connect
        config = settings_of(kind, self._config, self._run_judge)
        with hook_errors(f"judge {kind.name}: connect"):
            backend = kind.connect(config, self._environ, self._note_retry)
        fault = base.backend_fault(backend)
        if fault:
            raise ConfigError(f"judge {kind.name}: connect returned no Backend: {fault}")
        return backend


def _is_reply(reply: object) -> bool:
    """Returns whether it is a reply with either a text or a fault."""
    if not isinstance(reply, base.RawReply):
        return False
    return isinstance(reply.text, str) if reply.fault is None else reply.text is None


class JudgeProgress(Struct):
    """Calls in flight in this process, batch jobs by id with their status, and usage by model."""

    asking: int = 0
    jobs: dict[str, str] = msgspec.field(default_factory=dict)
    judged: dict[str, JudgeUsage] = msgspec.field(default_factory=dict)


JUDGING = JudgeProgress()
