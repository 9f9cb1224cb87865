import json
import pickle

import pytest
from pydantic import ValidationError

import turnwise
from turnwise.pipeline.settings.run import read_config
from turnwise.schemas.config import DEFAULT_CRITERIA, ConfigError, EvalConfig
from turnwise.transforms.criteria.base import CRITERIA, CustomMetric
from turnwise.transforms.scoring.config import build_criteria, parse_config


def build(criteria, **fields):
    return build_criteria(parse_config(json.dumps({"criteria": criteria, **fields})))


def only(name, value):
    (criterion,) = build({name: value})
    assert criterion.name == name
    return criterion


THRESHOLDS = [
    (1, 1.0),
    (0.5, 0.5),
    (0, 0.0),
    ({"threshold": 0.25}, 0.25),
    ({}, 0.8),
    ({"threshold": None}, None),
]


@pytest.mark.parametrize(("value", "wanted"), THRESHOLDS)
def test_thresholds(value, wanted):
    assert only("response_match_score", value).threshold == wanted


FIELDS = [
    ("tool_trajectory_avg_score", {"threshold": 1, "match_type": "in-order"}, "match_type", "IN_ORDER"),
    ("tool_trajectory_avg_score", {"threshold": 1, "matchType": 2}, "match_type", "ANY_ORDER"),
    *(
        ("tool_trajectory_avg_score", {"match_type": spelling}, "match_type", wanted)
        for spelling, wanted in (
            (" Any Order ", "ANY_ORDER"),
            (0, "EXACT"),
            (1.0, "IN_ORDER"),
            (True, "IN_ORDER"),
        )
    ),
    ("tool_trajectory_avg_score", {"threshold": 1, "ignoreArgs": True}, "ignore_args", True),
    ("response_match_score", {"threshold": 1, "rougeType": "rougeL"}, "rouge_type", "rougeL"),
    (
        "response_match_score",
        {"threshold": 1, "includeIntermediateResponsesInFinal": True},
        "include_intermediate_responses_in_final",
        True,
    ),
    (
        "hallucinations_v1",
        {"threshold": 1, "evaluateIntermediateNlResponses": True},
        "evaluate_intermediate_nl_responses",
        True,
    ),
    ("per_turn_user_simulator_quality_v1", {"threshold": 1, "stopSignal": "bye"}, "stop_signal", "bye"),
]


@pytest.mark.parametrize(("name", "value", "field", "wanted"), FIELDS)
def test_fields_of_adks_criteria(name, value, field, wanted):
    assert getattr(only(name, value), field) == wanted


OPTIONS = {"judge_model": "some-model", "num_samples": 3, "parallelism_limit": 2}
CAMEL_OPTIONS = {"judgeModel": "some-model", "numSamples": 3, "parallelismLimit": 2}
JUDGED = sorted(name for name, kind in CRITERIA.items() if "judge_model_options" in kind.model_fields)
RUBRIC_BASED = [name for name in JUDGED if name.startswith("rubric_based_")]


@pytest.mark.parametrize("name", JUDGED)
@pytest.mark.parametrize(
    "value",
    [{"threshold": 1, "judge_model_options": OPTIONS}, {"threshold": 1, "judgeModelOptions": CAMEL_OPTIONS}],
)
def test_judge_options_in_both_spellings(name, value):
    options = only(name, value).judge_model_options
    assert (options.judge_model, options.num_samples, options.parallelism_limit) == ("some-model", 3, 2)


@pytest.mark.parametrize("name", RUBRIC_BASED)
@pytest.mark.parametrize(
    "rubric",
    [
        {"rubric_id": "r1", "rubric_content": {"text_property": "is brief"}},
        {"rubricId": "r1", "rubricContent": {"textProperty": "is brief"}, "type": "FINAL"},
    ],
)
def test_rubrics_in_both_spellings(name, rubric):
    (found,) = only(name, {"threshold": 0.5, "rubrics": [rubric]}).rubrics
    assert (found.rubric_id, found.rubric_content.text_property) == ("r1", "is brief")


def test_the_families_are_all_there():
    assert len(RUBRIC_BASED) == 3
    assert len(JUDGED) == 20


def matching(matcher):
    return {"tool_trajectory_avg_score": {"argument_matchers": {"*": {"x": matcher}}}}


WRONG_CRITERIA = [
    ({"response_match_scor": 1}, "unknown criterion (did you mean response_match_score?)"),
    ({"zzzzzz": 1}, "criteria.zzzzzz: unknown criterion"),
    ({"response_match_score": None}, "None is neither a threshold nor an object"),
    ({"response_match_score": "nan"}, "'nan' is neither a threshold nor an object"),
    ({"response_match_score": True}, "True is neither a threshold nor an object"),
    ({"response_match_score": {"threshold": True}}, "must be a finite number, not True"),
    (
        {"response_match_score": 1.5},
        "1.5 can never be a value of response_match_score; those are from 0 to 1",
    ),
    ({"response_match_score": -1}, "-1 can never be a value"),
    ({"response_match_score": {"threshold": 1.0000001}}, "can never be a value"),
    ({"response_evaluation_score": 0.5}, "0.5 can never be a value of response_evaluation_score; those are"),
    ({"semantic_similarity": 9}, "those are from 0 to 4"),
    ({"turn_latency": -1}, "-1 can never be a value of turn_latency; those are at least 0"),
    ({"grounding_score": {"threshold": 0, "claim_threshold": "0.5"}}, "claim_threshold: "),
    ({"grounding_score": {"threshold": 0, "claim_threshold": True}}, "claim_threshold: "),
    ({"grounding_score": {"threshold": 0.5, "claim_threshold": 2}}, "claim_threshold: "),
    ({"grounding_score": {"claim_threshold": 0.5}}, "claim_threshold needs a threshold"),
    ({"safety_ratings": {"max_probability": "low"}}, "max_probability: "),
    ({"safety_ratings": {"categories": {"HATE": {}}}}, "categories.HATE"),
    ({"safety_ratings": {"categories": {"HARM_CATEGORY_HARASSMENT": {"max": "LOW"}}}}, "unknown field"),
    ({"response_match_score": {"treshold": 1}}, "treshold: unknown field (did you mean threshold?)"),
    ({"response_match_score": {"rouge_type": "rouge9"}}, "criteria.response_match_score: rouge_type: "),
    *(
        ({"tool_trajectory_avg_score": {"match_type": one}}, f"match_type: {one!r} is none of EXACT, IN")
        for one in ("InOrder", "0", "", None, 3, 1.5, -1, [])
    ),
    (matching("fuzzy"), "argument_matchers.*.x.match: "),
    ({"tool_effects_v1": {"tools": {"a": "read"}}}, "criteria.tool_effects_v1.tools: "),
    ({"tool_effects_v1": {"ordered_lists": {"a": "b"}}}, "criteria.tool_effects_v1: ordered_lists.a: "),
    ({"tool_effects_v1": {"extra_writes": "deny"}}, "Input should be 'allow', 'weigh' or 'fail'"),
    ({"tool_effects_v1": {"argument_matchers": {"*": {"x": "fuzzy"}}}}, "argument_matchers.*.x.match: "),
    (matching({"match": "regexp", "pattern": "("}), "not a regular expression of RE2: '('"),
    (matching({"match": "number", "tolerance": -1}), "argument_matchers.*.x.tolerance: "),
    ({"safety_v1": {"judge_model_options": {"num_samples": 0}}}, "judge_model_options.num_samples: "),
    ({"safety_v1": {"judge_model_options": {"parallelism_limit": 0}}}, "options.parallelism_limit: "),
    ({RUBRIC_BASED[0]: {"rubrics": [{"rubric_id": "r", "rubric_content": "brief"}]}}, "0.rubric_content: "),
    ({RUBRIC_BASED[0]: {"rubrics": [{"rubric_content": {}}]}}, "rubrics.0."),
    (
        {RUBRIC_BASED[0]: {"rubrics": [{"rubric_id": "r1", "rubric_content": {}}]}},
        "rubric r1 has neither text_property nor description",
    ),
    ({}, "criteria: names no criterion"),
    # Flags and numbers are JSON's: true is no number, and a text is no flag.
    ({"tool_trajectory_avg_score": {"ignore_args": "yes"}}, "ignore_args: "),
    (matching({"match": "number", "tolerance": True}), "tolerance: "),
    ({"response_match_score": {"adk_compat": "true"}}, "adk_compat: "),
    ({"token_usage_v1": {"adk_compat": 1}}, "adk_compat: "),
    ({"final_response_match_v2": {"judge_model_options": {"num_samples": True}}}, "num_samples: "),
]


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


COMPAT = [
    ({"response_match_score": 1}, {}, False),
    ({"response_match_score": 1}, {"adk_compat": True}, True),
    ({"response_match_score": 1}, {"adkCompat": True}, True),
    ({"response_match_score": {"threshold": 1, "adk_compat": False}}, {"adk_compat": True}, False),
    ({"response_match_score": {"threshold": 1, "adkCompat": True}}, {}, True),
    ({"token_usage_v1": {}}, {"adk_compat": True}, True),
]


@pytest.mark.parametrize(("criteria", "fields", "wanted"), COMPAT)
def test_adk_compat_is_handed_to_the_criteria_that_know_it(criteria, fields, wanted):
    (criterion,) = build(criteria, **fields)
    assert criterion.adk_compat is wanted


def test_criteria_without_compat_are_built_alike():
    assert build({"turn_latency": 1}, adk_compat=True) == build({"turn_latency": 1})


@pytest.mark.parametrize("name", sorted(CRITERIA))
def test_every_criterion_can_be_configured(name):
    low, high = CRITERIA[name].scale or (0.0, 10.0)
    for threshold in (low, (low + high) / 2, high):
        made = only(name, threshold)
        assert (type(made), made.threshold) == (CRITERIA[name], threshold)
    with pytest.raises(ConfigError, match="unknown field"):
        only(name, {"no_such_field": 1})


@pytest.mark.parametrize("name", sorted(CRITERIA))
def test_a_criterion_cannot_be_changed(name):
    with pytest.raises(ValidationError, match="frozen"):
        only(name, 1.0).threshold = 0.0


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


# Alerts


ALERT = {"name": "quality", "criterion": "verdict", "measure": "pass_rate", "below": 0.8}


def parse_alerts(*rules, **fields):
    return parse_config(json.dumps({"alerts": rules, **fields}))


def test_a_rule_and_its_defaults():
    (rule,) = parse_alerts(ALERT).alerts
    assert (rule.level, rule.app_version, rule.above, rule.drop, rule.min_count) == (
        None,
        "*",
        None,
        None,
        20,
    )
    (rule,) = parse_alerts({**ALERT, "drop": {}}).alerts
    assert (rule.drop.baseline, rule.drop.significance) == (1, 0.05)
    assert parse_config("{}").alerts == []


FINE_ALERTS = [
    {"criterion": "turn_latency", "measure": "p99", "below": None, "above": 5},
    {"criterion": "response_match_score", "measure": "mean", "level": "turn"},
    {"measure": "count", "below": 1000},
    {"below": 0},
    {"below": 1},
]


@pytest.mark.parametrize("fields", FINE_ALERTS)
def test_rules_that_are_fine(fields):
    assert len(parse_alerts({**ALERT, **fields}).alerts) == 1


WRONG_ALERTS = [
    ({"nam": "x"}, "alerts.0.nam: unknown field (did you mean name?)"),
    ({"name": ""}, "alerts.0.name: "),
    ({"criterion": "safety_v1"}, "alerts.0.criterion: safety_v1 is not among the config's criteria"),
    ({"criterion": "turn_latenci"}, "'turn_latenci' is unknown (did you mean turn_latency?)"),
    ({"criterion": None}, "alerts.0.criterion: "),
    ({"level": "turn"}, "alerts.0.level: verdict is of whole conversations"),
    ({"level": "turns"}, "alerts.0.level: "),
    ({"app_version": ""}, "alerts.0.app_version: "),
    ({"measure": "median"}, "alerts.0.measure: "),
    ({"measure": "p50"}, "alerts.0.measure: p50 is of latencies and costs only"),
    ({"criterion": "response_match_score", "measure": "p99"}, "response_match_score is none"),
    ({"below": None}, "alerts.0: needs below, above or drop"),
    ({"below": 80}, "alerts.0: below, above: a pass_rate lies between 0 and 1"),
    ({"min_count": 0}, "alerts.0.min_count: "),
    ({"measure": "count", "min_count": 5}, "alerts.0: min_count: does not go with count"),
    ({"measure": "count", "drop": {}}, "alerts.0: drop: a test is known for mean and pass_rate"),
    ({"drop": {"baseline": 0}}, "alerts.0.drop.baseline: "),
    ({"drop": {"significance": 1}}, "alerts.0.drop.significance: "),
    ({"drop": {"significanse": 0.1}}, "significanse: unknown field (did you mean significance?)"),
    ({"above": float("inf")}, "alerts.0.above: Input should be a finite number"),
]
CUSTOM = {"code_config": {"name": "my.f"}}
NO_THRESHOLD = (None, {}, {"threshold": None}, "high")
OF_TURNS = "turnLevelMetricsThresholds"
CES_GATES = [
    ({"semanticSimilaritySuccessThreshold": 9}, "9 does not lie between 0 and 4"),
    ({"overallToolInvocationCorrectnessThreshold": 1.5}, "1.5 does not lie"),
]
WRONG_TEXTS = [
    *((f'{{"criteria": {{"response_match_score": {one}}}}}', "finite number") for one in ("NaN", "Infinity")),
    ('{"criteria": {"response_match_score": {"threshold": NaN}}}', "finite number"),
    ('{"criteria": {"tool_trajectory_avg_score": {"match_type": 0, "matchType": 2}}}', "two spellings"),
    ('{"criteria": {"safety_v1": 1}, "adk_compat": true, "adkCompat": false}', "two spellings"),
    *((f'{{"alerts": {one}}}', "alerts") for one in ("{}", "null", "[7]", "[{}]")),
    ("", "mine: "),
    ("[]", "mine: must hold a JSON object, not list"),
    ('{"criteria": {},}', "mine: "),
    ("\ufeff{}", "mine: "),
    ('{"criteria": {"safety_v1": 1, "safety_v1": 0}}', "mine: duplicate key 'safety_v1'"),
    ('{"criteria": {"safety_v1": {"threshold": 1, "threshold": 0}}}', "mine: duplicate key 'threshold'"),
    ('{"adk_compat": true, "adk_compat": false}', "mine: duplicate key 'adk_compat'"),
    ('{"critera": {}}', "mine: critera: unknown field (did you mean criteria?)"),
    ('{"criteria": null}', "mine: criteria: "),
    ('{"adk_compat": "perhaps"}', "mine: adk_compat: "),
    ('{"ces": {"unexpected_response": "IGNORE"}}', "mine: ces.unexpected_response: "),
    ('{"ces": {"unexpected": "FAIL"}}', "mine: ces.unexpected: unknown field"),
    ('{"custom_metrics": {"m": 3}}', "mine: custom_metrics.m: "),
    ('{"customMetrics": {"m": {}}}', "mine: custom_metrics.m.codeConfig: Field required"),
    ('{"custom_metrics": {"m": {"code_config": {"name": ""}}}}', "mine: custom_metrics.m.code_config.name: "),
    ('{"custom_metrics": {"m": {"code_config": {"name": "f", "x": 1}}}}', "custom_metrics.m.code_config.x: "),
]
WRONG_CONFIGS = [
    ({"tools": {"a": "reads"}}, "tools.a.effect: Input should be 'read', 'write' or 'handoff'"),
    ({"tools": {"a": {"effekt": "read"}}}, "tools.a.effekt: unknown field (did you mean effect?)"),
    ({"discovery_engine": {"tool_name": ""}}, "discovery_engine.tool_name: "),
    ({"app_version_form": ["x"]}, "did you mean app_version_from"),
    ({"slices": "skipped"}, "slices: "),
    ({"slices": [1]}, "slices.0: "),
    *(({"criteria": criteria}, message) for criteria, message in WRONG_CRITERIA),
    *(({"alerts": [{**ALERT, **fields}]}, message) for fields, message in WRONG_ALERTS),
    ({"alerts": [ALERT, ALERT]}, "alerts.1.name: 'quality' stands twice"),
    *(
        (
            {
                "ces": {
                    "evaluation_metrics_thresholds": {"goldenEvaluationMetricsThresholds": {OF_TURNS: one}}
                }
            },
            said,
        )
        for one, said in CES_GATES
    ),
    *(
        ({"criteria": {"polite": one}, "custom_metrics": {"polite": CUSTOM}}, "criteria.polite: ")
        for one in NO_THRESHOLD
    ),
    *(
        (
            {"criteria": {"verdict": 1}, "custom_metrics": custom},
            "criteria.verdict: it stands for the verdicts",
        )
        for custom in ({}, {"verdict": CUSTOM})
    ),
]
WRONG = [*((json.dumps(config), message) for config, message in WRONG_CONFIGS), *WRONG_TEXTS]


@pytest.mark.parametrize(("text", "message"), WRONG)
def test_a_mistake_is_one_line(text, message):
    with pytest.raises(ConfigError) as caught:
        build_criteria(parse_config(text, "mine"))
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_a_primary_criterion_is_one_of_the_config():
    config = {"criteria": {"turn_latency": {}}, "gate": {"primary": ["verdict", "turn_latencies"]}}
    with pytest.raises(ConfigError, match=r"gate\.primary\.1: 'turn_latencies' is not .*mean turn_latency"):
        turnwise.evaluate([], config=config)
