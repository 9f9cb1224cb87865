"""What a person reads in recorded traces, written down before the reader."""
# ruff: noqa: E501

from pathlib import Path
from typing import Any, NamedTuple

import pytest

import turnwise

DATA = Path(__file__).parents[4] / "../shared/data/raw/formats"
pytestmark = pytest.mark.skipif(not DATA.exists(), reason="no shared data")


class Read(NamedTuple):
    """A turn: the user's words, calls with arguments, the answer's start, tokens in and out, latency."""

    user: str | None
    calls: list[tuple[str, dict[str, Any] | None]]
    answer: str | None
    tokens: tuple[int, int] | None = None
    milliseconds: float | None = None
    results: list[str] | None = None


WEATHER = "What's the weather like in Seattle right now?"
SHIPPED = Read("Where is A-17?", [("get_order", {"order_id": "A-17"})], "It has shipped. Do you want a refund?",
               None, 93, ["shipped"])  # fmt: skip
REFUNDED = Read("Yes, refund it", [("refund", {"order_id": "A-17", "amount": 12.5})], "Refunded 12.50.",
                None, 68, ["refunded"])  # fmt: skip
HAIKU = "Write a haiku about programming."
POEM = "Write a short poem about TypeScript."
EGGS = "Generate a simple recipe for scrambled eggs."
HOWDY = Read("howdy", [], "Howdy! How can I assist you today?", (9, 9))
LANGFUSE = Read("What is Langfuse?", [], "Langfuse is a tool designed for observability", (31, 96), 4794)

EXPECTED: dict[str, dict[str, list[Read]]] = {
    "otlp_json/openinference_langgraph.otlp.json": {"t-1": [SHIPPED, REFUNDED]},
    "otlp_json/openinference_langgraph.collector_file_exporter.jsonl": {"t-1": [SHIPPED, REFUNDED]},
    "otlp_json/openinference_langgraph.protojson_base64_ids.json": {"t-1": [SHIPPED, REFUNDED]},
    "langsmith_runs/generated_langgraph_runs.jsonl": {"t-1": [SHIPPED, REFUNDED]},
    "jaeger_tempo/helm.json": {
        "ctx-7ed9780f-3688-4fc0-b10b-2e4df2f83cf0": [
            Read("list all Helm releases", [("helm_list_releases", {})],
                 "There are two Helm releases installed in the cluster", (3776, 130), 4163, ["kagent-0.7.14"])
        ]
    },
    "jaeger_tempo/k8s.json": {
        "ctx-d8251ac3-6289-464a-8404-0fc4e312e823": [
            Read("list all Helm releases", [], "To list all Helm releases, I would typically", (2203, 139), 2126)
        ]
    },
    "jaeger_tempo/tempo_export_with_batches.json": {
        "ctx-eff35888-55ab-4eb0-b90d-7b21f711f91f": [
            Read("list all helm releases\n", [("helm_list_releases", {})],
                 "There are two Helm releases currently deployed", (4648, 129), 4661, ["kagent"])
        ]
    },
    "otel_sdk_spans/adk_live_spans.json": {
        "b4866a2a-a3d4-4d2f-8f40-6bb0d03d135c": [
            Read("What is 15 multiplied by 37?", [("calculator", {"expression": "15 * 37"})],
                 "15 multiplied by 37 is 555.", (379, 84), 3446, ["555"])
        ]
    },
    "otel_sdk_spans/otel_genai_convention_spans.json": {
        "conv_otel_test_001": [
            Read("What's the weather in Paris and London?",
                 [("get_weather", {"location": "Paris"}), ("get_weather", {"location": "London"})],
                 "The weather in Paris is rainy at 57°F.", (200, 60), 6000, ["rainy, 57°F", "TimeoutError"])
        ]
    },
    "otel_sdk_spans/pydantic_ai_live_spans.json": {
        "019f8b0c-5147-74b5-b1e4-f9b086da98e0": [
            Read(WEATHER, [("get_weather", {"city": "Seattle"})], "The current weather in Seattle is 62°F",
                 (1251, 78), 4519, ["62°F, cloudy with light rain"])
        ]
    },
    "otel_sdk_spans/openai_agents_genai_live_spans.json": {
        "9fa516c6d3cd456d5b2bf8349dcfa39b": [
            Read("Look up the stock price for AMZN, then calculate what 1000 shares would be worth by"
                 " multiplying the price by 1000.",
                 [("ask_research_specialist", {"query": "current stock price of AMZN"}),
                  ("lookup_stock_price", {"ticker": "AMZN"}),
                  ("ask_math_specialist", {"query": "240.98 multiplied by 1000"}),
                  ("multiply_numbers", {"a": 240, "b": 1000}), ("multiply_numbers", {"a": 0, "b": 1000})],
                 "The current stock price of Amazon (AMZN) is $240.98. Therefore", (1870, 253), 18631,
                 ["$240.98.", "AMZN: $240.98", "240980", "240000", "0"])
        ]
    },
    "otel_sdk_spans/openai_agents_genai_adot_spans.json": {
        "7cdeb989-856d-4e70-9b40-02b70cb12287": [
            Read("What is 42 * 7, and what's the weather in Seattle?",
                 [("transfer_to_math_specialist", {}), ("transfer_to_research_specialist", {}),
                  ("multiply_numbers", {"a": 42, "b": 7})],
                 "The product of 42 and 7 is 294.", (692, 102), 4085, ["294.0"])
        ]
    },
    "otel_sdk_spans/openai_agents_openinference_live_spans.json": {
        "c60958e12a31f7bd1b19cc94b0a96dbe": [
            Read("What is 42 multiplied by 17, then divided by 3?",
                 [("ask_math_specialist", {"query": "42 multiplied by 17, then divided by 3"}),
                  ("multiply_numbers", {"a": 42, "b": 17}), ("divide_numbers", {"a": 0, "b": 3}),
                  ("divide_numbers", {"a": 714, "b": 3})],
                 "The result of \\( 42 \\) multiplied by", (1228, 194), 6369, ["238", "714", "0.0", "238.0"])
        ]
    },
    "otel_sdk_spans/openinference_adot_spans.json": {
        "adot-trace-1": [
            Read("What is the weather in Alaska?", [("get_weather", {"city": "Alaska"})],
                 "The weather in Alaska is -5C and snowy.", None, None, ["Weather in Alaska: -5C, snowy"])
        ],
        "adot-trace-2": [Read("Tell me a joke", [], "Why did the chicken cross the road?")],
    },
    "otel_sdk_spans/openinference_live_spans.json": {
        "live-trace-1": [
            Read("What is the weather difference between Taipei and Seattle?",
                 [("get_weather", {"city": "Taipei"}), ("finish", {"answer": "Taipei is warmer"})],
                 "Taipei is warmer than Seattle overall.", None, 5000, ["Taipei is warmer than Seattle."])
        ]
    },
    "vercel_ai_sdk_otel/all-spans.json": {
        "b3e700af9eab81e19f72f964d62a35af": [Read(HAIKU, [], "Lines of code align,", (14, 20), 1779)],
        "700d5f98fe2420adcf6ab0822f7a323c": [Read(HAIKU, [], "Lines of code align,", None, 1782)],
        "edff2fc5854be6170e8cccccec0c82cf": [Read("And what is 3 + 3?", [], "3 + 3 equals 6.", (50, 9), 3034)],
        "673a889f59126f8b4c90dce5a1f99368": [Read("And what is 3 + 3?", [], "3 + 3 equals 6.", None, 3035)],
        "8f60802815d6e97da2dbc4708a8e5c7b": [Read(EGGS, [], '{"name":"Scrambled Eggs"', (63, 156), 3520)],
        "f99cc53c9bb8fe40462f7a48999e7088": [Read(EGGS, [], '{"name":"Scrambled Eggs"', None, 3524)],
        "478d4dcc697ecfabc5e7a3d6e4216291": [Read(POEM, [], "In code’s embrace", (15, 112), 5386)],
        "8185b815e471184c6525a601a042be42": [Read(POEM, [], "In code’s embrace", None, 5393)],
    },
    "vercel_ai_sdk_otel/otel_genai_client_span_tool_calls.json": {
        "*": [Read("Weather in Paris?", [("get_weather", {"location": "Paris"})],
                   "The weather in Paris is currently rainy", (97, 52), None, ["rainy, 57°F"])]
    },
    "vercel_ai_sdk_otel/openinference_client_span_tool_calls.json": {
        "*": [Read("Weather in Paris?", [("get_weather", {"location": "Paris"})],
                   "The weather in Paris is currently rainy", (97, 52), None, ["rainy, 57°F"])]
    },
    "langfuse_trace/autogen-2025-06-06.trace.json": {
        "session_abc": [Read("Say 'Hello World!'", [], "Hello World!", (41, 3), 645)]
    },
    "langfuse_trace/claude-agent-2025-12-22.trace.json": {
        "6fb9b4b8-dd4d-4d41-8d4f-c0c0799a6559": [
            Read("What's the weather like in Berlin and New York?",
                 [("mcp__weather__get_weather", {"city": "Berlin"}),
                  ("mcp__weather__get_weather", {"city": "New York"})],
                 "Great! Here's the current weather for both cities", (34, 232), None, ["59°F", "75°F"])
        ]
    },
    "langfuse_trace/csharp-agent-with-gemini-2026-03-09.trace.json": {"9714061f-20c0-4d98-9220-1dc7df15c3c2": [
        Read("What are my month over month performance insights the past quarter, by cost, displays, clicks, CTR,"
             " sales, CVR? Please split by campaign taxonomy",
             [("get_custom_report", None), ("final_result", None)],
             "I couldn't retrieve the month-over-month performance insights", (8047, 414), None,
             ["ERROR: No data found"])
    ]},
    "langfuse_trace/google-adk-2025-08-28.trace.json": {
        "demo-session": [Read("hi", [("say_hello", {})], "Hello Langfuse 👋!", (67, 9), None, ["Hello Langfuse"])]
    },
    "langfuse_trace/google-gemini-2025-08-01.trace.json": {
        "9f2f0fe0228fd81a9fe75882934b384a": [Read("What is Langfuse?", [], "**Langfuse** is an **open", (6, 2055))]
    },
    "langfuse_trace/langgraph-python-2025-08-22.trace.json": {
        "demo-thread-1": [
            Read("Search the web for 'example' and summarize.", [("Web-Search", {"query": "example"})],
                 'The search for "example" primarily leads to', (168, 66), None, ["Example Result"])
        ]
    },
    "langfuse_trace/openai-agents-2025-09-30.trace.json": {
        "fee618f96dc31e0ca38b2f7b26eb8b29": [
            Read("What's the weather in Tokyo?", [("get_weather", {"city": "Tokyo"})],
                 "The weather in Tokyo is currently sunny.", (140, 44), None, ["The weather in Tokyo is sunny."])
        ]
    },
    "langfuse_trace/pydantic-ai-2025-06-06.trace.json": {"session_abc": [LANGFUSE]},
    "langfuse_trace/pydantic-ai-tools-2025-06-06.trace.json": {"session_abc": [LANGFUSE]},
    "langfuse_trace/pydantic-ai-with-gemini-2025-12-24.trace.json": {
        "f68601af42c4a35e1d5e4699de569c1f": [
            Read('what is 1+1?\nOutput format:\n```json\n{\n    "answer": your answer,\n    "rationale": "explanation'
                 ' for answer"\n}\n```', [], '{"answer": "2"', (40, 159), 1820)
        ]
    },
    "langfuse_trace/vercel-aisdk-2025-11-17.trace.json": {
        "df41e597d0a85e0d7a6ae8ebfaa70aa0": [
            Read("What is the weather like today in San Francisco?",
                 [("getWeather", {"location": "San Francisco"})], None, (62, 85), None, ["64"])
        ]
    },
    "langsmith_runs/langsmith_py_wrap_openai_.json": {"*": [HOWDY]},
    "langsmith_runs/langsmith_js_wrap_openai_default.json": {"*": [HOWDY]},
    "langsmith_runs/langsmith_py_wrap_openai_stream.json": {"*": [HOWDY]},
    "openai_agents_traces/agents_function_tool.ingest.jsonl": {
        "trace_6a430ad653c745b78c89622b8e61fccc": [Read(None, [], None, None, 4190)],
        "trace_6549cb4b93ea47c8967199b27a04d7c0": [
            Read(None, [("get_weather", {"city": "London"})], None, None, 1737, ["It's cloudy with 15°C"])
        ],
    },
}  # fmt: skip


def check_turn(turn: turnwise.Turn, read: Read) -> None:
    assert turn.user == read.user
    assert [call.name for call in turn.tool_calls] == [name for name, _ in read.calls]
    for call, (_, args) in zip(turn.tool_calls, read.calls, strict=True):
        assert args is None or call.args == args
    assert (turn.agent or "").startswith(read.answer or "") and (turn.agent is None) == (read.answer is None)
    if read.tokens is not None:
        assert turn.usage is not None
        assert (turn.usage.input_tokens, turn.usage.output_tokens) == read.tokens
    if read.milliseconds is not None:
        assert turn.latency_ms == pytest.approx(read.milliseconds, abs=6)
    given = [f"{response.response} {response.error}" for response in turn.tool_responses]
    assert len(given) >= len(read.results or ())
    assert all(text in found for text, found in zip(read.results or (), given, strict=False))


@pytest.mark.parametrize("name", EXPECTED)
def test_a_recording_is_read_as_a_person_reads_it(name: str) -> None:
    failures: list[Any] = []
    found = turnwise.read_conversations(str(DATA / name), on_failure=failures.append)
    expected = EXPECTED[name]
    assert [row for row in failures if row["stage"] != "check"] == []
    if "*" in expected:
        expected = {one.conversation_id: expected["*"] for one in found}
    assert {one.conversation_id: len(one.turns) for one in found} == {k: len(v) for k, v in expected.items()}
    for one in found:
        for turn, read in zip(one.turns, expected[one.conversation_id], strict=True):
            check_turn(turn, read)


def test_an_agents_acts_inside_a_tool_are_calls_of_the_turn() -> None:
    (found,) = turnwise.read_conversations(str(DATA / "otel_sdk_spans/claude_live_spans.json"))
    (turn,) = found.turns
    names = [call.name for call in turn.tool_calls]
    assert names == ["Agent", "Agent", "Bash", "Bash", "Agent", "Bash"]
    assert turn.agent is not None and turn.agent.startswith("New York is 89°F and Seattle is 72°F.")


def test_a_streamed_framework_answers_with_its_own_text() -> None:
    (found,) = turnwise.read_conversations(str(DATA / "langfuse_trace/beeai-2025-08-01.trace.json"))
    assert found.turns[0].user is not None and found.turns[0].user.startswith(
        "I'm planning a trip to Barcelona"
    )
    assert found.turns[0].agent is not None and found.turns[0].agent.startswith("Barcelona is a vibrant city")
