"""Flags and numbers of a config are JSON's: true is no number, and a text is no flag."""

import json

import pytest

from turnwise.schemas.config import ConfigError
from turnwise.transforms.scoring.config import build_criteria, parse_config

NOT_A_NUMBER = {"match": "number", "tolerance": True}


@pytest.mark.parametrize(
    "criteria",
    [
        {"tool_trajectory_avg_score": {"ignore_args": "yes"}},
        {"tool_trajectory_avg_score": {"argument_matchers": {"*": {"a": NOT_A_NUMBER}}}},
        {"response_match_score": {"adk_compat": "true"}},
        {"token_usage_v1": {"adk_compat": 1}},
        {"final_response_match_v2": {"judge_model_options": {"num_samples": True}}},
    ],
)
def test_a_value_of_another_type_is_refused(criteria):
    with pytest.raises(ConfigError):
        build_criteria(parse_config(json.dumps({"criteria": criteria})))


def test_whole_numbers_are_tolerances():
    matchers = {"*": {"a": {"match": "number", "tolerance": 1, "relative_tolerance": 0.1}}}
    criteria = {"tool_trajectory_avg_score": {"argument_matchers": matchers, "ignore_args": False}}
    assert len(build_criteria(parse_config(json.dumps({"criteria": criteria})))) == 1
