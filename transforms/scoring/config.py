"""Builds the criteria that a config names, and says in one line what is wrong with it."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from turnwise.schemas.config import AlertRule, ConfigError, EvalConfig, load_json_object, snake_case
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.criteria.base import CRITERIA, Criterion
from turnwise.transforms.criteria.custom import CustomMetric
from turnwise.transforms.judging.judges_base import find_judge
from turnwise.transforms.scoring.verdict import STATUS
from turnwise.transforms.text.cleaning import check_glob


def parse_config(text: str, name: str = "config") -> EvalConfig:
    """Parses a config file.

    Raises:
        ConfigError: It is not valid; one line.
    """
    value = _snake_fields(name, load_json_object(text, name))
    if value.get("custom_metrics", {}) is None:
        del value["custom_metrics"]  # google-adk takes null for none
    try:
        config = EvalConfig.model_validate(value)
    except ValidationError as error:
        raise ConfigError(f"{name}: {_first_problem(error, EvalConfig)}") from None
    if config.judge.backend:
        find_judge(config.judge, f"{name}: judge.backend: ")
    _check_alerts(config, name)
    return config


def _check_alerts(config: EvalConfig, name: str) -> None:
    """Refuses rules that could never say anything, and names that stand twice."""
    names: set[str] = set()
    for index, rule in enumerate(config.alerts):
        problem = _alert_problem(rule, config.criteria)
        if problem is None and rule.name in names:
            problem = f"name: {rule.name!r} stands twice"
        if problem is not None:
            raise ConfigError(f"{name}: alerts.{index}.{problem}")
        names.add(rule.name)


def _alert_problem(rule: AlertRule, criteria: JsonObject) -> str | None:
    try:
        check_glob(rule.app_version)
    except ValueError as error:
        return f"app_version: {error}"
    if rule.criterion == STATUS:
        if rule.level == "turn":
            return f"level: {STATUS} is of whole conversations"
    elif rule.criterion not in CRITERIA:
        return f"criterion: {rule.criterion!r} is unknown{_nearest(rule.criterion, [*CRITERIA, STATUS])}"
    elif rule.criterion not in criteria:
        return f"criterion: {rule.criterion} is not among the config's criteria"
    scale = (0.0, 1.0) if rule.criterion == STATUS else CRITERIA[rule.criterion].scale
    bounds = [bound for bound in (rule.below, rule.above) if bound is not None]
    if rule.measure == "mean" and scale and not all(scale[0] <= bound <= scale[1] for bound in bounds):
        return f"below, above: a mean of {rule.criterion} lies between {scale[0]:g} and {scale[1]:g}"
    is_timed = rule.criterion != STATUS and CRITERIA[rule.criterion].unit == "seconds"
    if rule.measure in ("p50", "p90", "p99") and not is_timed:
        return f"measure: {rule.measure} is of latencies only, and {rule.criterion} is none"
    return None


def build_criteria(config: EvalConfig) -> tuple[Criterion, ...]:
    """Returns the criteria of a config in its order.

    Raises:
        ConfigError: A name, field or value is wrong, or there is no criterion.
    """
    if not config.criteria:
        raise ConfigError("config: criteria: names no criterion")
    for glob in config.tools:
        try:
            check_glob(glob)
        except ValueError as error:
            raise ConfigError(f"config: tools: {error}") from None
    return tuple(_criterion(name, value, config) for name, value in config.criteria.items())


def _criterion(name: str, value: JsonValue, config: EvalConfig) -> Criterion:
    if name in config.custom_metrics:
        return _custom_metric(name, value, config.custom_metrics[name].code_config.name)
    kind = CRITERIA.find(name, "config: criteria.")
    fields = _snake_fields(name, value) if isinstance(value, dict) else _threshold(name, value)
    if config.adk_compat and "adk_compat" in kind.model_fields:
        fields.setdefault("adk_compat", True)
    if "tools" in fields:
        raise ConfigError(f"config: criteria.{name}.tools: `tools` stands beside `criteria`, for all of them")
    if "tools" in kind.model_fields:
        fields["tools"] = config.tools
    try:
        return kind.model_validate(fields)
    except ValidationError as error:
        raise ConfigError(f"config: criteria.{name}: {_first_problem(error, kind)}") from None


def _custom_metric(name: str, value: JsonValue, function: str) -> Criterion:
    """Returns a custom metric in place of any other criterion of its name, as google-adk does."""
    threshold = value.get("threshold") if isinstance(value, dict) else value
    return CustomMetric(name=name, function=function, **_threshold(name, threshold))


def _threshold(name: str, value: JsonValue) -> JsonObject:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ConfigError(f"config: criteria.{name}: {value!r} is neither a threshold nor an object")
    return {"threshold": value}


def _snake_fields(name: str, value: JsonObject) -> JsonObject:
    fields = {snake_case(key): item for key, item in value.items()}
    if len(fields) < len(value):
        keys = [snake_case(key) for key in value]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ConfigError(f"{name}: {twice}: given in two spellings")
    return fields


def _first_problem(error: ValidationError, model: type[BaseModel]) -> str:
    found = error.errors()
    # A key that is misspelt says more than that its right spelling is missing.
    first = next((one for one in found if one["type"] == "extra_forbidden"), found[0])
    path = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        known = _fields_at(model, first["loc"][:-1])
        return f"{path}: unknown field{_nearest(str(first['loc'][-1]), known)}"
    message = str(first["msg"]).removeprefix("Value error, ")
    if first["type"] in ("model_type", "dict_type", "model_attributes_type"):
        message = f"a JSON object is needed, not {type(first['input']).__name__}"
    return f"{path}: {message}" if path else message


def _fields_at(model: type[BaseModel], path: Sequence[int | str]) -> list[str]:
    """Returns the fields that there are at a place of a model; none where that is unknown."""
    choices = [model]
    for step in path:
        field = model.model_fields.get(snake_case(step)) if isinstance(step, str) else None
        if field is not None:
            choices = [c for c in _classes(field.annotation) if issubclass(c, BaseModel)]
        elif isinstance(step, str):
            choices = [c for c in choices if _is_kind(c, step)] or choices
        if not choices:
            return []
        model = choices[0]
    return list(model.model_fields)


def _is_kind(model: type[BaseModel], name: str) -> bool:
    """Returns whether a model is the one of several that a name stands for."""
    return any(name in get_args(field.annotation) for field in model.model_fields.values())


def _classes(annotation: Any) -> list[type]:
    """Returns the classes that an annotation is made of."""
    if isinstance(annotation, type) and not get_args(annotation):
        return [annotation]
    return [found for part in get_args(annotation) for found in _classes(part)]


def _nearest(name: str, known: Iterable[str]) -> str:
    near = get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f" (did you mean {near[0]}?)" if near else ""
