"""The config file: google-adk's EvalConfig, and what turnwise adds to it."""

import json
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool
from pydantic.alias_generators import to_camel

from turnwise.schemas.alert_config import AlertRule
from turnwise.schemas.judge_config import JudgeConfig
from turnwise.schemas.tools import ToolSetting
from turnwise.schemas.values import JsonObject

DEFAULT_CRITERIA: JsonObject = {
    "tool_trajectory_avg_score": 1.0,
    "response_match_score": 0.8,
    "tool_invocation_score": {},
    "expectations_met": {},
    "turn_latency": {},
    "tool_call_latency": {},
}


class ConfigError(ValueError):
    """Something the user must put right; its message is one line."""


class CesConfig(BaseModel):
    """How CES cases are judged where neither they nor the API's documentation say.

    Attributes:
        evaluation_metrics_thresholds: The app's EvaluationMetricsThresholds in proto3 JSON; a case's own
            overrides win field by field.
        unexpected_response: What an answer does in a golden turn that expects none.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    evaluation_metrics_thresholds: JsonObject = Field(default_factory=dict)
    unexpected_response: Literal["FAIL", "ALLOW"] = "FAIL"


class DiscoveryEngineConfig(BaseModel):
    """How the answers of a search engine become conversations.

    Attributes:
        app_version_field: Where a record names the app version, as keys with dots between them (a number is
            an index of a list); None: its engine is the app version.
        tool_name: What the tool is called that searches.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    app_version_field: str | None = None
    tool_name: str = Field(default="search", min_length=1)


class CodeConfig(BaseModel):
    """Where google-adk finds a function.

    Attributes:
        name: Its full name, such as `my_metrics.politeness`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(min_length=1)


class CustomMetricConfig(BaseModel):
    """A custom metric of google-adk; unknown keys are ignored, as there.

    Attributes:
        code_config: The function that computes it. It is not run.
    """

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="ignore", frozen=True)

    code_config: CodeConfig


class EvalConfig(BaseModel):
    """The parsed config file.

    Attributes:
        criteria: Name -> threshold, or an object with the criterion's fields.
        custom_metrics: google-adk's, by name; those that `criteria` names are unscored.
        adk_compat: Give google-adk 2.13's number wherever turnwise differs from it on purpose.
        ces: Settings of CES cases.
        judge: Who judges, and how.
        alerts: What is said about the windows of a stream; a batch run has none.
        tools: What tools do: name, or glob -> effect, or an object.
        discovery_engine: How the answers of a search engine are read.
        slices: What metrics are told apart by, beside the app version: the part before the colon of tags like
            `skipped:NO_RELEVANT_CONTENT`, `tag` (every tag) or `language`.
        user_simulator_config: google-adk's, for running agents; accepted and not used.
        live_model_config: google-adk's, for running agents; accepted and not used.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    criteria: JsonObject = Field(default_factory=lambda: dict(DEFAULT_CRITERIA))
    custom_metrics: dict[str, CustomMetricConfig] = Field(default_factory=dict)
    adk_compat: StrictBool = False
    ces: CesConfig = CesConfig()
    judge: JudgeConfig = JudgeConfig()
    alerts: list[AlertRule] = Field(default_factory=list)
    tools: dict[str, ToolSetting] = Field(default_factory=dict)
    discovery_engine: DiscoveryEngineConfig = DiscoveryEngineConfig()
    slices: tuple[str, ...] = ("skipped", "query")
    user_simulator_config: JsonObject | None = None
    live_model_config: JsonObject | None = None


def load_json_object(text: str, name: str) -> JsonObject:
    """Parses a JSON object; raises ConfigError if it is none, or if a key stands in it twice."""
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
