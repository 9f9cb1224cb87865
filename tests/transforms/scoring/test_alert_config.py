import json

import pytest

from turnwise.schemas.config import ConfigError
from turnwise.transforms.scoring.config import parse_config

GOOD = {"name": "quality", "criterion": "evaluation_status", "measure": "pass_rate", "below": 0.8}


def parse(*rules, **fields):
    return parse_config(json.dumps({"alerts": rules, **fields}))


def test_a_rule_and_its_defaults():
    (rule,) = parse(GOOD).alerts
    assert (rule.level, rule.app_version, rule.above, rule.drop, rule.min_count) == (
        None,
        "*",
        None,
        None,
        20,
    )
    (rule,) = parse({**GOOD, "drop": {}}).alerts
    assert (rule.drop.baseline, rule.drop.significance) == (1, 0.05)
    assert parse_config("{}").alerts == []


FINE = [
    {"criterion": "turn_latency", "measure": "p99", "below": None, "above": 5},
    {"criterion": "response_match_score", "measure": "mean", "level": "turn"},
    {"measure": "count", "below": 1000},
    {"below": 0},
    {"below": 1},
]


@pytest.mark.parametrize("fields", FINE)
def test_rules_that_are_fine(fields):
    assert len(parse({**GOOD, **fields}).alerts) == 1


WRONG = [
    ({"nam": "x"}, "alerts.0.nam: unknown field (did you mean name?)"),
    ({"name": ""}, "alerts.0.name: "),
    ({"criterion": "safety_v1"}, "alerts.0.criterion: safety_v1 is not among the config's criteria"),
    ({"criterion": "turn_latenci"}, "'turn_latenci' is unknown (did you mean turn_latency?)"),
    ({"criterion": "status"}, "alerts.0.criterion: 'status' is unknown"),
    ({"criterion": None}, "alerts.0.criterion: "),
    ({"level": "turn"}, "alerts.0.level: evaluation_status is of whole conversations"),
    ({"level": "turns"}, "alerts.0.level: "),
    ({"app_version": ""}, "alerts.0.app_version: "),
    ({"measure": "median"}, "alerts.0.measure: "),
    ({"measure": "p50"}, "alerts.0.measure: p50 is of latencies only"),
    ({"criterion": "response_match_score", "measure": "p99"}, "response_match_score is none"),
    ({"below": None}, "alerts.0: needs below, above or drop"),
    ({"below": 80}, "alerts.0: below, above: a pass_rate lies between 0 and 1"),
    ({"below": "much"}, "alerts.0.below: "),
    ({"min_count": 0}, "alerts.0.min_count: "),
    ({"measure": "count", "min_count": 5}, "alerts.0: min_count: does not go with count"),
    ({"measure": "count", "drop": {}}, "alerts.0: drop: a test is known for mean and pass_rate"),
    ({"drop": {"baseline": 0}}, "alerts.0.drop.baseline: "),
    ({"drop": {"significance": 1}}, "alerts.0.drop.significance: "),
    ({"drop": {"significanse": 0.1}}, "significanse: unknown field (did you mean significance?)"),
    ({"below": float("nan")}, "alerts.0.below: Input should be a finite number"),
    ({"above": float("inf")}, "alerts.0.above: Input should be a finite number"),
]


@pytest.mark.parametrize(("fields", "message"), WRONG)
def test_rules_that_are_wrong(fields, message):
    with pytest.raises(ConfigError) as caught:
        parse({**GOOD, **fields})
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_names_are_distinct():
    with pytest.raises(ConfigError, match=r"alerts\.1\.name: 'quality' stands twice"):
        parse(GOOD, GOOD)


@pytest.mark.parametrize(
    "text", ['{"alerts": {}}', '{"alerts": null}', '{"alerts": [7]}', '{"alerts": [{}]}']
)
def test_what_is_no_list_of_rules(text):
    with pytest.raises(ConfigError, match="alerts"):
        parse_config(text)
