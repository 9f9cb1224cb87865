"""The config file: google-adk's EvalConfig with the fields of turnwise."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Annotated, Any, Literal, TypeAlias
from urllib.parse import urlsplit

import jmespath
from jmespath.exceptions import JMESPathError
from jmespath.functions import Functions
from msgspec import Struct
from pydantic import AfterValidator, AliasChoices, BeforeValidator, Field, StringConstraints, model_validator
from pydantic.alias_generators import to_camel

from turnwise.schemas import jsonio
from turnwise.schemas.ces.evaluation import EvaluationMetricsThresholds, check_thresholds
from turnwise.schemas.conversation import Settings, ToolSetting

_SHOWN = 200


def _checked(expression: str) -> str:
    problem: str | None = None
    table = Functions.FUNCTION_TABLE
    try:
        for node in _nodes(jmespath.compile(expression).parsed):
            name, children = node.get("value", ""), node.get("children", [])
            if node["type"] == "slice" and children[2:] == [0]:
                problem = "the step of a slice is 0"
            elif node["type"] == "function_expression" and name not in table:
                problem = f"there is no function {name}(){jsonio.did_you_mean(name, table)}"
            elif node["type"] == "function_expression":
                wanted, number = table[name]["signature"], len(children)
                least = "at least " if wanted and wanted[-1].get("variadic") else ""
                if number < len(wanted) or (number > len(wanted) and not least):
                    problem = f"{name}() takes {least}{len(wanted)} arguments, not {number}"
            if problem is not None:
                break
    except JMESPathError as error:
        problem = " ".join(str(error).split())[:_SHOWN]
    except RecursionError:
        problem = "it nests too deeply"
    if problem is not None:
        raise ValueError(f"{jsonio.short_repr(expression, _SHOWN)} is no JMESPath expression: {problem}")
    return expression


def _nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yields all parts of a parsed expression, each before those inside it."""
    yield node
    for child in node["children"] if node["type"] not in ("slice", "literal") and "children" in node else ():
        yield from _nodes(child)


Path = Annotated[str, AfterValidator(_checked)]
"""A JMESPath expression, such as `meta.id` or `lines[*].{user: asked, agent: said}`."""


class MappingConfig(Settings):
    """Where the fields of conversations stand in records of any form, as JMESPath expressions.

    Exactly one of `turns`, `messages`, `turn` and `message` is set. With one of the last two, a record is a
    part of a conversation, and records with one `conversation_id` are joined.

    Attributes:
        when: Only records for which this is true; None: those that no format recognises.
        turns: List of turns with the fields of canonical ones.
        messages: List of messages in any format that is read.
        ignored: Lists and objects that hold neither calls nor words.
        order: Number or text by which the records of a conversation are ordered, as numbers if all are
            numbers or texts of numbers; None: by time, then place.
    """

    when: Path | None = None
    conversation_id: Path | None = None
    turns: Path | None = None
    messages: Path | None = None
    turn: Path | None = None
    message: Path | None = None
    order: Path | None = None
    ignored: Path | None = None
    app_version: Path | None = None
    language: Path | None = None
    eval_id: Path | None = None
    eval_set_id: Path | None = None
    user_id: Path | None = None
    start_time: Path | None = None
    tags: Path | None = None
    ended: Path | None = None
    ended_detail: Path | None = None
    labels: Path | None = None
    state: Path | None = None
    tools: Path | None = None

    @property
    def is_part(self) -> bool:
        """Whether a record is a part of a conversation."""
        return bool(self.turn or self.message)

    @property
    def content(self) -> str:
        """The expression that finds turns or messages."""
        return self.turns or self.messages or self.turn or self.message or ""

    @model_validator(mode="after")
    def _one_content(self) -> "MappingConfig":
        given = [name for name in ("turns", "messages", "turn", "message") if getattr(self, name)]
        if len(given) != 1:
            raise ValueError("exactly one of turns, messages, turn and message is needed")
        if self.is_part and not self.conversation_id:
            raise ValueError(f"{given[0]} needs conversation_id, by which records are joined")
        return self


def named_keys(mapping: MappingConfig) -> frozenset[str]:
    """Returns all keys that the expressions of a mapping name."""
    stated = (path for path in mapping.model_dump().values() if isinstance(path, str))
    nodes = (node for path in stated for node in _nodes(jmespath.compile(path).parsed))
    return frozenset(node["value"] for node in nodes if node["type"] == "field")


@lru_cache(maxsize=64)
def states_no_calls(expression: str) -> bool:
    """Returns whether an expression of turns or messages states that there are no calls."""
    none = {"type": "literal", "value": [], "children": []}
    pairs = (node for node in _nodes(jmespath.compile(expression).parsed) if node["type"] == "key_val_pair")
    return any(pair["value"] == "tool_calls" and pair["children"] == [none] for pair in pairs)


DEFAULT_MODEL = "gemini-2.5-flash"

_NOT_SETTINGS = {
    "automatic_function_calling", "cached_content", "candidate_count", "http_options", "response_json_schema",
    "response_mime_type", "response_modalities", "response_schema", "should_return_http_response",
    "system_instruction", "tool_config", "tools",
}  # fmt: skip


def generation_settings(value: jsonio.JsonObject) -> jsonio.JsonObject:
    """Returns settings in snake_case; raises ValueError for one spelt twice, and for parts of the request."""
    named = {snake_case(key): item for key, item in value.items()}
    if len(named) < len(value):
        raise ValueError("a setting is given in two spellings")
    for name in sorted(named.keys() & _NOT_SETTINGS):
        raise ValueError(f"{name} is not a setting")
    return named


def snake_case(key: str) -> str:
    """Returns a camelCase key in snake_case."""
    return "".join(f"_{char.lower()}" if char.isupper() else char for char in key)


def _plain_url(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("must be an http or https URL")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ValueError("must have no user, password, query or fragment; keys come from the environment")
    return value


_SECRET_FORM = r"^projects/[^/\s]+(/locations/[^/\s]+)?/secrets/[^/\s]+/versions/[^/\s]+$"


class TokenPrices(Settings, populate_by_name=True):
    """Prices of a model, in any currency; `in`, `out` and `cached` are short names.

    Attributes:
        output_per_million: Price of a million answer tokens, including thoughts.
        cached_per_million: Price of a million prompt tokens read from a cache; None: that of others.
    """

    input_per_million: float = Field(ge=0, validation_alias=AliasChoices("input_per_million", "in"))
    output_per_million: float = Field(ge=0, validation_alias=AliasChoices("output_per_million", "out"))
    cached_per_million: float | None = Field(
        default=None, ge=0, validation_alias=AliasChoices("cached_per_million", "cached")
    )

    def cost(self, tokens_in: int, tokens_out: int, cached: int = 0) -> float:
        """Returns the cost of tokens; `cached` are those of `tokens_in` that were read from a cache."""
        cached_price = self.input_per_million if self.cached_per_million is None else self.cached_per_million
        prompt = (tokens_in - cached) * self.input_per_million + cached * cached_price
        return (prompt + tokens_out * self.output_per_million) / 1e6


ModelName: TypeAlias = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
"""Name of a model, without spaces around it."""


def _named_one_by_one(models: object) -> object:
    if not isinstance(models, list | tuple):
        raise ValueError("must be a list of model names")
    return models


def _panel(models: tuple[str, ...]) -> tuple[str, ...]:
    if len(models) == 1:
        raise ValueError("a panel has at least two models")
    twice = next((model for model in models if models.count(model) > 1), None)
    if twice is not None:
        raise ValueError(f"{twice} is named twice")
    return models


Panel: TypeAlias = Annotated[
    tuple[ModelName, ...], BeforeValidator(_named_one_by_one), AfterValidator(_panel), Field(max_length=9)
]
"""Models that vote on each question, two to nine; (): there is no panel."""


class Cascade(Settings, alias_generator=to_camel, populate_by_name=True):
    """A cheap judge that is asked first; where it is unsure, the question goes on.

    It is unsure if it gives no verdict, if its answers are too few, cannot all be used or do not all have the
    same verdict, or if it states less than `min_confidence`, 1..100 (None: it is not asked to state any).
    """

    model: ModelName
    num_samples: int = Field(default=3, ge=1, strict=True)
    min_confidence: int | None = Field(default=None, ge=1, le=100, strict=True)

    @model_validator(mode="after")
    def _can_be_unsure(self) -> "Cascade":
        if self.num_samples == 1 and self.min_confidence is None:
            raise ValueError("with num_samples 1 it is never unsure: give min_confidence, or more samples")
        return self


class JudgeConfig(Settings, protected_namespaces=()):
    """Settings of the judge. API keys come only from the environment, or from Secret Manager.

    Attributes:
        backend: Name of a judge; None: the first that has credentials, else `none`.
        model: Default model of all criteria.
        project: Google Cloud project; makes the Gemini backend use Vertex AI.
        location: Vertex AI location; None: the environment's, else `global`.
        base_url: URL of the API; None: Google's.
        api_key_secret: Secret of Google's Secret Manager that holds the API key, read by every worker with
            its own identity: `projects/P/secrets/S/versions/V`. None: the key is in the environment.
        requests_per_minute: Rate of requests, retries included; None: no limit.
        timeout_s: Maximum seconds of a call, with retries, without the wait for the rate limit.
        max_attempts: Maximum number of attempts per request; None: until `timeout_s`.
        retry_delay_s: Approximate seconds between the first and second attempt; the delay doubles with every
            attempt, up to 10 s. A longer delay requested by the server is respected.
        max_tokens: Maximum number of prompt and answer tokens; None: no limit.
        max_cost: Maximum cost, in the currency of `prices`; None: no limit.
        per: What these limits hold for: a run, or all runs with the same `cache` in an hour or day of UTC.
        candidates: Whether to request several samples as candidates of one call, if the model supports it.
        cache: SQLite file or PostgreSQL database for replies, shared between runs; None: no cache.
    """

    backend: str | None = Field(default=None, min_length=1)
    model: ModelName = DEFAULT_MODEL
    panel: Panel = ()
    cascade: Cascade | None = None
    project: str | None = None
    location: str | None = None
    base_url: Annotated[str, AfterValidator(_plain_url)] | None = None
    api_key_secret: str | None = Field(default=None, pattern=_SECRET_FORM)
    generation_config: Annotated[jsonio.JsonObject, AfterValidator(generation_settings)] = Field(
        default_factory=dict
    )
    requests_per_minute: float | None = Field(default=None, gt=0)
    timeout_s: float = Field(default=120.0, gt=0, le=86_400)
    max_attempts: int | None = Field(default=None, ge=1)
    retry_delay_s: float = Field(default=1.0, ge=0)
    max_calls: int | None = Field(default=None, ge=0)
    max_tokens: int | None = Field(default=None, ge=0)
    max_cost: float | None = Field(default=None, ge=0)
    per: Literal["run", "hour", "day"] = "run"
    candidates: bool = False
    cache: str | None = Field(default=None, min_length=1, repr=False)
    prices: dict[str, TokenPrices] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _has_what_renews(self) -> "JudgeConfig":
        if self.per != "run" and self.max_calls is self.max_tokens is self.max_cost is None:
            raise ValueError("per: needs max_calls, max_tokens or max_cost")
        return self


REDACTED_KINDS = ("email", "phone", "card", "iban", "ip", "secret", "national_id")


def _known_kinds(kinds: tuple[str, ...]) -> tuple[str, ...]:
    for kind in kinds:
        if kind not in REDACTED_KINDS:
            hint = jsonio.did_you_mean(kind, REDACTED_KINDS)
            raise ValueError(f"{kind!r} is unknown{hint}; there are {', '.join(REDACTED_KINDS)}")
    return tuple(dict.fromkeys(kinds))


class RedactConfig(Settings):
    """What leaves the process as markers such as `<EMAIL_1>`; see [redaction](redaction.md).

    Attributes:
        kinds: Kinds of values that are looked for (default: all).
        patterns: Name of a kind of your own -> regular expression of RE2.
        paths: Paths in conversations, such as `tool_calls.args.password`, whose values are replaced.
        keep: Paths in conversations whose values are not replaced, wherever they stand.
        regions: Countries (ISO 3166) in whose form phone numbers without a country code may be written.
        backend: What finds values: `builtin`, beside it `presidio` or `google` (Sensitive Data Protection).
        project: Project of Google Cloud that pays for `google`, `projects/P` or `projects/P/locations/L`.
    """

    kinds: Annotated[tuple[str, ...], AfterValidator(_known_kinds)] = REDACTED_KINDS
    patterns: dict[Annotated[str, Field(pattern="^[A-Z][A-Z0-9_]{0,40}$")], str] = Field(default_factory=dict)
    paths: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    keep: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    regions: tuple[Annotated[str, Field(pattern="^[A-Z]{2}$")], ...] = ("US", "GB", "DE", "FR", "ES", "IT")
    backend: Literal["builtin", "presidio", "google"] = "builtin"
    project: str | None = None

    @model_validator(mode="after")
    def _replaces_something(self) -> "RedactConfig":
        if not (self.kinds or self.patterns or self.paths) and self.backend == "builtin":
            raise ValueError("kinds: none is named, nor patterns or paths: nothing would be replaced; "
                             "leave out `redact`, or kinds, which stands for all")  # fmt: skip
        if both := sorted({*self.paths} & {*self.keep}):
            raise ValueError(f"paths and keep: {both[0]!r} stands in both")
        return self


STATUS = "verdict"
"""Stands in the place of a criterion's name where verdicts are counted."""
_Share = Annotated[float, Field(ge=0, le=1, strict=True)]
_Number = Annotated[float, Field(strict=True)]


class BoundRule(Settings):
    """A bound on a pass rate or a mean over conversations.

    Attributes:
        measure: `pass_rate`: share of PASS in the outcomes, 0..1; `mean`: mean of the values.
        side: What is held against the bound: `lower` or `upper` end of the 95 % interval, or the `estimate`.
    """

    rule: Literal["bound"]
    criterion: str = Field(min_length=1)
    measure: Literal["pass_rate", "mean"] = "pass_rate"
    side: Literal["lower", "upper", "estimate"]
    at_least: _Number | None = None
    at_most: _Number | None = None

    @model_validator(mode="after")
    def _check(self) -> "BoundRule":
        bounds = [bound for bound in (self.at_least, self.at_most) if bound is not None]
        if len(bounds) != 1:
            raise ValueError("needs at_least or at_most, and not both")
        if self.measure == "pass_rate" and not 0 <= bounds[0] <= 1:
            raise ValueError("at_least, at_most: a pass_rate lies between 0 and 1")
        return self


class NotWorseRule(Settings):
    """The run is not worse than a baseline by more than a margin.

    It passes if the whole interval of the difference lies above the margin, and fails if it lies below.

    Attributes:
        margin: Largest loss that does not matter, as a share of the scale: 0.02 of a pass rate are 2 points.
        criterion: A criterion, or `verdict`; None: each of the `primary` ones.
    """

    rule: Literal["not_worse"]
    margin: _Share
    criterion: str | None = Field(default=None, min_length=1)


class DestructiveRule(Settings):
    """No conversation has a destructive call that was not expected."""

    rule: Literal["no_destructive_calls"]


class CoverageRule(Settings):
    """At least a share of everything was decided.

    What was rejected counts as without a verdict: records and conversations that failed, eval cases that
    could not be read or have no recording.
    """

    rule: Literal["coverage"]
    at_least: _Share
    criterion: str = Field(default=STATUS, min_length=1)


class AllPassRule(Settings):
    """Every conversation of the run passes a criterion: none fails, and none has no verdict.

    It is applied to the run as a whole. What was rejected leaves it inconclusive: records and conversations
    that failed (unless `--max_failure_ratio` of the run allows it), eval cases that could not be read or
    have no recording.

    `criterion` is one of the config with a threshold, or `verdict`.
    """

    rule: Literal["all_pass"]
    criterion: str = Field(default=STATUS, min_length=1)


def _with_kind(rule: object) -> object:
    # Pydantic names the kinds that there are for a wrong one, and not for none.
    return rule | {"rule": rule.get("rule") or ""} if isinstance(rule, dict) else rule


GateRule = Annotated[
    Annotated[
        BoundRule | NotWorseRule | DestructiveRule | CoverageRule | AllPassRule, Field(discriminator="rule")
    ],
    BeforeValidator(_with_kind),
]


class GateConfig(Settings):
    """The rules; all of them must pass.

    Attributes:
        primary: The criteria that decide a comparison with the baseline, the first leads; empty: the verdict.
        rules: The rules; empty: there is no gate.
    """

    primary: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    rules: tuple[GateRule, ...] = ()


ScoreLevel = Literal["conversation", "turn"]
Measure = Literal["mean", "pass_rate", "no_score_rate", "p50", "p90", "p99", "count"]
RATES = ("pass_rate", "no_score_rate")


class Drop(Settings):
    """A significant drop against earlier windows; tested whenever a window gives figures.

    Attributes:
        baseline: Number of earlier non-empty windows of the same app version that form the baseline; of a
            batch the run that `--baseline` names, and those before it.
        significance: Highest probability that any window of an app version raises the alert although nothing
            changes, however often windows are looked at; between 0 and 1, exclusive.
    """

    baseline: int = Field(default=1, ge=1, le=1000)
    significance: float = Field(default=0.05, gt=0, lt=1)


class AlertRule(Settings):
    """A condition under which a window of an app version raises an alert.

    Attributes:
        level: Scores of whole conversations or of turns; None: conversations if there are any.
        app_version: Glob of app versions; `*` also matches an unknown one.
        measure: Tested metric. `pass_rate`: share of passes among passes and fails; `no_score_rate`: share
            of all that has no score; `p50`, `p90`, `p99`: quantiles of latencies, in seconds; `count`: number
            of scores, including those without a value.
        below: Alert if the measure is below this; for `count`, tested at the end of the window.
        drop: Alert if `mean` or `pass_rate` is significantly worse than in the windows before.
        min_count: Minimum number of values in the window and its baseline; not with `count`.
    """

    name: str = Field(min_length=1, max_length=200)
    criterion: str
    level: ScoreLevel | None = None
    app_version: str = Field(default="*", min_length=1)
    measure: Measure
    below: float | None = None
    above: float | None = None
    drop: Drop | None = None
    min_count: int = Field(default=20, ge=1)

    @model_validator(mode="after")
    def _check(self) -> "AlertRule":
        bounds = [bound for bound in (self.below, self.above) if bound is not None]
        if not bounds and self.drop is None:
            raise ValueError("needs below, above or drop")
        if self.drop is not None and self.measure not in ("mean", "pass_rate"):
            raise ValueError(f"drop: a test is known for mean and pass_rate, not for {self.measure}")
        if self.measure in RATES and not all(0 <= bound <= 1 for bound in bounds):
            raise ValueError(f"below, above: a {self.measure} lies between 0 and 1")
        if self.measure == "count" and "min_count" in self.model_fields_set:
            raise ValueError("min_count: does not go with count")
        return self


class Alert(Struct, frozen=True):
    """A rule that holds for one window of an app version.

    Attributes:
        name: Unique for a rule, window and app version.
        window_start: RFC 3339.
        window_end: RFC 3339, exclusive.
        app_version: None: unknown.
        count: Number of scores behind the value.
        kind: `below`, `above` or `drop`.
        threshold: Exceeded bound; for a drop, the significance.
        baseline_value: Value in the windows before; None: no drop.
        baseline_count: Number of scores behind the baseline; None: no drop.
        p_value: Of a one-sided test that the window is no worse than its baseline, valid however often it is
            made; None: no drop.
        message: The alert as one sentence.
    """

    name: str
    rule: str
    window_start: str
    window_end: str
    app_version: str | None
    criterion: str
    level: ScoreLevel
    measure: Measure
    value: float
    count: int
    kind: str
    threshold: float
    baseline_value: float | None
    baseline_count: int | None
    p_value: float | None
    message: str


DEFAULT_CRITERIA: jsonio.JsonObject = {
    "tool_trajectory_avg_score": {"threshold": 1.0, "informs_with_actions": True},
    "response_match_score": {"threshold": 0.8, "informs_with_actions": True},
    "tool_effects_v1": 1.0,
    "tool_invocation_score": {},
    "expectations_met": {},
    "turn_latency": {},
    "tool_call_latency": {},
    "recorded_reward": {},
}


class ConfigError(ValueError):
    """An error in the user's configuration; the message is one line.

    >>> try:
    ...     turnwise.evaluate([], criteria={"tool_effects": 1.0})
    ... except turnwise.ConfigError as error:
    ...     print(error)
    config: criteria.tool_effects: unknown criterion (did you mean tool_effects_v1?)
    """

    def __init__(self, *args: object) -> None:
        """Keeps the passwords of addresses out of the message."""
        super().__init__(*(jsonio.without_passwords(arg) if isinstance(arg, str) else arg for arg in args))


def _within_their_ranges(thresholds: jsonio.JsonObject) -> jsonio.JsonObject:
    check_thresholds(EvaluationMetricsThresholds.from_value(thresholds))
    return thresholds


class CesConfig(Settings):
    """Settings of CES cases that neither the case nor the API defines.

    Attributes:
        evaluation_metrics_thresholds: The app's message in proto3 JSON; a case overrides single fields.
    """

    evaluation_metrics_thresholds: Annotated[jsonio.JsonObject, AfterValidator(_within_their_ranges)] = Field(
        default_factory=dict
    )
    unexpected_response: Literal["FAIL", "ALLOW"] = "FAIL"


class DiscoveryEngineConfig(Settings):
    """Conversion of a search engine's answers to conversations."""

    tool_name: str = Field(default="search", min_length=1)


MatchCasesBy = Literal["first_user_message"]
NamePath = Annotated[str, Field(min_length=1, max_length=200)]
"""Keys with dots between them, which may hold dots themselves; a number is the index of a list."""


class CodeConfig(Settings):
    """Reference to a function in google-adk's form: its full name, such as `my_metrics.politeness`."""

    name: str = Field(min_length=1)


class CustomMetricConfig(Settings, alias_generator=to_camel, populate_by_name=True, extra="ignore"):
    """A custom metric of google-adk, whose function is not run; unknown keys are ignored."""

    code_config: CodeConfig


class EvalConfig(Settings):
    """The parsed config file.

    Attributes:
        criteria: Name -> threshold, or an object with the criterion's fields.
        custom_metrics: google-adk's custom metrics by name; those named in `criteria` have no score.
        adk_compat: Reproduce google-adk 2.13's values where turnwise deviates on purpose; with no `criteria`,
            only google-adk's default ones have thresholds.
        alerts: Rules on the windows of a stream, and on a run as one window; `evaluate` tests none.
        tools: Effects of tools: name or glob -> effect or ToolSetting.
        app_version_from: Paths in records, or names of attributes of spans, that hold the app version; the
            first that is stated counts, before what the records say elsewhere.
        eval_id_from: Likewise the id of the eval case that a conversation is held against.
        eval_set_id_from: Likewise the set of that case.
        match_cases_by: What finds the case of a conversation that names none; None: nothing does.
        mapping: Where conversations stand in records of any form; None: only known formats are read.
        slices: Dimensions of `metrics_by_slice`: the part before the colon of tags such as
            `skipped:NO_RELEVANT_CONTENT`, `tag` (every tag), `language` or `agent`.
        redact: What leaves the process as markers; None: everything leaves as it is.
        prices: Prices of models, for `agent_cost` and, beside `judge.prices`, the judge: name as the log says
            it, or glob. The name itself counts, then without what stands before `models/` and without date
            or version (`m-2025-08-07`, `m@001`), else the first glob that matches; `*` matches any model,
            and one that the log does not name.
        user_simulator_config: google-adk's, for running agents; accepted and not used.
        live_model_config: google-adk's, for running agents; accepted and not used.

    >>> config = turnwise.EvalConfig(criteria={"response_match_score": 0.5}, slices=("language",))
    >>> log = {"conversation_id": "c1", "turns": [{"user": "Hi", "agent": "Hello"}]}
    >>> turnwise.evaluate(log, config=config).status is None  # nothing was expected, so nothing is scored
    True
    """

    criteria: jsonio.JsonObject = Field(default_factory=lambda: dict(DEFAULT_CRITERIA))
    custom_metrics: dict[str, CustomMetricConfig] = Field(default_factory=dict)
    adk_compat: bool = Field(default=False, strict=True)
    ces: CesConfig = CesConfig()
    judge: JudgeConfig = JudgeConfig()
    alerts: list[AlertRule] = Field(default_factory=jsonio.no_items)
    tools: dict[str, ToolSetting] = Field(default_factory=dict)
    discovery_engine: DiscoveryEngineConfig = DiscoveryEngineConfig()
    app_version_from: tuple[NamePath, ...] = ()
    eval_id_from: tuple[NamePath, ...] = ()
    eval_set_id_from: tuple[NamePath, ...] = ()
    match_cases_by: MatchCasesBy | None = None
    mapping: MappingConfig | None = None
    slices: tuple[str, ...] = ("skipped", "query")
    gate: GateConfig = GateConfig()
    redact: RedactConfig | None = Field(default=None, exclude_if=lambda redact: redact is None)
    prices: dict[str, TokenPrices] = Field(default_factory=dict)
    user_simulator_config: jsonio.JsonObject | None = None
    live_model_config: jsonio.JsonObject | None = None

    @model_validator(mode="before")
    @classmethod
    def _criteria_of_adk(cls, value: object) -> object:
        """Takes the threshold of effects, which google-adk does not have, out of its default."""
        held = value.get("discovery_engine") if isinstance(value, dict) else None
        is_old = isinstance(held, dict) and "app_version_field" in held
        if is_old or (isinstance(value, dict) and "traces" in value):
            raise ValueError("traces.app_version_attribute and discovery_engine.app_version_field are "
                             "app_version_from now, a list of paths")  # fmt: skip
        if isinstance(value, dict) and value.get("adk_compat") is True and "criteria" not in value:
            return value | {"criteria": DEFAULT_CRITERIA | {"tool_effects_v1": {"threshold": None}}}
        return value

    @model_validator(mode="after")
    def _prices_of_the_judge(self) -> "EvalConfig":
        if self.prices and not self.prices.keys() <= self.judge.prices.keys():
            judge = self.judge.model_copy(update={"prices": {**self.prices, **self.judge.prices}})
            object.__setattr__(self, "judge", judge)
        return self
