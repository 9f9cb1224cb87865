"""The keywords of `turnwise.evaluate` as the settings of a run."""

import json
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from msgspec.structs import replace

from turnwise.pipeline.settings.options import RawJudgeOptions
from turnwise.pipeline.settings.run import (
    RunSettings,
    check_rubrics,
    check_several,
    judge_settings,
    judged_by,
    read_config,
    run_info,
    with_fail_on,
)
from turnwise.schemas.config import ConfigError, EvalConfig, JudgeConfig
from turnwise.transforms.criteria.base import Criterion
from turnwise.transforms.decisions.gate.measured import check_gate
from turnwise.transforms.formats.registry import check_log_format
from turnwise.transforms.judging.backends.base import Backend, backend_fault
from turnwise.transforms.judging.judges_base import NONE, JudgeKind
from turnwise.transforms.judging.setup import JudgeSettings
from turnwise.transforms.scoring.config import build_criteria, parse_config
from turnwise.transforms.scoring.evaluate import STATUS

Config: TypeAlias = EvalConfig | Mapping[str, Any] | str | os.PathLike[str]

_OPTION = re.compile(r"--(?=[a-z])")
_NONE = type(None)
_TYPES: tuple[tuple[str, Any, str], ...] = (
    ("criteria", (Mapping, _NONE), "dict of names and thresholds"),
    ("config", (EvalConfig, Mapping, str, os.PathLike, _NONE), "EvalConfig, dict or path"),
    ("judge_concurrency", int, "int"),
    ("sample_rate", int | float, "number"),
    ("input_format", str, "name of a format"),
    ("run_id", (str, _NONE), "str"),
)


class Options(NamedTuple):
    """The keywords of an evaluation."""

    criteria: Mapping[str, Any] | None = None
    config: Config | None = None
    judge: str | Backend | JudgeKind | None = None
    judge_concurrency: int = 64
    sample_rate: float = 1.0
    input_format: str = "auto"
    run_id: str | None = None


def run_settings(options: Options, has_cases: bool) -> RunSettings:
    """Returns the settings of the keywords.

    Raises:
        ConfigError: A value is wrong; the first mistake, by the name of the keyword.
        TypeError: A value is of a wrong type.
    """
    _check_types(options)
    try:
        return _settings(options, has_cases)
    except ConfigError as error:
        raise ConfigError(in_python(str(error))) from None


def in_python(message: str) -> str:
    """Returns a message about options of the command in the names of the keywords."""
    return _OPTION.sub("", message.replace("--eval_cases", "cases"))


def _check_types(options: Options) -> None:
    for name, kinds, said in _TYPES:
        value = getattr(options, name)
        if not isinstance(value, kinds) or isinstance(value, bool):
            raise TypeError(f"{name}: {type(value).__name__} is no {said}")


def _settings(options: Options, has_cases: bool) -> RunSettings:
    config = with_criteria(read_any_config(options.config), options.criteria)
    check_log_format(options.input_format)
    criteria = build_criteria(config)
    check_rubrics(criteria, has_cases, options.input_format)
    check_gate(config.gate, criteria)
    config = with_fail_on(config, (STATUS,), criteria)
    run = run_info(options.run_id, config)
    judge = _judge(options, config.judge, run.run_id, criteria)
    return RunSettings(
        run=judged_by(run, judge),
        config=config,
        criteria=criteria,
        judge=judge,
        sample_rate=options.sample_rate,
        input=("conversations",),
        input_format=options.input_format,
        eval_cases=("cases",) if has_cases else (),
    )


def _judge(
    options: Options, config: JudgeConfig, run_id: str, criteria: Sequence[Criterion]
) -> JudgeSettings:
    judge = options.judge
    name = judge if isinstance(judge, str) else None
    raw = RawJudgeOptions(
        judge=name, judge_concurrency=options.judge_concurrency, sample_rate=options.sample_rate
    )
    if judge is None or isinstance(judge, str):
        return judge_settings(raw, config, run_id, criteria)
    fault = None if isinstance(judge, JudgeKind) else backend_fault(judge)
    if fault:
        raise TypeError(f"judge: neither a name nor a Backend: {fault}")
    kind = judge if isinstance(judge, JudgeKind) else _kind_of(judge)
    # An object may answer otherwise in the next run, so its replies are kept only where the config says so.
    settings = judge_settings(replace(raw, judge=NONE.name), config, run_id)
    model = config.model if "model" in config.model_fields_set else kind.model or config.model
    stated = {"backend": kind.name, "model": model, "cache": settings.config.cache if config.cache else None}
    stated_config = settings.config.model_copy(update=stated)
    check_several(kind, stated_config, criteria)
    return replace(settings, config=stated_config, own=kind)


def _kind_of(backend: Backend) -> JudgeKind:
    name = f"{type(backend).__module__}.{type(backend).__qualname__}"
    return JudgeKind(name=name, help="", connect=lambda config, environ, note_retry: backend)


def read_any_config(config: Config | None) -> EvalConfig:
    """Returns a config that is given as an object, a dict, a path, or not at all; raises ConfigError."""
    if isinstance(config, EvalConfig):
        return config
    if isinstance(config, Mapping):
        return parse_config(_json(dict(config)))
    return read_config(None if config is None else os.fspath(config))


def with_criteria(config: EvalConfig, criteria: Mapping[str, Any] | None) -> EvalConfig:
    """Returns a config with these criteria.

    Raises:
        ConfigError: The config names some itself.
    """
    if criteria is None:
        return config
    if "criteria" in config.model_fields_set:
        raise ConfigError("criteria: given twice, as `criteria` and in the config")
    own = config.model_dump(mode="json", exclude_unset=True)
    return parse_config(_json({**own, "criteria": dict(criteria)}), "config")


def _json(value: Mapping[str, Any]) -> str:
    try:
        return json.dumps(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigError(f"config: {error}") from None
