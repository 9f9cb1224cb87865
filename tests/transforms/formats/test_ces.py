import json
from pathlib import Path

import pytest

import turnwise
from turnwise.schemas.case import CaseThresholds
from turnwise.schemas.config import CesConfig
from turnwise.schemas.conversation import TimedSpan, Usage
from turnwise.schemas.proto.message import WireError
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


def expects(**fields):
    return golden({"expectation": fields})


BAD_PATTERN = {"$matchType": "regexp", "$matchValue": "("}
BAD_PATTERNS = [
    expects(toolCall={"tool": "t", "args": {"x": BAD_PATTERN}}),
    expects(toolResponse={"tool": "t", "response": BAD_PATTERN}),
    evaluation(
        scenario={
            "task": "t",
            "scenarioExpectations": [
                {"toolExpectation": {"expectedToolCall": {"tool": "t", "args": {"x": BAD_PATTERN}}}}
            ],
        }
    ),
]


@pytest.mark.parametrize("data", BAD_PATTERNS)
def test_a_bad_pattern_in_a_directive_is_refused(data):
    with pytest.raises(ValueError, match="not a regular expression"):
        ces_cases.eval_case(data, CesConfig())


def test_a_directive_of_an_unknown_type_is_refused():
    data = expects(toolCall={"tool": "t", "args": {"x": {"$matchType": "regex", "$matchValue": "a"}}})
    with pytest.raises(ValueError, match=r"'regex' is no type of a directive \(did you mean regexp\?\)"):
        ces_cases.eval_case(data, CesConfig())


RESULTS_IN_CASES = [
    {"lastCompletedResult": {"aFieldOfTomorrow": [1]}},
    {"lastCompletedResult": json.loads('{"a":' * 150 + "1" + "}" * 150)},
]


@pytest.mark.parametrize("fields", RESULTS_IN_CASES)
def test_the_results_that_a_case_holds_are_not_read(fields):
    assert ces_cases.eval_case(golden(**fields), CesConfig()) == ces_cases.eval_case(golden(), CesConfig())


REFUSED = [
    (b"[]", WireError),
    (b'{"displayName": "e", "golden": {"turnz": []}}', WireError),
    (b'{"displayName": "e"}', ValueError),
    (golden(lastCompletedResults={}), WireError),
    (b'{"golden": {"turns": []}}', ValueError),
    (expects(note="nothing wanted"), ValueError),
    (evaluation(scenario={"task": "t", "scenarioExpectations": [{"toolExpectation": {}}]}), ValueError),
]


@pytest.mark.parametrize(("data", "error"), REFUSED)
def test_what_is_no_case_is_refused_in_one_line(data, error):
    with pytest.raises(error) as caught:
        ces_cases.eval_case(data, CesConfig())
    assert str(caught.value)
    assert "\n" not in str(caught.value)


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


def gated(**thresholds):
    turn = {"steps": [{"userInput": {"text": "hi"}}], "turnLevelMetricsThresholdsOverride": thresholds}
    return evaluation(golden={"turns": [turn]})


CALL_GATE = "toolInvocationParameterCorrectnessThreshold"
OUT_OF_LIMITS = [
    (evaluation(golden={}), "Evaluation.golden.turns: at least one turn is needed"),
    (evaluation(golden={"turns": [{}]}), "Evaluation.golden.turns[0].steps: at least one step is needed"),
    (golden({"userInput": {}}, {}), "Evaluation.golden.turns[0].steps[1]: is empty"),
    (
        evaluation(scenario={"task": " ", "rubrics": [""]}),
        "Evaluation.scenario: a task or rubrics are needed",
    ),
    (gated(**{TOOLS_GATE: 1.5}), f"{TOOLS_GATE}: 1.5 does not lie between 0 and 1"),
    (gated(**{TOOLS_GATE: "NaN"}), f"{TOOLS_GATE}: nan does not lie between 0 and 1"),
    (
        expects(noToolCalls=True, expectationLevelMetricsThresholdsOverride={CALL_GATE: 2}),
        f"{CALL_GATE}: 2 does not lie between 0 and 1",
    ),
    (golden(evaluationMetricsThresholdOverride=thresholds({MEANING_GATE: 5})), f"{MEANING_GATE}: 5 does not"),
]


@pytest.mark.parametrize(("data", "message"), OUT_OF_LIMITS)
def test_cases_that_could_not_be_held_against_anything_and_gates_off_their_scale(data, message):
    with pytest.raises(WireError) as caught:
        ces_cases.eval_case(data, CesConfig())
    assert message in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("gate", [0, 4])
def test_the_ends_of_a_scale_are_gates(gate):
    turn = ces_cases.eval_case(gated(**{MEANING_GATE: gate, TOOLS_GATE: gate / 4}), CesConfig()).turns[0]
    assert (turn.thresholds.semantic_similarity, turn.thresholds.tool_invocation) == (gate, gate / 4)


SWITCHES = [
    ({}, (True, True, True)),
    ({"goldenMetricsConfig": {"semanticSimilarityMetricsConfig": {}}}, (False, True, True)),
    ({"goldenMetricsConfig": {"toolCorrectnessMetricsConfig": {}}}, (True, False, True)),
    ({"goldenMetricsConfig": {"stepToolCorrectnessMetricsConfig": {}}}, (True, True, False)),
]


@pytest.mark.parametrize(("config", "wanted"), SWITCHES)
def test_a_switch_is_off_where_it_is_present_and_not_true(config, wanted):
    case = ces_cases.eval_case(golden(evaluationMetricsConfigOverride=config), CesConfig())
    found = (case.similarity_enabled, case.tool_correctness_enabled, case.step_tool_correctness_enabled)
    assert found == wanted


GOALS = [
    ({}, "SATISFIED"),
    ({"userGoalBehavior": "USER_GOAL_REJECTED"}, "REJECTED"),
    ({"taskCompletionBehavior": "TASK_REJECTED"}, "REJECTED"),
    ({"taskCompletionBehavior": "TASK_REJECTED", "userGoalBehavior": "USER_GOAL_SATISFIED"}, "SATISFIED"),
]


@pytest.mark.parametrize(("fields", "wanted"), GOALS)
def test_user_goals(fields, wanted):
    assert ces_cases.eval_case(evaluation(scenario={"task": "t", **fields}), CesConfig()).user_goal == wanted


def test_a_case_is_called_by_its_name_or_else_by_its_display_name():
    assert ces_cases.eval_case(golden(), CesConfig()).eval_id == "e"
    assert ces_cases.eval_case(golden(name="x/evaluations/y"), CesConfig()).eval_id == "x/evaluations/y"
