import json

import pytest

from turnwise.schemas.config import ConfigError, JudgeConfig
from turnwise.transforms.scoring.config import parse_config


def parsed(judge):
    return parse_config(json.dumps({"judge": judge})).judge


def test_without_a_word():
    config = parse_config("{}").judge
    assert config == JudgeConfig() == parsed({})
    assert (config.backend, config.model) == (None, "gemini-2.5-flash")
    assert (config.max_calls, config.max_tokens, config.requests_per_minute, config.cache) == (None,) * 4


def test_all_of_it():
    judge = {
        "backend": "gemini",
        "model": "gemini-2.5-pro",
        "panel": ("gemini-2.5-pro", "openai/gpt-x"),
        "cascade": {"model": "gemini-2.5-flash", "num_samples": 1, "min_confidence": 80},
        "project": "p",
        "location": "europe-west4",
        "base_url": "https://gateway.example:8443/gemini",
        "generation_config": {"temperature": 0, "thinking_config": {"thinkingBudget": 0}},
        "requests_per_minute": 300,
        "timeout_s": 30,
        "max_attempts": 3,
        "retry_delay_s": 0.5,
        "max_calls": 1000,
        "max_tokens": 1000000,
        "max_cost": 12.5,
        "api_key_secret": "projects/p/secrets/s/versions/latest",
        "candidates": True,
        "prompts": "first",
        "cache": "replies.sqlite",
        "prices": {"gemini-2.5-pro": {"input_per_million": 1.25, "output_per_million": 10}},
    }
    assert parsed(judge).model_dump() == judge


def test_settings_are_named_in_one_way():
    assert parsed({"generation_config": {"topK": 3, "maxOutputTokens": 9}}).generation_config == {
        "top_k": 3,
        "max_output_tokens": 9,
    }


def test_names_of_models_have_no_spaces_around_them():
    judge = parsed({"model": " m ", "panel": ["a ", "\tb"], "cascade": {"model": " c"}})
    assert (judge.model, judge.panel, judge.cascade.model) == ("m", ("a", "b"), "c")


WRONG = [
    (
        {"backend": "grok"},
        "judge.backend: grok: unknown judge (there are: anthropic, azure, gemini, local, none, openai)",
    ),
    ({"api_key": "AIza"}, "judge.api_key: unknown field"),
    ({"api_key_secret": "AIza"}, "judge.api_key_secret: String should match pattern"),
    ({"model": ""}, "judge.model: "),
    ({"model": "  "}, "judge.model: "),
    ({"panel": "m1,m2"}, "judge.panel: must be a list of model names"),
    ({"panel": {"m1": 1, "m2": 1}}, "judge.panel: must be a list of model names"),
    ({"panel": ["m1", " m1"]}, "judge.panel: m1 is named twice"),
    ({"panel": ["m1", " "]}, "judge.panel.1: "),
    ({"prompts": 1}, "judge.prompts: Input should be 'first' or 'second'"),
    ({"timeout_s": 0}, "judge.timeout_s: "),
    ({"timeout_s": float("inf")}, "judge.timeout_s: "),
    ({"requests_per_minute": 0}, "judge.requests_per_minute: "),
    ({"requests_per_minute": float("nan")}, "judge.requests_per_minute: "),
    ({"max_attempts": 0}, "judge.max_attempts: "),
    ({"max_calls": -1}, "judge.max_calls: "),
    ({"max_tokens": 1.5}, "judge.max_tokens: "),
    ({"cache": ""}, "judge.cache: "),
    ({"prices": {"m": {"input_per_million": 1}}}, "judge.prices.m.output_per_million: Field required"),
    (
        {"prices": {"m": {"input_per_million": -1, "output_per_million": 1}}},
        "judge.prices.m.input_per_million: ",
    ),
    ({"base_url": "gateway.example"}, "judge.base_url: must be an http or https URL"),
    ({"base_url": "https://"}, "judge.base_url: must be an http or https URL"),
    ({"base_url": "https://user:secret@gateway.example"}, "judge.base_url: must have no user, password"),
    ({"base_url": "https://gateway.example/?key=secret"}, "judge.base_url: must have no user, password"),
    (
        {"generation_config": {"topK": 1, "top_k": 2}},
        "judge.generation_config: a setting is given in two spellings",
    ),
    (
        {"generation_config": {"responseSchema": {}}},
        "judge.generation_config: response_schema is not a setting",
    ),
    (
        {"generation_config": {"http_options": {"headers": {}}}},
        "judge.generation_config: http_options is not a",
    ),
    ({"generation_config": {"tools": []}}, "judge.generation_config: tools is not a setting"),
]


@pytest.mark.parametrize(("judge", "message"), WRONG)
def test_wrong_sections(judge, message):
    with pytest.raises(ConfigError) as caught:
        parsed(judge)
    assert str(caught.value).startswith(f"config: {message}")
    assert "secret" not in str(caught.value).replace("api_key_secret", "").replace("secrets/", "")
    assert "\n" not in str(caught.value)
