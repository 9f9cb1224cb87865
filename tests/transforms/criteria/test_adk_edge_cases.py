import json
from pathlib import Path

import pytest
from pydantic import ValidationError

from tests.samples import score_conversation
from turnwise.schemas.adk import Invocation
from turnwise.schemas.case import EvalCase
from turnwise.schemas.config import ConfigError
from turnwise.schemas.conversation import Conversation, Record
from turnwise.transforms.formats.adk_cases import eval_cases, invocation_expected, invocation_turn
from turnwise.transforms.matching.sample import Sample
from turnwise.transforms.review.row import RULES
from turnwise.transforms.scoring.config import build_criteria, parse_config
from turnwise.transforms.scoring.evaluate import conversation_verdict, criteria_verdict

FIXTURE = Path(__file__).parents[3] / "../shared/fixtures/adk/edge_cases.json"
CASES = {case["name"]: case for case in json.loads(FIXTURE.read_text())["cases"]} if FIXTURE.exists() else {}
pytestmark = pytest.mark.skipif(not CASES, reason="the shared fixtures are not here")

OUTCOMES = {"PASSED": "PASS", "FAILED": "FAIL"}

REFUSED_CONFIGS = {
    "bad_match_type": "criteria.tool_trajectory_avg_score: match_type: 'InOrder' is none of",
    "unknown_criterion_field": (
        "criteria.tool_trajectory_avg_score: matchtype: unknown field (did you mean match_type?)"
    ),
    # google-adk takes it, and no case can ever pass.
    "threshold_above_one": "criteria.tool_trajectory_avg_score: threshold: 1.1 can never be a value",
}
REFUSED_RECORDS = {
    "tool_uses_and_events_together",
    "unknown_field_in_function_call",
    "args_as_json_string",
    "user_content_missing",
}
NOTHING_APPLIES = ("no criterion with a threshold applies",)
NO_ANSWER = "turn 1: the last turn has no answer, and the log does not say how the conversation ended"
DEVIATIONS = {
    # Expected answer empty or absent: not applicable, where google-adk says 0.0.
    "rouge_empty_vs_empty_threshold_zero": ([], None, NOTHING_APPLIES),
    "rouge_final_response_null_both": ([], None, (NO_ANSWER, *NOTHING_APPLIES)),
    # Identical texts without a word: 1.0, where google-adk says 0.0.
    "rouge_emoji_only_identical": ([(1.0, "PASS")], "PASS", ()),
    # No arguments and {} are one thing, where google-adk says 0.0.
    "exact_args_empty_vs_null": ([(1.0, "PASS")], "PASS", ()),
}
"""Name -> ([(score, outcome) per turn], status, reasons): where turnwise differs on purpose."""


def scored(name, adk_compat):
    data = CASES[name]
    config = parse_config(json.dumps({"criteria": data["criteria"], "adk_compat": adk_compat}))
    criteria = build_criteria(config)
    actual = [Invocation.model_validate(value) for value in data["actual"]]
    expected = [Invocation.model_validate(value) for value in data["expected"]]
    conversation = Conversation(
        conversation_id=name, turns=[invocation_turn(value, i) for i, value in enumerate(actual)]
    )
    case = EvalCase(eval_id=name, dialect="adk", turns=[invocation_expected(value) for value in expected])
    return score_conversation(Sample(conversation, case, Record(name, 1, b"{}")), criteria)


def comparable():
    return [name for name in CASES if name not in REFUSED_CONFIGS and name not in REFUSED_RECORDS]


def answers(result):
    return [(score.value, score.outcome) for _, score in result.turns]


def assert_equals_adk(name, result):
    oracle = CASES[name]["oracle"]["evaluator"]["metrics"][result.criterion.name]
    wanted = [(entry["score"], OUTCOMES[entry["status"]]) for entry in oracle["per_invocation"]]
    assert answers(result) == wanted
    assert result.overall.value == oracle["overall_score"]
    assert result.overall.outcome == OUTCOMES[oracle["overall_status"]]
    assert result.errors == []


@pytest.mark.parametrize("adk_compat", [True, False])
@pytest.mark.parametrize("name", comparable())
def test_evaluator_level_scores_are_bit_equal(name, adk_compat):
    found = scored(name, adk_compat)
    assert [result.criterion.name for result in found.scores] == list(CASES[name]["criteria"])
    if not adk_compat and name in DEVIATIONS:
        assert answers(found.scores[0]) == DEVIATIONS[name][0]
        return
    for result in found.scores:
        assert_equals_adk(name, result)


@pytest.mark.parametrize("adk_compat", [True, False])
@pytest.mark.parametrize("name", comparable())
def test_service_level_status_is_the_verdict(name, adk_compat):
    found = scored(name, adk_compat)
    verdict = conversation_verdict(found, RULES)
    if not adk_compat and name in DEVIATIONS:
        assert (verdict.status, verdict.reasons) == DEVIATIONS[name][1:]
    else:
        assert criteria_verdict(found.scores) == verdict
        assert verdict.status == OUTCOMES[CASES[name]["oracle"]["service"]["final_eval_status"]]
        assert verdict.reasons == ()


@pytest.mark.parametrize("name", DEVIATIONS)
def test_every_deviation_is_one(name):
    (oracle,) = CASES[name]["oracle"]["evaluator"]["metrics"].values()
    theirs = [(entry["score"], OUTCOMES[entry["status"]]) for entry in oracle["per_invocation"]]
    assert theirs != DEVIATIONS[name][0]


@pytest.mark.parametrize(("name", "message"), REFUSED_CONFIGS.items())
@pytest.mark.parametrize("adk_compat", [True, False])
def test_mistakes_in_a_criterion_are_config_errors(name, message, adk_compat):
    with pytest.raises(ConfigError) as caught:
        scored(name, adk_compat)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", sorted(REFUSED_RECORDS))
def test_what_adk_cannot_parse_is_refused_by_the_strict_reader(name):
    data = CASES[name]
    assert set(data["oracle"]["evaluator"]) == set(data["oracle"]["service"]) == {"parse_error"}
    with pytest.raises(ValidationError):
        [Invocation.model_validate(value) for value in [*data["actual"], *data["expected"]]]
    bad = next(side for side in ("actual", "expected") if not parses(data[side]))
    with pytest.raises(ValueError, match="not an ADK eval set: ") as caught:
        eval_cases({"eval_set_id": "s", "eval_cases": [{"eval_id": name, "conversation": data[bad]}]})
    assert "\n" not in str(caught.value)


def parses(values):
    try:
        return bool([Invocation.model_validate(value) for value in values])
    except ValidationError:
        return False


def test_no_case_is_left_out():
    refused = {name for name, case in CASES.items() if "parse_error" in case["oracle"]["evaluator"]}
    raised = {
        name
        for name, case in CASES.items()
        if any("error" in m for m in case["oracle"]["evaluator"].get("metrics", {}).values())
    }
    assert refused == REFUSED_RECORDS
    assert raised == {"bad_match_type"}
    assert len(comparable()) == len(CASES) - len(REFUSED_RECORDS) - len(REFUSED_CONFIGS)
    assert len(CASES) == 72
    assert set(comparable()) >= set(DEVIATIONS)
