"""Which judge is asked: by option, config, name of a model, or credentials."""

import os
from collections.abc import Iterator
from typing import Any

import pytest

from turnwise.pipeline.settings.options import RawJudgeOptions
from turnwise.pipeline.settings.run import judge_settings
from turnwise.schemas.config import ConfigError, EvalConfig
from turnwise.transforms.judging.ask import JudgeModelOptions
from turnwise.transforms.judging.judges import JUDGES
from turnwise.transforms.judging.routes import route_of
from turnwise.transforms.judging.setup import check_judge
from turnwise.transforms.scoring.config import build_criteria

GPT, CLAUDE = "openai/gpt-4o", "anthropic/claude-x"


@pytest.fixture(params=["", "key"])
def google_key(request: pytest.FixtureRequest) -> Iterator[str]:
    """Gives the process a key of Google's, or none."""
    if request.param:
        os.environ["GOOGLE_API_KEY"] = request.param
    yield request.param
    os.environ.pop("GOOGLE_API_KEY", None)


def chosen(config: dict[str, Any], models: tuple[str | None, ...], **options: Any) -> tuple[str, str]:
    """Returns judge and model of a config whose criteria name these models."""
    names = ("final_response_match_v2", "hallucinations_v1", "safety_v1")
    stated = zip(names, models, strict=False)
    criteria = {
        name: {"judge_model_options": {"judge_model": model} if model else {}} for name, model in stated
    }
    whole = EvalConfig(criteria=criteria, judge=config)
    settings = judge_settings(RawJudgeOptions(**options), whole.judge, "r", build_criteria(whole))
    return settings.kind.name, settings.config.model


DEFAULT = "gemini-2.5-flash"
# What is chosen without a key of Google's, and with one.
CHOICES: list[Any] = [
    ({}, (None,), {}, ("none", DEFAULT), ("gemini", DEFAULT)),
    ({}, (GPT,), {}, ("openai", GPT), ("gemini", DEFAULT)),
    ({}, (None, CLAUDE, GPT), {}, ("anthropic", CLAUDE), ("gemini", DEFAULT)),
    ({"model": GPT}, (None,), {}, ("openai", GPT), ("openai", GPT)),
    ({"model": GPT}, (CLAUDE,), {}, ("openai", GPT), ("openai", GPT)),
    ({"model": "vertex_ai/g"}, (None,), {}, ("gemini", "vertex_ai/g"), ("gemini", "vertex_ai/g")),
    ({"backend": "local"}, (GPT,), {}, ("local", DEFAULT), ("local", DEFAULT)),
    ({"backend": "openai"}, (None,), {"judge_model": "m"}, ("openai", "m"), ("openai", "m")),
    ({}, (None,), {"estimate": True}, ("gemini", DEFAULT), ("gemini", DEFAULT)),
]


@pytest.mark.parametrize(("config", "models", "options", "without", "with_key"), CHOICES)
def test_who_judges(google_key, config, models, options, without, with_key):
    expected = with_key if google_key else without
    if expected is None:
        with pytest.raises(ConfigError, match="unknown provider openai"):
            chosen(config, models, **options)
    else:
        assert chosen(config, models, **options) == expected


WRONG: list[Any] = [
    (
        {},
        ("mistral/large",),
        {},
        "judge_model mistral/large: unknown provider mistral (there are: anthropic, ",
    ),
    ({}, ("mistral/large",), {"estimate": True}, "judge_model mistral/large: unknown provider mistral"),
    (
        {"backend": "openai"},
        (None,),
        {},
        "judge openai: no model is named; give --judge_model or judge.model",
    ),
]


@pytest.mark.parametrize(("config", "models", "options", "message"), WRONG)
def test_what_nobody_could_judge(google_key, config, models, options, message):
    with pytest.raises(ConfigError) as caught:
        chosen(config, models, **options)
    assert str(caught.value).startswith(message) and "\n" not in str(caught.value)


ROUTES = [
    ("gemini", GPT, ("openai", "gpt-4o")),
    ("gemini", "models/gemini-x", ("gemini", "models/gemini-x")),
    ("openai", "meta-llama/Llama-3", ("openai", "meta-llama/Llama-3")),
    ("openai", "openai/openai/gpt-oss-20b", ("openai", "openai/gpt-oss-20b")),
    ("openai", "azure/deployment", ("azure", "deployment")),
    ("openai", CLAUDE, ("anthropic", "claude-x")),
]


@pytest.mark.parametrize(("own", "model", "route"), ROUTES)
def test_where_questions_go(own, model, route):
    kind, name = route_of(JUDGES[own], model)
    assert (kind.name, name) == route


def test_each_judge_is_checked_for_its_own_models(server):
    """The address in the config is that of the run's judge; the others have the environment's."""
    config = EvalConfig(criteria={"safety_v1": {}}, judge={"backend": "gemini", "base_url": server.url})
    settings = judge_settings(RawJudgeOptions(judge_cache="none"), config.judge, "r")
    options = [JudgeModelOptions(judge_model=model) for model in (None, GPT, CLAUDE, "openai/another")]
    environ = {"GOOGLE_API_KEY": server.key, "OPENAI_API_KEY": server.key, "ANTHROPIC_API_KEY": server.key}
    urls = {"OPENAI_BASE_URL": f"{server.url}/v1", "ANTHROPIC_BASE_URL": server.url}
    check_judge(settings, {**environ, **urls}, options)
    assert server.stats()["checks"] == 4
    del environ["ANTHROPIC_API_KEY"]
    with pytest.raises(ConfigError, match="no credentials for anthropic; set ANTHROPIC_API_KEY"):
        check_judge(settings, {**environ, "OPENAI_BASE_URL": f"{server.url}/v1"}, options)
