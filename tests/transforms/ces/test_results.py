import json
from pathlib import Path

import pytest

from tests.ces_messages import parsed
from tests.samples import sample_of
from turnwise.schemas.case import CaseThresholds, EvalCase, UserFact
from turnwise.schemas.config import CesConfig
from turnwise.schemas.conversation import (
    Expectation,
    ExpectedTurn,
    Rubric,
    TimedSpan,
    ToolCall,
    ToolResponse,
    Turn,
)
from turnwise.schemas.run import RunInfo
from turnwise.transforms.ces.result import evaluation_result, result_name
from turnwise.transforms.criteria.figures import TurnLatency
from turnwise.transforms.formats.ces_cases import eval_case
from turnwise.transforms.review.row import RULES, score_rows
from turnwise.transforms.scoring.evaluate import Verdict, conversation_verdict, score_conversation

SAMPLES = Path(__file__).parents[3] / "../shared/fixtures/ces/samples"
needs_samples = pytest.mark.skipif(not SAMPLES.is_dir(), reason="the shared fixtures are not here")
APP = "projects/acme-cx/locations/us/apps/travel-desk"
RUN = RunInfo("run-1", "2026-03-01T02:00:00Z")


def matched(case, *turns, **fields):
    fields = {"conversation_id": "conv-1", "app_version": f"{APP}/versions/v7", **fields}
    return sample_of(case, *turns, **fields)


def result_of(case, *turns, verdict=None, **fields):
    scored = score_conversation(matched(case, *turns, **fields), ())
    return parsed(evaluation_result(scored, verdict or conversation_verdict(scored, RULES), RUN))


def ces_sample(name):
    return eval_case((SAMPLES / f"{name}__Evaluation.json").read_bytes(), CesConfig())


def tool(name):
    return f"{APP}/tools/{name}"


TOOLSET = f"{APP}/toolsets/reservations"
REBOOK = f"{TOOLSET}/tools/rebook"
OF_TOOLSET = {"toolset": TOOLSET, "toolId": "rebook"}
LOOKED_UP = {"flight": "AC123", "date": "2026-03-02"}
REBOOKED = {"bags": 1, "bookingRef": "K7Q2ZP", "flight": "AC457", "seatNote": "aisle"}


def rebooking(date="2026-03-02", **third):
    """The turns of a conversation that does what the golden wants, word for word but for one detail."""
    lookup = ToolCall(
        name="lookup_booking", resource=tool("lookup_booking"), args={**LOOKED_UP, "date": date}, id="1"
    )
    rebook = ToolCall(name="rebook", resource=REBOOK, args=REBOOKED)
    spans = [
        TimedSpan(
            type="TOOL",
            name="rebook",
            resource=REBOOK,
            seconds=1.2,
            start_time="2026-03-01T02:00:22Z",
            end_time="2026-03-01T02:00:23.200Z",
        ),
        TimedSpan(type="LLM", name="gemini-2.5-flash", seconds=0.5),
        TimedSpan(type="GUARDRAIL", name="safety", seconds=0.01),
        TimedSpan(type="USER_CALLBACK", name="before_model", seconds=0.0),
    ]
    words = [
        "Welcome to Acme Air. How can I help you today?",
        "Your flight AC123 was cancelled. I can move you to AC457 at 14:05 or AC461 at 18:40. "
        "Which do you prefer?",
        "Done. You are on AC457 at 14:05, booking K7Q2ZP.",
        "I'm handing you over to our refunds specialist for the hotel. One moment.",
    ]
    turns = [Turn(turn_index=i, user="q", agent=text, latency_ms=750.0 + i) for i, text in enumerate(words)]
    turns[1].tool_calls, turns[1].variables = [lookup], {"booking_ref": "K7Q2ZP"}
    turns[2].tool_calls, turns[2].spans = [rebook], spans
    turns[2].tool_responses = [ToolResponse(name="rebook", resource=REBOOK, response={"confirmed": False})]
    turns[3].transfers, turns[3].payloads = [f"{APP}/agents/refunds"], [{"card": {"queue": "refunds"}}]
    for name, value in third.items():
        setattr(turns[2], name, value)
    return turns


@needs_samples
def test_a_golden_that_was_met():
    result = result_of(ces_sample("golden_rebooking"), *rebooking())
    assert result["executionState"] == "COMPLETED"
    assert result["appVersion"] == f"{APP}/versions/v7"
    assert result["evaluationRun"] == "evaluationRuns/run-1"
    assert "evaluationStatus" not in result
    assert result["errorInfo"]["errorMessage"] == (
        "no verdict: 1 evaluation expectation needs a judge; hallucination needs a judge"
    )
    turns = result["goldenResult"]["turnReplayResults"]
    assert [[o["outcome"] for o in turn["expectationOutcome"]] for turn in turns] == [
        ["PASS", "PASS"],
        ["PASS", "SKIPPED", "PASS", "PASS"],
        ["PASS", "SKIPPED", "PASS"],
        ["PASS", "PASS", "SKIPPED"],
    ]
    assert [turn["turnLatency"] for turn in turns] == ["0.750s", "0.751s", "0.752s", "0.753s"]
    lookup = turns[1]["expectationOutcome"][0]
    assert lookup["toolInvocationResult"] == {
        "parameterCorrectnessScore": 1.0,
        "outcome": "PASS",
        "explanation": "2 of 2 parameters match.",
    }
    assert lookup["observedToolCall"] == {"tool": tool("lookup_booking"), "id": "1", "args": LOOKED_UP}
    rebook = turns[2]["expectationOutcome"][0]
    assert rebook["observedToolCall"]["toolsetTool"] == OF_TOOLSET
    assert rebook["toolInvocationResult"]["parameterCorrectnessScore"] == 1.0
    assert turns[2]["expectationOutcome"][1]["observedToolResponse"]["response"] == {"confirmed": False}
    assert turns[3]["expectationOutcome"][2] == {
        "observedPayload": {"card": {"queue": "refunds"}},
        "outcome": "SKIPPED",
    }
    assert result["evaluationMetricsThresholds"]["goldenHallucinationMetricBehavior"] == "ENABLED"


@needs_samples
def test_latencies_of_spans():
    turn = result_of(ces_sample("golden_rebooking"), *rebooking())["goldenResult"]["turnReplayResults"][2]
    assert turn["toolCallLatencies"] == [
        {
            "tool": REBOOK,
            "displayName": "rebook",
            "startTime": "2026-03-01T02:00:22Z",
            "endTime": "2026-03-01T02:00:23.200Z",
            "executionLatency": "1.200s",
        }
    ]
    found = [{k: v for k, v in span.items() if not k.endswith("Time")} for span in turn["spanLatencies"]]
    assert found == [
        {"type": "TOOL", "displayName": "rebook", "toolset": OF_TOOLSET, "executionLatency": "1.200s"},
        {"type": "LLM", "model": "gemini-2.5-flash", "executionLatency": "0.500s"},
        {"type": "GUARDRAIL", "displayName": "safety", "resource": "safety", "executionLatency": "0.010s"},
        {"type": "USER_CALLBACK", "callback": "before_model", "executionLatency": "0s"},
    ]


@needs_samples
def test_a_golden_that_was_missed():
    turns = rebooking(
        tool_calls=[ToolCall(name="get_weather", resource=tool("get_weather"), args={"city": "T"})]
    )
    result = result_of(ces_sample("golden_rebooking"), *turns)
    assert result["evaluationStatus"] == "FAIL"
    assert "errorInfo" not in result
    turn = result["goldenResult"]["turnReplayResults"][2]
    said = turn["errorInfo"].pop("errorMessage")
    assert said.startswith("Turn 3: Not met: tool_call rebook(bags: 1.0, ")
    assert said.endswith("Not expected: get_weather(city: T).")
    assert turn["errorInfo"] == {}
    missed, *_, extra = turn["expectationOutcome"]
    assert missed["toolInvocationResult"] == {
        "parameterCorrectnessScore": 0.0,
        "outcome": "FAIL",
        "explanation": "The tool was not called.",
    }
    assert "observedToolCall" not in missed
    assert extra == {
        "observedToolCall": {"tool": tool("get_weather"), "args": {"city": "T"}},
        "outcome": "FAIL",
    }
    assert turn["overallToolInvocationResult"] == {"toolInvocationScore": 0.0, "outcome": "FAIL"}
    assert turn["toolOrderedInvocationScore"] == 0.0


@needs_samples
def test_an_unclear_parameter_has_neither_score_nor_outcome():
    result = result_of(ces_sample("golden_rebooking"), *rebooking(date="March 2nd"))
    lookup = result["goldenResult"]["turnReplayResults"][1]["expectationOutcome"][0]
    assert lookup["toolInvocationResult"] == {"explanation": "1 of 2 parameters match, 1 need a judge."}
    assert "outcome" not in lookup
    assert "1 turn needs a judge to compare meaning" in result["errorInfo"]["errorMessage"]


@needs_samples
@pytest.mark.parametrize("keep", [[], [0], [0, 1, 2], [0, 1, 2, 3, 0]])
def test_golden_results_with_missing_and_extra_turns(keep):
    turns = rebooking()
    result = result_of(ces_sample("golden_rebooking"), *[turns[i] for i in keep])
    assert result["evaluationStatus"] == "FAIL"
    assert len(result["goldenResult"]["turnReplayResults"]) >= max(4, len(keep))


@needs_samples
def test_a_scenario_result():
    case = ces_sample("scenario_refund")
    call = ToolCall(
        name="open_refund_case", resource=tool("open_refund_case"), args={"bookingRef": "K7Q2ZP", "x": 1}
    )
    words = "Your refund case RF-88 is open; expect the money in 5 days."
    turns = [Turn(tool_calls=[call]), Turn(agent=f"{words} Bye.", spans=rebooking()[2].spans, latency_ms=5.0)]
    result = result_of(case, *turns)
    scenario = result["scenarioResult"]
    assert scenario["allExpectationsSatisfied"] is True
    assert [o["outcome"] for o in scenario["expectationOutcomes"]] == ["PASS", "PASS"]
    assert scenario["expectationOutcomes"][0]["observedToolCall"]["toolCall"]["args"]["x"] == 1
    assert scenario["expectationOutcomes"][1]["observedAgentResponse"]["chunks"] == [
        {"text": f"{words} Bye."}
    ]
    wire = json.loads((SAMPLES / "scenario_refund__Evaluation.json").read_text())["scenario"]
    assert [o["expectation"] for o in scenario["expectationOutcomes"]] == wire["scenarioExpectations"]
    assert scenario["task"] == wire["task"]
    assert scenario["userFacts"] == wire["userFacts"]
    assert [o["rubric"] for o in scenario["rubricOutcomes"]] == wire["rubrics"]
    assert len(scenario["spanLatencies"]) == 4
    assert "evaluationStatus" not in result
    missed = result_of(case, Turn(agent="no"))
    assert missed["evaluationStatus"] == "FAIL"
    assert missed["scenarioResult"]["allExpectationsSatisfied"] is False


SAYS_BYE = Expectation("agent_response", text="bye", comparison="CONTAINS")
WANTS_A = Expectation("tool_call", tool_call=ToolCall(name="a"))
MADE = [ToolCall(name="b", id="1"), ToolCall(name="a", id="2")]
ANSWERS = [ToolResponse(name="a", id="2", response={"ok": True}), ToolResponse(name="b", id="1", response={})]


def scenario_result(*turns):
    case = EvalCase(eval_id="e", kind="scenario", dialect="ces", expectations=[WANTS_A, SAYS_BYE])
    return result_of(case, *turns)["scenarioResult"]


@pytest.mark.parametrize(
    ("turns", "outcomes", "satisfied"),
    [
        ([Turn(tool_calls=MADE, agent="goodbye")], ["PASS", "PASS"], True),
        ([Turn(tool_calls=MADE, agent="so long")], ["PASS", None], None),
        ([Turn(agent="so long")], ["FAIL", None], False),
        ([Turn(tool_calls=MADE)], ["PASS", "FAIL"], False),
    ],
)
def test_one_missed_expectation_is_enough_to_know_that_not_all_are_satisfied(turns, outcomes, satisfied):
    result = scenario_result(*turns)
    assert [outcome.get("outcome") for outcome in result["expectationOutcomes"]] == outcomes
    assert result.get("allExpectationsSatisfied") is satisfied


@pytest.mark.parametrize("answers", [ANSWERS, ANSWERS[1:]])
def test_an_observed_call_brings_its_response_along(answers):
    result = scenario_result(Turn(tool_calls=MADE, tool_responses=answers, agent="goodbye"))
    observed = result["expectationOutcomes"][0]["observedToolCall"]
    assert observed["toolCall"] == {"tool": "a", "id": "2"}
    answered = {"toolResponse": {"tool": "a", "id": "2", "response": {"ok": True}}}
    assert observed == {"toolCall": observed["toolCall"], **(answered if answers == ANSWERS else {})}


@pytest.mark.parametrize("dialect", ["adk", "turnwise"])
def test_a_golden_of_another_format(dialect):
    turn = ExpectedTurn(response="hi there", tool_calls=[ToolCall(name="a", args={"x": None, "y": [1, {}]})])
    case = EvalCase(eval_id="case 7/ü", dialect=dialect, turns=[turn, ExpectedTurn()])
    made = [ToolCall(name="a", args={"x": None, "y": [1, {}]}), ToolCall(name="b"), ToolCall(id="3")]
    result = result_of(
        case,
        Turn(agent="hello", tool_calls=made, transfers=["c"]),
        Turn(agent=""),
        verdict=Verdict("PASS"),
        app_version=None,
    )
    assert result["evaluationStatus"] == "PASS"
    assert "appVersion" not in result
    assert "evaluationMetricsThresholds" not in result
    first, second = result["goldenResult"]["turnReplayResults"]
    assert first["expectationOutcome"] == [
        {
            "expectation": {"toolCall": {"tool": "a", "args": {"x": None, "y": [1, {}]}}},
            "observedToolCall": {"tool": "a", "args": {"x": None, "y": [1, {}]}},
            "outcome": "PASS",
            "toolInvocationResult": {
                "parameterCorrectnessScore": 1.0,
                "outcome": "PASS",
                "explanation": "2 of 2 parameters match.",
            },
        },
        {
            "expectation": {"agentResponse": {"role": "agent", "chunks": [{"text": "hi there"}]}},
            "observedAgentResponse": {"role": "agent", "chunks": [{"text": "hello"}]},
        },
        {"observedToolCall": {"tool": "b"}, "outcome": "SKIPPED"},
        {"observedToolCall": {"tool": "", "id": "3"}, "outcome": "SKIPPED"},
    ]
    assert not second.get("expectationOutcome")


def test_a_tools_answer_that_is_no_object():
    wanted = Expectation(
        "tool_response",
        tool_response=ToolResponse(name="a", response=[1]),
        skip=True,
        wire={"toolResponse": {"tool": "a"}},
    )
    case = EvalCase(eval_id="e", dialect="ces", turns=[ExpectedTurn(expectations=[wanted])])
    answer = ToolResponse(name="a", id="9", response=["x"])
    result = result_of(case, Turn(tool_responses=[answer]))
    (outcome,) = result["goldenResult"]["turnReplayResults"][0]["expectationOutcome"]
    assert outcome["observedToolResponse"] == {"tool": "a", "id": "9", "response": {"output": ["x"]}}


def test_an_adk_scenario_is_a_scenario():
    case = EvalCase(
        eval_id="s",
        kind="scenario",
        dialect="adk",
        task="book",
        user_facts=[UserFact(name="starting_prompt", value="hi")],
        rubrics=[Rubric(rubric_id="r", text="is brief")],
    )
    result = result_of(case, Turn(agent="x"))
    assert result["scenarioResult"] == {
        "conversation": "conv-1",
        "task": "book",
        "userFacts": [{"name": "starting_prompt", "value": "hi"}],
        "rubricOutcomes": [{"rubric": "is brief"}],
    }
    assert result["errorInfo"] == {
        "errorType": "METRIC_CALCULATION_FAILURE",
        "errorMessage": "no verdict: no criterion with a threshold applies",
        "sessionId": "conv-1",
    }


def test_a_conversation_without_a_case():
    spans = rebooking()[2].spans
    result = result_of(None, Turn(agent="x", spans=spans), Turn(spans=spans[:1]), verdict=Verdict("FAIL"))
    assert result["name"].startswith("evaluations/-/results/r-")
    assert result["displayName"] == "conv-1 result (v7) - conv-1"
    assert result["evaluationStatus"] == "FAIL"
    assert set(result["scenarioResult"]) == {"conversation", "toolCallLatencies", "spanLatencies"}
    assert len(result["scenarioResult"]["toolCallLatencies"]) == 2


def test_thresholds_are_copied_into_the_result():
    case = EvalCase(
        eval_id="e",
        dialect="ces",
        turns=[ExpectedTurn()],
        thresholds=CaseThresholds(
            semantic_similarity=0, tool_invocation=0.1, parameter=1 / 3, extra_tool_calls="ALLOW"
        ),
    )
    golden = result_of(case, Turn())["evaluationMetricsThresholds"]["goldenEvaluationMetricsThresholds"]
    assert golden == {
        "turnLevelMetricsThresholds": {
            "semanticSimilaritySuccessThreshold": 0,
            "overallToolInvocationCorrectnessThreshold": 0.1,
        },
        "expectationLevelMetricsThresholds": {"toolInvocationParameterCorrectnessThreshold": 0.33333334},
        "toolMatchingSettings": {"extraToolCallBehavior": "ALLOW"},
    }


def named(conversation_id, eval_id=None):
    case = EvalCase(eval_id=eval_id) if eval_id else None
    return result_name(matched(case, conversation_id=conversation_id))


def test_names_are_deterministic_and_distinct():
    ids = [("c", "e"), ("c", "f"), ("d", "e"), ("c", None), ("e", "c"), ("ce", "x"), ("c", "ex")]
    assert len({named(*pair) for pair in ids}) == len(ids)
    assert named("c", f"{APP}/evaluations/e").startswith(f"{APP}/evaluations/e/results/r-")
    assert named("\ud800", "e") != named("c", "e")
    assert named("c", "e") == "evaluations/e/results/r-d5d979437b07bc1d3adbcf02", "as in earlier releases"


def test_a_span_with_another_clock_than_rfc_3339_still_gives_a_valid_result():
    span = TimedSpan(type="TOOL", name="a", start_time="2024-01-01 10:00", end_time="1700000000", seconds=1.0)
    result = result_of(None, Turn(spans=[span]), verdict=Verdict("PASS"))
    (latency,) = result["scenarioResult"]["toolCallLatencies"]
    assert latency == {"tool": "a", "displayName": "a", "executionLatency": "1s"}


CLOCKS = [
    (1.7e9, "2023-11-14T22:13:20Z"),
    (1.7e12, "2023-11-14T22:13:20Z"),
    (1.7e15, None),
    (-1e9, "1938-04-24T22:13:20Z"),
    (-1e15, None),
    (float("nan"), None),
    (float("inf"), None),
    ("yesterday", "yesterday"),
]


@pytest.mark.parametrize(("timestamp", "wanted"), CLOCKS)
def test_a_turn_with_a_strange_clock_still_has_its_rows(timestamp, wanted):
    case = matched(None, Turn(timestamp=timestamp, latency_ms=1.0))
    rows = list(score_rows(score_conversation(case, [TurnLatency()]), RUN))
    assert [(row.turn_index, row.event_time) for row in rows] == [(0, wanted), (None, None)]


BOOKED, PAY = Expectation("agent_response", text="Booked."), ToolCall("pay", {"x": 1})
WANTS_PAY = Expectation("tool_call", tool_call=PAY)
UNMET = [
    # expectation, the agent's answer, its calls, message
    (BOOKED, None, [], "Not met: “Booked.” was not said, the agent said nothing."),
    (
        Expectation("agent_response", text="Booked.", comparison="EQUALS"),
        "No.",
        [],
        "Not met: “Booked.” was not said, said instead: “No.”.",
    ),
    (
        Expectation("agent_transfer", target_agent="desk"),
        "No.",
        [],
        "Not met: agent_transfer desk. Answer not expected: “No.”.",
    ),
    (
        Expectation("no_tool_calls"),
        None,
        [ToolCall("pay", {})],
        "Not met: a tool was called where none was to be. Not expected: pay().",
    ),
    (WANTS_PAY, "No.", [], "Not met: tool_call pay(x: 1). Answer not expected: “No.”."),
    (Expectation("agent_response", text="Hi", comparison="EQUALS"), "Hi", [PAY], "Not expected: pay(x: 1)."),
    (WANTS_PAY, "Done.", [PAY], "Answer not expected: “Done.”."),
]


@pytest.mark.parametrize(("expectation", "said", "calls", "message"), UNMET)
def test_a_failed_golden_says_what_was_not_met_in_its_turn(expectation, said, calls, message):
    case = EvalCase("e", dialect="ces", turns=[ExpectedTurn(user="Hi", expectations=[expectation])])
    result = result_of(case, Turn(user="Hi", agent=said, tool_calls=calls))
    assert result["evaluationStatus"] == "FAIL" and "errorInfo" not in result
    (replay,) = result["goldenResult"]["turnReplayResults"]
    assert replay["errorInfo"] == {"errorMessage": f"Turn 1: {message}"}
