"""Which judge is asked: by option, config, name of a model, or credentials."""

import pytest

from tests.served import in_environment
from tests.tables import lines_beside
from turnwise.pipeline.settings.options import RawJudgeOptions
from turnwise.pipeline.settings.run import judge_settings
from turnwise.schemas.config import ConfigError, EvalConfig
from turnwise.transforms.judging.ask import JudgeModelOptions
from turnwise.transforms.judging.judges import JUDGES, route_of
from turnwise.transforms.judging.setup import check_judge
from turnwise.transforms.scoring.config import build_criteria

LINES = lines_beside(__file__, "judges.jsonl")
"""Configs and models of their criteria, beside the judge and model that are asked, or the error."""
GPT, CLAUDE = "openai/gpt-4o", "anthropic/claude-x"


def chosen(config, models, **options):
    """Returns judge and model of a config whose criteria name these models."""
    names = ("final_response_match_v2", "hallucinations_v1", "safety_v1")
    stated = zip(names, models, strict=False)
    criteria = {
        name: {"judge_model_options": {"judge_model": model} if model else {}} for name, model in stated
    }
    whole = EvalConfig(criteria=criteria, judge=config)
    settings = judge_settings(RawJudgeOptions(**options), whole.judge, "r", build_criteria(whole))
    return settings.kind.name, settings.config.model


@pytest.mark.parametrize("name", LINES)
def test_who_judges(name):
    line = LINES[name]
    given = (line["config"], line["models"])
    with in_environment({"GOOGLE_API_KEY": "key"} if line["key"] else {}):
        if "judge" in line:
            assert chosen(*given, **line["options"]) == tuple(line["judge"])
            return
        with pytest.raises(ConfigError) as caught:
            chosen(*given, **line["options"])
    assert str(caught.value).startswith(line["error"]) and "\n" not in str(caught.value)


@pytest.mark.parametrize(("judge", "is_kept"), [({}, True), ({"cache": None}, False), ({"cache": "f"}, True)])
def test_a_cache_of_null_keeps_no_replies(judge, is_kept):
    settings = judge_settings(RawJudgeOptions(judge="local"), EvalConfig(judge=judge).judge, "r")
    assert (settings.config.cache is not None) == is_kept


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
