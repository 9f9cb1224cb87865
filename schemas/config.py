"""The config file: google-adk's EvalConfig with the fields of turnwise."""

import json
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, field_validator, model_validator
from pydantic.alias_generators import to_camel

from turnwise.schemas.alert import AlertRule
from turnwise.schemas.ces.limits import check_thresholds
from turnwise.schemas.ces.metric_settings import EvaluationMetricsThresholds
from turnwise.schemas.gate_config import GateConfig
from turnwise.schemas.judge_config import JudgeConfig
from turnwise.schemas.mapping import MappingConfig
from turnwise.schemas.tools import ToolSetting
from turnwise.schemas.values import JsonObject, no_items

DEFAULT_CRITERIA: JsonObject = {
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

    >>> import turnwise
    >>> try:
    ...     turnwise.evaluate([], criteria={"tool_effects": 1.0})
    ... except turnwise.ConfigError as error:
    ...     print(error)
    config: criteria.tool_effects: unknown criterion (did you mean tool_effects_v1?)
    """


class CesConfig(BaseModel):
    """Settings of CES cases that neither the case nor the API defines.

    Attributes:
        evaluation_metrics_thresholds: The app's EvaluationMetricsThresholds in proto3 JSON; a case overrides
            single fields.
        unexpected_response: Effect of an answer in a golden turn that expects none.
    """

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True)

    evaluation_metrics_thresholds: JsonObject = Field(default_factory=dict)
    unexpected_response: Literal["FAIL", "ALLOW"] = "FAIL"

    @field_validator("evaluation_metrics_thresholds")
    @classmethod
    def _within_their_ranges(cls, value: JsonObject) -> JsonObject:
        check_thresholds(EvaluationMetricsThresholds.from_value(value))
        return value


class DiscoveryEngineConfig(BaseModel):
    """Conversion of a search engine's answers to conversations.

    Attributes:
        app_version_field: Path of the app version in a record, keys separated by dots (a number is a list
            index); None: the engine is the app version.
        tool_name: Name of the search tool.
    """

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True)

    app_version_field: str | None = None
    tool_name: str = Field(default="search", min_length=1)


class TracesConfig(BaseModel):
    """Conversion of spans to conversations.

    Attributes:
        app_version_attribute: Resource attribute that holds the app version; None, or where it is missing:
            what spans say, else `service.version`.
    """

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True)

    app_version_attribute: str | None = Field(default=None, min_length=1)


class CodeConfig(BaseModel):
    """Reference to a function, in google-adk's form.

    Attributes:
        name: Full name, such as `my_metrics.politeness`.
    """

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True)

    name: str = Field(min_length=1)


class CustomMetricConfig(BaseModel):
    """A custom metric of google-adk; unknown keys are ignored.

    Attributes:
        code_config: Function that computes it; it is not run.
    """

    model_config = ConfigDict(
        defer_build=True, alias_generator=to_camel, populate_by_name=True, extra="ignore", frozen=True
    )

    code_config: CodeConfig


class EvalConfig(BaseModel):
    """The parsed config file.

    Attributes:
        criteria: Name -> threshold, or an object with the criterion's fields.
        custom_metrics: google-adk's custom metrics by name; those named in `criteria` are unscored.
        adk_compat: Reproduce google-adk 2.13's values where turnwise deviates on purpose; with no `criteria`,
            only google-adk's default ones have thresholds.
        ces: Settings of CES cases.
        judge: Settings of the judge.
        alerts: Rules on the windows of a stream; ignored in a batch run.
        tools: Effects of tools: name or glob -> effect or ToolSetting.
        discovery_engine: Settings for answers of a search engine.
        traces: Settings for spans.
        mapping: Where conversations stand in records of any form; None: only known formats are read.
        slices: Dimensions of `metrics_by_slice`: the part before the colon of tags such as
            `skipped:NO_RELEVANT_CONTENT`, `tag` (every tag) or `language`.
        gate: Rules by which a run passes or fails.
        user_simulator_config: google-adk's, for running agents; accepted and not used.
        live_model_config: google-adk's, for running agents; accepted and not used.

    >>> import turnwise
    >>> config = turnwise.EvalConfig(criteria={"response_match_score": 0.5}, slices=("language",))
    >>> log = {"conversation_id": "c1", "turns": [{"user": "Hi", "agent": "Hello"}]}
    >>> turnwise.evaluate(log, config=config).status is None  # nothing was expected, so nothing is scored
    True
    """

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True)

    criteria: JsonObject = Field(default_factory=lambda: dict(DEFAULT_CRITERIA))
    custom_metrics: dict[str, CustomMetricConfig] = Field(default_factory=dict)
    adk_compat: StrictBool = False
    ces: CesConfig = CesConfig()
    judge: JudgeConfig = JudgeConfig()
    alerts: list[AlertRule] = Field(default_factory=no_items)
    tools: dict[str, ToolSetting] = Field(default_factory=dict)
    discovery_engine: DiscoveryEngineConfig = DiscoveryEngineConfig()
    traces: TracesConfig = TracesConfig()
    mapping: MappingConfig | None = None
    slices: tuple[str, ...] = ("skipped", "query")
    gate: GateConfig = GateConfig()
    user_simulator_config: JsonObject | None = None
    live_model_config: JsonObject | None = None

    @model_validator(mode="before")
    @classmethod
    def _criteria_of_adk(cls, value: object) -> object:
        """Takes the threshold of effects, which google-adk does not have, out of its default."""
        if isinstance(value, dict) and value.get("adk_compat") is True and "criteria" not in value:
            return value | {"criteria": DEFAULT_CRITERIA | {"tool_effects_v1": {"threshold": None}}}
        return value


def load_json_object(text: str, name: str) -> JsonObject:
    """Parses a JSON object.

    Raises:
        ConfigError: It is any other value, or a key stands in it twice.
    """
    try:
        value = json.loads(text, object_pairs_hook=_without_duplicates)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{name}: {error}") from None
    if not isinstance(value, dict):
        raise ConfigError(f"{name}: must hold a JSON object, not {type(value).__name__}")
    return value


def _without_duplicates(pairs: list[tuple[str, Any]]) -> JsonObject:
    value = dict(pairs)
    if len(value) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"duplicate key {next(n for n in names if names.count(n) > 1)!r}")
    return value
