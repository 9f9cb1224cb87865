import json
from pathlib import Path

import pytest

import turnwise
from turnwise.schemas.case import CaseThresholds
from turnwise.schemas.config import CesConfig
from turnwise.schemas.conversation import TimedSpan, Usage
from turnwise.transforms.formats import ces_cases
from turnwise.transforms.formats import ces_conversations as ces

SAMPLES = Path(__file__).parents[3] / "../shared/fixtures/ces/samples"
needs_samples = pytest.mark.skipif(not SAMPLES.is_dir(), reason="the shared fixtures are not here")
APP = "projects/acme-cx/locations/us/apps/travel-desk"


def sample(name):
    return (SAMPLES / f"{name}.json").read_bytes()


@pytest.fixture(scope="module")
def baggage():
    return ces.conversation(json.loads(sample("baggage__Conversation")))


@needs_samples
def test_clocks_spans_and_tokens(baggage):
    greeting, claim = baggage.turns
    assert (greeting.latency_ms, claim.latency_ms) == (950.0, 4100.0)
    assert (claim.model_ms, claim.tool_ms, claim.inference_calls) == (2740.0, 750.0, 2)
    assert claim.usage == Usage(input_tokens=3546, output_tokens=40, model="gemini-2.5-flash")
    assert greeting.timestamp == "2026-03-01T03:00:00Z"
    assert [(span.type, span.name, span.seconds) for span in claim.spans] == [
        ("USER_CALLBACK", "before_model", 0.01),
        ("LLM", "gemini-2.5-flash", 0.99),
        ("TOOL", "search_policy", 0.75),
        ("LLM", "gemini-2.5-flash", 1.75),
    ]
    assert claim.spans[2] == TimedSpan(
        type="TOOL",
        name="search_policy",
        resource=f"{APP}/tools/search_policy",
        start_time="2026-03-01T03:00:21.500Z",
        end_time="2026-03-01T03:00:22.250Z",
        seconds=0.75,
    )
    assert [span.type for span in greeting.spans] == ["GUARDRAIL", "LLM"]


def message(role, *chunks, **fields):
    return {"role": role, "chunks": list(chunks), **fields}


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [({"evaluation": "e1"}, "e1"), ({"evaluation": "", "eval_id": "e2"}, "e2"), ({}, None)],
)
def test_the_case_that_a_conversation_names(fields, wanted):
    said = {"turns": [{"messages": [{"role": "user", "chunks": [{"text": "Hi"}]}]}]}
    (read,) = turnwise.read_conversations({"name": f"{APP}/conversations/c", **said, **fields})
    assert read.eval_id == wanted


def at(second):
    return {"eventTime": f"2026-03-01T00:00:{second}Z"}


@pytest.mark.parametrize(
    ("asked", "answered", "seconds"), [("01", "05", 4.0), ("05", "05", 0.0), ("05", "01", None)]
)
def test_an_answer_before_its_question_has_no_latency(asked, answered, seconds):
    said = ("user", "q", asked), (f"{APP}/agents/a", "a", answered)
    messages = [{"role": role, "chunks": [{"text": text}], **at(second)} for role, text, second in said]
    log = {"name": f"{APP}/conversations/c", "turns": [{"messages": messages}]}
    result = turnwise.evaluate(log, criteria={"turn_latency": {"threshold": None}})
    found = [row["value"] for row in result.scores if row["turn_index"] == 0]
    assert (found, list(result.failures)) == ([] if seconds is None else [seconds], [])


SESSIONS = [
    ({"session": "s2", "turnIndex": 1, "diagnosticInfo": {}}, ("s2", 0)),
    ({"jsonPayload": {"sessionId": "s3", "turn_index": 4}}, ("s3", 3)),
    ({"jsonPayload": {"session_id": "s4"}}, ("s4", -1)),
]


@pytest.mark.parametrize(("value", "wanted"), SESSIONS)
def test_session_and_turn_of_an_entry(value, wanted):
    assert ces.entry_session(value) == wanted


@pytest.mark.parametrize("value", [{}, {"jsonPayload": {"turnIndex": 1}}, {"labels": {"session_id": ""}}])
def test_an_entry_without_a_session_is_refused(value):
    with pytest.raises(ValueError, match="session_id"):
        ces.entry_session(value)


def evaluation(**fields):
    return json.dumps({"displayName": "e", **fields}).encode()


def golden(*steps, **fields):
    steps = list(steps) or [{"userInput": {"text": "hi"}}]
    return evaluation(golden={"turns": [{"steps": steps}]}, **fields)


def thresholds(turn=None, call=None, extra=None, **fields):
    message = {}
    if turn:
        message["turnLevelMetricsThresholds"] = turn
    if call is not None:
        message["expectationLevelMetricsThresholds"] = {"toolInvocationParameterCorrectnessThreshold": call}
    if extra:
        message["toolMatchingSettings"] = {"extraToolCallBehavior": extra}
    return {"goldenEvaluationMetricsThresholds": message, **fields}


TOOLS_GATE = "overallToolInvocationCorrectnessThreshold"
MEANING_GATE = "semanticSimilaritySuccessThreshold"
MERGED = [
    (thresholds({MEANING_GATE: 2}), thresholds({MEANING_GATE: 4}), CaseThresholds(semantic_similarity=4)),
    (
        thresholds({MEANING_GATE: 2, TOOLS_GATE: 0.5}, 0.25, "ALLOW"),
        thresholds({MEANING_GATE: 0}),
        CaseThresholds(semantic_similarity=0, tool_invocation=0.5, parameter=0.25, extra_tool_calls="ALLOW"),
    ),
    (thresholds(call=0.5), thresholds(call=0.0), CaseThresholds(parameter=0.0)),
    (
        {"goldenHallucinationMetricBehavior": "ENABLED"},
        {"scenarioHallucinationMetricBehavior": "ENABLED"},
        CaseThresholds(golden_hallucination="ENABLED", scenario_hallucination="ENABLED"),
    ),
    (
        {"goldenHallucinationMetricBehavior": "ENABLED"},
        {"goldenHallucinationMetricBehavior": "DISABLED"},
        CaseThresholds(),
    ),
]


@pytest.mark.parametrize(("app", "own", "wanted"), MERGED)
def test_thresholds_are_merged_field_by_field(app, own, wanted):
    fields = {"evaluationMetricsThresholdOverride": own} if own else {}
    case = ces_cases.eval_case(golden(**fields), CesConfig(evaluation_metrics_thresholds=app))
    assert case.thresholds == wanted


def test_the_config_says_what_an_unexpected_answer_does():
    case = ces_cases.eval_case(golden(), CesConfig(unexpected_response="ALLOW"))
    assert case.thresholds.unexpected_response == "ALLOW"
