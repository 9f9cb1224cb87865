"""BeeAI's events are spans: a call is counted once, and two calls are two, whatever their arguments."""

import json
from pathlib import Path

import pytest

import turnwise
from turnwise.schemas.conversation import Turn
from turnwise.transforms.formats.traces.span import TraceSpan
from turnwise.transforms.formats.traces.turns import join_spans

S = 1_000_000_000
RECORDING = (
    Path(__file__).parents[4] / "../shared/data/raw/formats/langfuse_trace/beeai-2025-08-01.trace.json"
)
SCOPE = "openinference.instrumentation.beeai"
ARGS = json.dumps({"city": "Rome"})


def turn_of(*events: tuple[str, str, dict[str, str]], scope: str = SCOPE, error: str = "") -> Turn:
    """The turn of an agent with an iteration that holds events, each a name, a parent and attributes."""
    kind = {"openinference.span.kind": "AGENT"}
    spans = [
        TraceSpan("t", "root", "", "main", S, 90 * S, {**kind, "input.value": "How is it?"}, scope=scope)
    ]
    spans.append(
        TraceSpan("t", "step", "root", "iteration-1", 2 * S, 90 * S, {"target": "step"}, scope=scope)
    )
    for place, (name, parent, held) in enumerate(events, 3):
        word = "AGENT" if name.startswith("agent.") else "TOOL"
        attributes = {"openinference.span.kind": word, **held}
        failed = ".error-" in name
        made = TraceSpan("t", name, parent, name, place * S, 90 * S, attributes, scope=scope)
        made.error, made.message = failed, error if failed else ""
        spans.append(made)
    shuffled = [*spans[::2], *spans[1::2]]
    (turn,) = join_spans("c", shuffled).turns
    return turn


ASKED = ("agent.react.update-1", "step", {"tool.name": "Weather", "tool.parameters": ARGS})
START = {"tool.parameters": ARGS}
END = {"tool.parameters": ARGS, "output.value": "sun"}
TOLD = {"tool.name": "Weather", "tool.parameters": ARGS, "output.value": "sun"}


def test_the_events_of_a_call_are_one_call() -> None:
    turn = turn_of(
        ASKED,
        ("tool.custom.weather.start-1", ASKED[0], START),
        ("tool.custom.weather.success-1", ASKED[0], END),
        ("tool.custom.weather.finish-1", ASKED[0], {}),
        ("agent.react.partial_update-2", "step", TOLD),
        ("agent.react.update-2", "step", TOLD),
    )
    assert [(call.name, call.args) for call in turn.tool_calls] == [("Weather", {"city": "Rome"})]
    assert [response.response for response in turn.tool_responses] == ["sun"]
    assert turn.tool_ms == 1_000


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (0, 2, 1, 3), (0, 1, 3, 2)])
def test_two_calls_with_equal_arguments_are_two(order: tuple[int, ...]) -> None:
    events = [
        ("tool.custom.weather.start-1", "step", START),
        ("tool.custom.weather.start-2", "step", START),
        ("tool.custom.weather.success-1", "step", {**END, "output.value": "sun"}),
        ("tool.custom.weather.success-2", "step", {**END, "output.value": "rain"}),
    ]
    turn = turn_of(*(events[place] for place in order))
    assert [call.name for call in turn.tool_calls] == ["weather", "weather"]
    assert sorted(str(response.response) for response in turn.tool_responses) == ["rain", "sun"]


def test_what_the_agent_was_told_is_a_call_where_its_own_events_are_missing() -> None:
    turn = turn_of(ASKED, ("agent.react.update-2", "step", TOLD))
    assert [(call.name, call.args) for call in turn.tool_calls] == [("Weather", {"city": "Rome"})]
    assert [response.response for response in turn.tool_responses] == ["sun"]


def test_a_call_without_an_end_is_a_call_and_an_error_is_its_result() -> None:
    assert len(turn_of(("tool.custom.weather.start-1", "step", START)).tool_calls) == 1
    turn = turn_of(
        ("tool.custom.weather.start-1", "step", START),
        ("tool.custom.weather.error-1", "step", START),
        ("tool.custom.weather.finish-1", "step", {}),
        error="no such city",
    )
    assert [call.name for call in turn.tool_calls] == ["weather"]
    assert [response.error for response in turn.tool_responses] == ["no such city"]


def test_spans_of_other_writers_with_such_names_are_calls_of_their_own() -> None:
    turn = turn_of(
        ("tool.weather.start-1", "step", START), ("tool.weather.success-1", "step", END), scope="mine"
    )
    assert len(turn.tool_calls) == 2


@pytest.mark.skipif(not RECORDING.exists(), reason="no shared data here")
def test_the_recording_holds_two_calls_and_three_replies() -> None:
    (found,) = turnwise.read_conversations(str(RECORDING))
    (turn,) = found.turns
    assert [call.name for call in turn.tool_calls] == ["Wikipedia", "OpenMeteoTool"]
    assert turn.tool_calls[0].args == {"query": "Tourism in Barcelona", "full_text": False}
    assert [response.name for response in turn.tool_responses] == ["Wikipedia", "OpenMeteoTool"]
    assert turn.inference_calls == 3
