import json
from pathlib import Path

import pytest

from tests.ces_messages import parsed
from tests.samples import sample_of
from turnwise.schemas.case import EvalCase
from turnwise.schemas.config import CesConfig
from turnwise.schemas.conversation import TimedSpan, ToolCall, ToolResponse, Turn
from turnwise.schemas.run import RunInfo
from turnwise.transforms.ces.result import evaluation_result, result_name
from turnwise.transforms.criteria.figures import TurnLatency
from turnwise.transforms.formats.ces_cases import eval_case
from turnwise.transforms.review.row import RULES, score_rows
from turnwise.transforms.scoring.evaluate import conversation_verdict, score_conversation

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


def named(conversation_id, eval_id=None):
    case = EvalCase(eval_id=eval_id) if eval_id else None
    return result_name(matched(case, conversation_id=conversation_id))


def test_names_are_deterministic_and_distinct():
    ids = [("c", "e"), ("c", "f"), ("d", "e"), ("c", None), ("e", "c"), ("ce", "x"), ("c", "ex")]
    assert len({named(*pair) for pair in ids}) == len(ids)
    assert named("c", f"{APP}/evaluations/e").startswith(f"{APP}/evaluations/e/results/r-")
    assert named("\ud800", "e") != named("c", "e")
    assert named("c", "e") == "evaluations/e/results/r-d5d979437b07bc1d3adbcf02", "as in earlier releases"


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
