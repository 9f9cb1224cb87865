import json
from pathlib import Path

import pytest

import turnwise
from turnwise.schemas.case import CaseThresholds
from turnwise.schemas.config import CesConfig
from turnwise.schemas.conversation import Rubric, TimedSpan, ToolCall, TurnThresholds, Usage
from turnwise.schemas.proto.message import WireError
from turnwise.transforms.formats import ces_cases
from turnwise.transforms.formats import ces_conversations as ces
from turnwise.transforms.formats import ces_conversations as ces_log

SAMPLES = Path(__file__).parents[3] / "../shared/fixtures/ces/samples"
needs_samples = pytest.mark.skipif(not SAMPLES.is_dir(), reason="the shared fixtures are not here")
APP = "projects/acme-cx/locations/us/apps/travel-desk"


def sample(name):
    return (SAMPLES / f"{name}.json").read_bytes()


@pytest.fixture(scope="module")
def baggage():
    return ces.conversation(json.loads(sample("baggage__Conversation")))


@pytest.mark.parametrize(
    ("stated", "found"),
    [
        ({"turnCount": 3}, "turnCount is 3, and the number of turns 2"),
        ({"turnCount": 2}, None),
        ({"turnCount": 0}, None),
        ({}, None),
    ],
)
def test_turns_that_are_counted_and_not_there(stated, found):
    said = [{"role": role, "chunks": [{"text": "Hi"}]} for role in ("user", "projects/p/locations/us/apps/a")]
    made = ces.conversation({"name": "c", "turns": [{"messages": said}] * 2, **stated})
    kinds = [(problem.kind, problem.message) for turn in made.turns for problem in turn.findings]
    assert kinds == ([("MissingTurn", found)] if found else [])
    assert [turn.unknown_calls for turn in made.turns] == [None, found]
    assert [turn.unknown_words for turn in made.turns] == [None, found]
    assert not ces.conversation({"name": "c", "messages": said * 3, **stated}).turns[0].findings


@needs_samples
def test_what_a_recorded_conversation_says_of_itself(baggage):
    assert baggage.conversation_id == f"{APP}/conversations/live-7f3a"
    assert (baggage.source, baggage.language) == ("ces", "de-DE")
    assert baggage.app_version == f"{APP}/versions/v8"
    assert baggage.start_time == "2026-03-01T03:00:00Z"
    assert (baggage.eval_id, baggage.meta) == (None, {"deployment": f"{APP}/deployments/web-widget"})
    assert [turn.turn_index for turn in baggage.turns] == [0, 1]


@needs_samples
def test_what_was_said_and_done(baggage):
    greeting, claim = baggage.turns
    assert greeting.user == "<event>welcome</event>"
    assert greeting.agent == "Guten Tag! Wie kann ich Ihnen helfen?"
    assert greeting.variables == {"cart": [], "customer_tier": "basic", "score": 0.5, "vip": False}
    assert claim.user == "Mein Koffer (23 kg) ist kaputt, Foto anbei. Was erstattet ihr? 🧳"
    assert claim.agent_messages == ["Das tut mir leid. Beschädigtes Gepäck erstatten wir bis 1.131 SZR."]
    assert claim.agent == claim.agent_messages[0]
    assert claim.variables == {"topic": "baggage_damage"}
    assert claim.transfers == [f"{APP}/agents/baggage"]
    assert claim.payloads == [
        {"richContent": [[{"type": "link", "url": "https://acme-air.example/baggage"}]]}
    ]
    (call,) = claim.tool_calls
    assert call == ToolCall(
        name="search_policy",
        resource=f"{APP}/tools/search_policy",
        id="adk-77",
        args={"pageSize": 3.0, "query": "beschädigtes Gepäck Erstattung"},
        display_name="search_policy",
    )
    (answer,) = claim.tool_responses
    assert (answer.name, answer.id, answer.error) == ("search_policy", "adk-77", None)
    assert answer.response["output"]["snippets"][0]["title"] == "Gepäck"


@needs_samples
def test_clocks_spans_and_tokens(baggage):
    greeting, claim = baggage.turns
    assert (greeting.latency_ms, claim.latency_ms) == (950.0, 4100.0)
    assert (claim.model_ms, claim.tool_ms, claim.inference_calls) == (2740.0, 750.0, 2)
    assert claim.usage == Usage(input_tokens=3546, output_tokens=40)
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


def recorded(*messages, **fields):
    return ces.conversation({"name": "c", "turns": [{"messages": list(messages), **fields}]})


def test_unknown_fields_and_snake_case_are_read():
    found = ces.conversation(
        {
            "name": "c",
            "app_version": "v1",
            "language_code": "ko",
            "start_time": "2026-03-01T00:00:00Z",
            "brand_new": {"a": 1},
            "turns": [{"messages": [{"role": "user", "chunks": [{"text": "hi", "colour": "red"}]}]}],
        }
    )
    assert (found.app_version, found.language, found.start_time) == ("v1", "ko", "2026-03-01T00:00:00Z")
    assert found.turns[0].user == "hi"


def test_messages_without_turns_are_one_turn():
    found = ces.conversation(
        {"name": "c", "messages": [message("user", {"text": "a"}), message("bot", {"text": "b"})]}
    )
    assert [(turn.user, turn.agent) for turn in found.turns] == [("a", "b")]
    assert ces.conversation({"name": "c"}).turns == []


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [({"evaluation": "e1"}, "e1"), ({"evaluation": "", "eval_id": "e2"}, "e2"), ({}, None)],
)
def test_the_case_that_a_conversation_names(fields, wanted):
    assert ces.conversation({"name": "c", **fields}).eval_id == wanted


TOOLS = [
    ({"tool": f"{APP}/tools/search"}, "search", f"{APP}/tools/search"),
    ({"tool": "search"}, "search", None),
    ({"tool": f"{APP}/tools/s1", "displayName": "search"}, "s1", f"{APP}/tools/s1"),
    (
        {"toolsetTool": {"toolset": f"{APP}/toolsets/reservations", "toolId": "rebook"}},
        "rebook",
        f"{APP}/toolsets/reservations/tools/rebook",
    ),
]


@pytest.mark.parametrize(("reference", "name", "resource"), TOOLS)
def test_names_of_tools(reference, name, resource):
    turn = recorded(
        message(
            "agent",
            {"toolCall": {**reference, "args": {"x": 1}}},
            {"toolResponse": {**reference, "response": {"ok": True}}},
        )
    ).turns[0]
    assert [(c.name, c.resource, c.args) for c in turn.tool_calls] == [(name, resource, {"x": 1.0})]
    assert [(r.name, r.resource, r.response) for r in turn.tool_responses] == [(name, resource, {"ok": True})]


@pytest.mark.parametrize(
    ("answer", "wanted"), [({"error": "timeout"}, "timeout"), ({"error": None}, None), (None, None)]
)
def test_an_error_in_a_tools_answer(answer, wanted):
    turn = recorded(message("agent", {"toolResponse": {"tool": "t", "response": answer}})).turns[0]
    assert turn.tool_responses[0].error == wanted


def test_texts_and_transcripts_of_one_message_are_one_text():
    turn = recorded(
        message("user", {"transcript": "hel"}, {"text": "lo"}),
        message("user", {"text": "again"}),
        message("concierge", {"text": "a"}, {"payload": {"x": 1}}, {"transcript": "b"}),
        message("agent", {"payload": {"y": 1}}),
        message("user", {"payload": {"z": 1}}),
        message("agent", {"text": "c"}),
    ).turns[0]
    assert turn.user == "hello\nagain"
    assert (turn.agent_messages, turn.agent) == (["ab", "c"], "ab\nc")
    assert turn.payloads == [{"x": 1.0}, {"y": 1.0}]


def at(second):
    return {"eventTime": f"2026-03-01T00:00:{second}Z"}


CLOCKS = [
    ({"rootSpan": {"name": "Turn", "duration": "2.5s"}}, 2500.0),
    (
        {
            "rootSpan": {
                "name": "Turn",
                "startTime": "2026-03-01T00:00:00Z",
                "endTime": "2026-03-01T00:00:01.250Z",
            }
        },
        1250.0,
    ),
    ({}, 4000.0),
]


@pytest.mark.parametrize(("fields", "wanted"), CLOCKS)
def test_where_a_latency_comes_from(fields, wanted):
    turn = recorded(
        message("user", {"text": "q"}, **at("01")),
        message("agent", {"text": "a"}, **at("03")),
        message("agent", {"text": "b"}, **at("05")),
        message("user", {"text": "x"}, **at("09")),
        **fields,
    ).turns[0]
    assert turn.latency_ms == wanted


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


@pytest.mark.parametrize(
    ("counts", "usage"), [((3, 2), Usage(input_tokens=3, output_tokens=2)), ((-1, 2), None), ((3, -1), None)]
)
def test_negative_tokens_are_unknown(counts, usage):
    attributes = dict(zip(("input token count", "output token count"), counts, strict=True))
    child = {"name": "LLM", "duration": "1s", "attributes": attributes}
    root = {"name": "Turn", "duration": "2s", "childSpans": [child]}
    assert recorded(message("agent", {"text": "hi"}), rootSpan=root).turns[0].usage == usage


def entry(turn, text=None, session="s1", messages=None, labels=None, **payload):
    body = {"turnIndex": turn, **payload}
    if text is not None:
        body["text"] = text
    if messages is not None:
        body["diagnosticInfo"] = {"messages": messages, "rootSpan": {"name": "Turn", "duration": "1s"}}
    return {"labels": {"session_id": session, **(labels or {})}, "jsonPayload": body}


def test_log_entries_of_a_session_are_joined():
    entries = [
        entry(2, "two", messages=[message("user", {"text": "b?"}), message("agent", {"text": "two"})]),
        entry(1, "part"),
        entry(
            1,
            "one",
            messages=[message("user", {"text": "a?"}), message("agent", {"text": "one"})],
            labels={"app_version": "v3", "language_code": "fr", "evaluation": "e9"},
        ),
        {**entry(3, "x"), "timestamp": "2026-03-01T00:00:00Z"},
        entry(3, "y"),
    ]
    found = ces_log.joined_conversation("s1", entries)
    assert [(t.turn_index, t.user, t.agent, t.latency_ms) for t in found.turns] == [
        (0, "a?", "one", 1000.0),
        (1, "b?", "two", 1000.0),
        (2, None, "x\ny", None),
    ]
    assert found.turns[2].agent_messages == ["x", "y"]
    assert (found.conversation_id, found.source) == ("s1", "ces")
    assert (found.app_version, found.language, found.eval_id) == ("v3", "fr", "e9")
    assert found.start_time == "2026-03-01T00:00:00Z"


SESSIONS = [
    ({"session": "s2", "turnIndex": 1, "diagnosticInfo": {}}, ("s2", 1)),
    ({"jsonPayload": {"sessionId": "s3", "turn_index": 4}}, ("s3", 4)),
    ({"jsonPayload": {"session_id": "s4"}}, ("s4", 0)),
]


@pytest.mark.parametrize(("value", "wanted"), SESSIONS)
def test_session_and_turn_of_an_entry(value, wanted):
    assert ces_log.entry_session(value) == wanted


@pytest.mark.parametrize("value", [{}, {"jsonPayload": {"turnIndex": 1}}, {"labels": {"session_id": ""}}])
def test_an_entry_without_a_session_is_refused(value):
    with pytest.raises(ValueError, match="session_id"):
        ces_log.entry_session(value)


@needs_samples
def test_a_golden_case():
    case = ces_cases.eval_case(sample("golden_rebooking__Evaluation"), CesConfig())
    assert (case.eval_id, case.kind, case.dialect) == (
        f"{APP}/evaluations/rebook-cancelled-flight",
        "golden",
        "ces",
    )
    assert (case.display_name, case.tags) == ("Rebook a cancelled flight", ["P0", "rebooking"])
    assert case.evaluation_expectations == [f"{APP}/evaluationExpectations/polite-tone"]
    assert case.thresholds == CaseThresholds(golden_hallucination="ENABLED")
    assert (case.similarity_enabled, case.tool_correctness_enabled, case.step_tool_correctness_enabled) == (
        True,
        True,
        True,
    )
    assert [turn.user for turn in case.turns] == [
        "<event>welcome</event>",
        "My flight AC123 tomorrow was cancelled, can you rebook me?",
        "The 14:05 is fine, one bag.",
        "And I want a refund for my hotel night.",
    ]
    assert [[e.kind for e in turn.expectations] for turn in case.turns] == [
        ["agent_response", "no_tool_calls"],
        ["tool_call", "mock_tool_response", "updated_variables", "agent_response"],
        ["tool_call", "tool_response", "agent_response"],
        ["agent_transfer", "agent_response"],
    ]


@needs_samples
def test_the_turns_of_a_golden_case():
    case = ces_cases.eval_case(sample("golden_rebooking__Evaluation"), CesConfig())
    greeting, lookup, rebook, hand_over = case.turns
    assert greeting.response == "Welcome to Acme Air. How can I help you today?"
    assert [turn.scripted_transfers for turn in case.turns] == [[], [], [], [f"{APP}/agents/refunds"]]
    assert [turn.thresholds for turn in case.turns] == [
        None,
        None,
        TurnThresholds(semantic_similarity=2),
        TurnThresholds(hallucination="DISABLED"),
    ]
    assert lookup.expectations[0].tool_call.args["date"]["$matchType"] == "semantic"
    assert lookup.expectations[2].variables == {"booking_ref": "K7Q2ZP"}
    assert [call.resource for call in rebook.tool_calls] == [f"{APP}/toolsets/reservations/tools/rebook"]
    assert [e.parameter_threshold for e in rebook.expectations] == [0.75, None, None]
    assert [e.skip for e in rebook.expectations] == [False, True, False]
    assert hand_over.expectations[0].target_agent == f"{APP}/agents/refunds"
    assert [e.comparison for e in hand_over.expectations] == ["SEMANTIC_SIMILARITY", "CONTAINS"]
    steps = json.loads(sample("golden_rebooking__Evaluation"))["golden"]["turns"][2]["steps"]
    assert [e.wire for e in rebook.expectations] == [step["expectation"] for step in steps[1:]]


@needs_samples
def test_a_scenario_case():
    case = ces_cases.eval_case(sample("scenario_refund__Evaluation"), CesConfig())
    assert (case.kind, case.dialect, case.user_goal, case.turns) == ("scenario", "ces", "SATISFIED", [])
    assert case.task.startswith("Get a refund for one hotel night")
    assert [(fact.name, fact.value) for fact in case.user_facts] == [
        ("booking reference", "K7Q2ZP"),
        ("hotel cost", "189.00 CAD"),
    ]
    assert case.rubrics[0] == Rubric(
        rubric_id="0", text="The agent asks for one piece of information at a time."
    )
    tool, said = case.expectations
    assert (tool.kind, tool.tool_call.name, tool.tool_call.args) == (
        "tool_call",
        "open_refund_case",
        {"bookingRef": "K7Q2ZP"},
    )
    assert (said.kind, said.comparison, said.text[:30]) == (
        "agent_response",
        "CONTAINS",
        "Your refund case RF-88 is open",
    )
    assert len(case.evaluation_expectations) == 1


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


SAID = {"chunks": [{"text": "a"}, {"text": "b"}]}
OFF = {"agentResponseSemanticSimilarityMetricsConfigOverride": {}}
EXPECTATIONS = [
    ({"agentResponse": SAID}, {"kind": "agent_response", "text": "ab", "comparison": "SEMANTIC_SIMILARITY"}),
    ({"agentResponse": SAID, "comparisonType": "CONTAINS"}, {"comparison": "CONTAINS", "skip": False}),
    ({"agentResponse": SAID, "skipEvaluation": True}, {"skip": True}),
    ({"agentResponse": SAID, **OFF}, {"skip": True}),
    ({"noToolCalls": True}, {"kind": "no_tool_calls", "skip": False}),
    ({"noToolCalls": False}, {"kind": "no_tool_calls", "skip": True}),
    ({"updatedVariables": {"x": 1}}, {"kind": "updated_variables", "variables": {"x": 1.0}}),
    ({"agentTransfer": {"targetAgent": "b"}}, {"kind": "agent_transfer", "target_agent": "b"}),
]


@pytest.mark.parametrize(("message", "wanted"), EXPECTATIONS)
def test_expectations(message, wanted):
    (turn,) = ces_cases.eval_case(expects(**message), CesConfig()).turns
    (expectation,) = turn.expectations
    assert {name: getattr(expectation, name) for name in wanted} == wanted


USER_INPUTS = [
    ([{"text": "hi"}, {"text": "there"}], "hi\nthere"),
    ([{"event": {"event": "welcome"}}], "<event>welcome</event>"),
    ([{"dtmf": "12#"}], "12#"),
    ([{"variables": {"a": 1}}], None),
]


@pytest.mark.parametrize(("inputs", "wanted"), USER_INPUTS)
def test_user_inputs(inputs, wanted):
    case = ces_cases.eval_case(golden(*[{"userInput": value} for value in inputs]), CesConfig())
    assert case.turns[0].user == wanted


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
