import json
import pickle

import pytest
from pydantic import ValidationError

import turnwise
from tests.tables import rows_test
from turnwise.pipeline.settings.run import read_config
from turnwise.schemas.config import DEFAULT_CRITERIA, ConfigError, EvalConfig
from turnwise.transforms.criteria.base import CRITERIA, CustomMetric
from turnwise.transforms.scoring.config import build_criteria, parse_config

test_rows = rows_test(globals(), "config")


def build(criteria, **fields):
    return build_criteria(parse_config(json.dumps({"criteria": criteria, **fields})))


def only(name, value):
    (criterion,) = build({name: value})
    assert criterion.name == name
    return criterion


def threshold(value, wanted):
    assert only("response_match_score", value).threshold == wanted


def field(name, value, attribute, wanted):
    """Fields of ADK's criteria."""
    assert getattr(only(name, value), attribute) == wanted


def compat(criteria, fields, wanted):
    """`adk_compat` is handed to the criteria that know it."""
    (criterion,) = build(criteria, **fields)
    assert criterion.adk_compat is wanted


def mistake(config, message):
    """In one line; a text is the config itself."""
    text = config if isinstance(config, str) else json.dumps(config)
    with pytest.raises(ConfigError) as caught:
        build_criteria(parse_config(text, "mine"))
    assert message in str(caught.value) and "\n" not in str(caught.value)


JUDGED = sorted(name for name, kind in CRITERIA.items() if "judge_model_options" in kind.model_fields)
RUBRIC_BASED = [name for name in JUDGED if name.startswith("rubric_based_")]


@pytest.mark.parametrize("name", JUDGED)
def test_judge_options_in_both_spellings(name):
    options = {"judge_model": "some-model", "num_samples": 3, "parallelism_limit": 2}
    camel = {"judgeModel": "some-model", "numSamples": 3, "parallelismLimit": 2}
    for value in {"judge_model_options": options}, {"judgeModelOptions": camel}:
        made = only(name, {"threshold": 1, **value}).judge_model_options
        assert (made.judge_model, made.num_samples, made.parallelism_limit) == ("some-model", 3, 2)


@pytest.mark.parametrize("name", RUBRIC_BASED)
def test_rubrics_in_both_spellings(name):
    camel = {"rubricId": "r1", "rubricContent": {"textProperty": "is brief"}, "type": "FINAL"}
    for rubric in {"rubric_id": "r1", "rubric_content": {"text_property": "is brief"}}, camel:
        (found,) = only(name, {"threshold": 0.5, "rubrics": [rubric]}).rubrics
        assert (found.rubric_id, found.rubric_content.text_property) == ("r1", "is brief")


def test_the_families_are_all_there():
    assert len(RUBRIC_BASED) == 3
    assert len(JUDGED) == 20


def test_a_config_may_begin_with_a_byte_order_mark(tmp_path):
    path = tmp_path / "config.json"
    path.write_bytes(b'\xef\xbb\xbf{"criteria": {"response_match_score": 0.5}}')
    assert read_config(str(path)).criteria == {"response_match_score": 0.5}


@pytest.mark.parametrize("path", ["nowhere://bucket/config.json", "missing/config.json"])
def test_a_config_that_cannot_be_read_is_one_line(path):
    with pytest.raises(ConfigError, match=f"--config {path}: ") as raised:
        read_config(path)
    assert "\n" not in str(raised.value)


def test_adks_other_sections_are_accepted():
    config = parse_config(
        '{"userSimulatorConfig": {"model": "m"}, "liveModelConfig": {"a": 3}, "customMetrics": {}}'
    )
    assert config.user_simulator_config == {"model": "m"}
    assert config.live_model_config == {"a": 3}
    assert parse_config('{"user_simulator_config": null}') == EvalConfig()


def test_without_criteria_the_defaults_hold():
    built = build_criteria(parse_config("{}"))
    assert [criterion.name for criterion in built] == list(DEFAULT_CRITERIA)
    assert [c.threshold for c in built[:2]] == [1.0, 0.8]


def test_the_order_of_the_config_is_kept():
    names = ["turn_latency", "safety_v1", "response_match_score"]
    assert [criterion.name for criterion in build(dict.fromkeys(names, 1))] == names


def test_criteria_without_compat_are_built_alike():
    assert build({"turn_latency": 1}, adk_compat=True) == build({"turn_latency": 1})


@pytest.mark.parametrize("name", sorted(CRITERIA))
def test_every_criterion_can_be_configured_and_not_changed(name):
    low, high = CRITERIA[name].scale or (0.0, 10.0)
    for threshold in (low, (low + high) / 2, high):
        made = only(name, threshold)
        assert (type(made), made.threshold) == (CRITERIA[name], threshold)
    with pytest.raises(ConfigError, match="unknown field"):
        only(name, {"no_such_field": 1})
    with pytest.raises(ValidationError, match="frozen"):
        made.threshold = 0.0


@pytest.mark.parametrize("key", ["code_config", "codeConfig"])
@pytest.mark.parametrize(("value", "threshold"), [(0.5, 0.5), ({"threshold": 1, "anything": "else"}, 1.0)])
def test_a_custom_metric_is_there_and_has_no_score(key, value, threshold):
    custom = {"polite": {key: {"name": "my.f"}, "description": "x"}, "unused": {key: {"name": "my.g"}}}
    first, second = build({"polite": value, "response_match_score": 0.8}, customMetrics=custom)
    assert (first.name, first.threshold, first.function) == ("polite", threshold, "my.f")
    assert second.name == "response_match_score"
    assert "polite" not in CRITERIA
    assert pickle.loads(pickle.dumps(first)) == first


def test_a_custom_metric_replaces_a_criterion_of_its_name():
    (criterion,) = build({"safety_v1": 1}, custom_metrics={"safety_v1": {"code_config": {"name": "my.f"}}})
    assert isinstance(criterion, CustomMetric)


def test_no_custom_metrics_as_null():
    assert len(build({"response_match_score": 0.8}, custom_metrics=None)) == 1


def test_whole_numbers_are_tolerances():
    whole = {"*": {"a": {"match": "number", "tolerance": 1, "relative_tolerance": 0.1}}}
    assert only("tool_trajectory_avg_score", {"argument_matchers": whole}).argument_matchers


def alerts_of(**fields):
    alert = {"name": "quality", "criterion": "verdict", "measure": "pass_rate", "below": 0.8}
    return parse_config(json.dumps({"alerts": [{**alert, **fields}]})).alerts


def fine_alert(fields):
    assert len(alerts_of(**fields)) == 1


def test_a_rule_and_its_defaults():
    (rule,) = alerts_of()
    defaults = (rule.level, rule.app_version, rule.above, rule.drop, rule.min_count)
    assert defaults == (None, "*", None, None, 20)
    (rule,) = alerts_of(drop={})
    assert (rule.drop.baseline, rule.drop.significance) == (1, 0.05)
    assert parse_config("{}").alerts == []


def test_a_primary_criterion_is_one_of_the_config():
    config = {"criteria": {"turn_latency": {}}, "gate": {"primary": ["verdict", "turn_latencies"]}}
    with pytest.raises(ConfigError, match=r"gate\.primary\.1: 'turn_latencies' is not .*mean turn_latency"):
        turnwise.evaluate([], config=config)
