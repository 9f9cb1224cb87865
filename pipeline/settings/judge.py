"""Chooses the judge of a run, and its model."""

import os
from collections.abc import Sequence
from pathlib import Path

from turnwise.pipeline.settings.raw_options import RawJudgeOptions
from turnwise.schemas.config import ConfigError, JudgeConfig
from turnwise.transforms.criteria.base import Criterion, JudgedCriterion
from turnwise.transforms.judging.ask import JudgeModelOptions
from turnwise.transforms.judging.judges_base import JUDGES, NONE, JudgeKind, default_judge, find_judge
from turnwise.transforms.judging.routes import check_provider, provider_of, route_of
from turnwise.transforms.judging.setup import JudgeSettings

DEFAULT_CACHE = Path.home() / ".cache/turnwise/replies.sqlite"
"""Default file of the judge cache."""

_NAMING = frozenset(("backend", "model", "panel", "cascade", "project", "base_url", "api_key_secret"))
"""Fields of the config of which each one says which judge is meant."""


def judge_settings(
    options: RawJudgeOptions, config: JudgeConfig, run_id: str, criteria: Sequence[Criterion] = ()
) -> JudgeSettings:
    """Returns who judges: the command line goes before the config.

    Raises:
        ConfigError: An option is out of its range, the judge is unknown, or the provider of a model.
    """
    if options.judge_concurrency < 1:
        raise ConfigError(f"--judge_concurrency must be 1 or more, not {options.judge_concurrency}")
    if not 0 <= options.sample_rate <= 1:
        raise ConfigError(f"--sample_rate must lie between 0 and 1, not {options.sample_rate}")
    stated_fields = config.model_fields_set
    if options.judge_model:
        config = config.model_copy(update={"panel": ()})
    own_model = options.judge_model or (config.model if "model" in config.model_fields_set else "")
    models = [own_model or next(iter(config.panel), ""), *config.panel, *_models_of(criteria)]
    _check_asks_several(options, config, criteria)
    kind = _judge_kind(options, config, [*models, *_first_models(config, criteria)])
    cache = options.judge_cache or config.cache or str(DEFAULT_CACHE)
    stated = {
        "backend": kind.name,
        "model": models[0] or _default_model(kind, models) or config.model,
        "cache": None if cache == "none" else cache,
    }
    judge = config.model_copy(update=stated)
    if kind.connect:
        check_several(kind, judge, criteria)
    is_named = bool(options.judge or options.judge_model or _NAMING & stated_fields)
    return JudgeSettings(
        judge, options.judge_concurrency, run_id, only_estimates=options.estimate, is_named=is_named
    )


def _models_of(criteria: Sequence[Criterion]) -> list[str]:
    """Returns the models that criteria name, without those of cascades."""
    found: list[str] = []
    for options in _options_of(criteria):
        found += options.panel or ([options.judge_model] if options.judge_model else [])
    return found


def _first_models(config: JudgeConfig, criteria: Sequence[Criterion]) -> list[str]:
    """Returns the models that cascades ask first."""
    cascades = [config.cascade, *(options.cascade for options in _options_of(criteria))]
    return [cascade.model for cascade in cascades if cascade]


def _options_of(criteria: Sequence[Criterion]) -> list[JudgeModelOptions]:
    return [each.options for each in criteria if isinstance(each, JudgedCriterion)]


def check_several(kind: JudgeKind, config: JudgeConfig, criteria: Sequence[Criterion]) -> None:
    """Checks that panels and cascades do not ask one model twice, by whatever names.

    Raises:
        ConfigError: One does.
    """
    judged = [each for each in criteria if isinstance(each, JudgedCriterion)]
    stated = [("judge", JudgeModelOptions()), *((f"criteria.{c.name}", c.options) for c in judged)]
    for place, options in stated:
        found: dict[tuple[str, str], str] = {}
        for each in options.within(config).by_model():
            name = each.judge_model or config.model
            route = route_of(kind, name)
            key = (route.kind.name, route.model.strip())
            if key in found:
                names = f"{found[key]} and {name}"
                raise ConfigError(f"{place}: {names} are the same model; a panel or cascade asks several")
            found[key] = name


def _check_asks_several(options: RawJudgeOptions, config: JudgeConfig, criteria: Sequence[Criterion]) -> None:
    """Checks that a config whose backend asks no models has no panel or cascade; --judge replaces it."""
    if options.judge or not config.backend or find_judge(config).connect:
        return
    stated = [JudgeModelOptions(), *_options_of(criteria)]
    if any(len(each.within(config).by_model()) > 1 for each in stated):
        raise ConfigError(f"judge: a panel or cascade asks models, and {config.backend} asks none")


def _judge_kind(options: RawJudgeOptions, config: JudgeConfig, models: Sequence[str]) -> JudgeKind:
    """Returns the judge that is named; else that of the run's model, an available one, or a criterion's.

    Args:
        options: The options.
        config: The `judge` section.
        models: The run's model, "" if none is named, and those that criteria name.
    """
    if options.judge:
        kind = JUDGES.find(options.judge, "--judge ")
    elif config.backend:
        kind = find_judge(config)
    else:
        return _unnamed_judge(options, config, models)
    if options.estimate and not kind.connect:
        raise ConfigError("--estimate needs a judge with a model; the configured judge has none")
    _check_models(kind, models)
    return kind


def _unnamed_judge(options: RawJudgeOptions, config: JudgeConfig, models: Sequence[str]) -> JudgeKind:
    own, *others = [provider_of(model) for model in models]
    kind = own or default_judge(config, os.environ) or next(filter(None, others), NONE)
    if options.estimate and not kind.connect:
        kind = next(each for each in JUDGES.values() if each.connect and not each.needs_model)
    _check_models(kind, models)
    return kind


def _check_models(kind: JudgeKind, models: Sequence[str]) -> None:
    for model in models:
        if kind.connect:
            route_of(kind, model)
        elif not kind.is_judging:
            check_provider(model)


def _default_model(kind: JudgeKind, models: Sequence[str]) -> str:
    """Returns the model where none is named: the judge's, else the first that a criterion names of it.

    Raises:
        ConfigError: The judge has no default, and none is named.
    """
    if not kind.needs_model:
        return kind.model
    named = next((model for model in models if model and route_of(kind, model).kind is kind), "")
    if not named:
        raise ConfigError(f"judge {kind.name}: no model is named; give --judge_model or judge.model")
    return named
