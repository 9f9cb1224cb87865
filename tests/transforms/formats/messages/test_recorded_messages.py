"""What a person reads in the recorded message lists, requests and replies."""

import pytest

from tests.readings import FORMATS, findings, read_file, tokens, turns

pytestmark = pytest.mark.skipif(not FORMATS.exists(), reason="no recordings")

LONDON = (
    "City: London, Population: 9000000, Country: United Kingdom, Description: Capital city with rich history"
)
ORDERS = [
    (
        "Where is A-17?",
        [("get_order", {"order_id": "A-17"})],
        [("get_order", {"order_id": "A-17", "status": "shipped"})],
        "It has shipped. Do you want a refund?",
    ),
    (
        "Yes, refund it",
        [("refund", {"order_id": "A-17", "amount": 12.5})],
        [("refund", "refunded")],
        "Refunded 12.50.",
    ),
]


def about_london(answer):
    call = ("get_city_info", {"city_name": "London"})
    return [("Tell me about London", [call], [("get_city_info", LONDON)], answer)]


FILES = {
    "openai_chat/langchain_tool_history.jsonl": [
        [
            (
                "Hey, what's the weather in San Francisco?",
                [("get_weather", {"location": "San Francisco"})],
                [("get_weather", "Sunny as always!")],
                "",
            ),
            ("What's the weather in London?", [("get_weather", {"location": "London"})], [], ""),
        ]
    ],
    "openai_responses/agents_function_tool.jsonl": [
        [
            (
                "What is the weather in London?",
                [("get_weather", {"city": "London"})],
                [("get_weather", "It's cloudy with 15°C")],
                "The weather in London is currently cloudy with a temperature of 15°C.",
            )
        ]
    ],
    "openai_responses/agents_tool_call_and_result.jsonl": [
        about_london(
            "London is the capital city of the United Kingdom, with a population of approximately 9 "
            "million. It is renowned for its rich history, cultural heritage, and diverse population."
        ),
        about_london(
            "London, the capital city of the United Kingdom, has a population of approximately 9 "
            "million people. It's a vibrant metropolis known for its rich history, iconic landmarks, "
            "and cultural diversity."
        ),
    ],
    "openai_responses/codex_responses_stream_bare.json": [[(None, [], [], "PURPLE-ELEPHANT-SEVENTEEN")]],
    "openai_responses/logfire_test_chat_completions.jsonl": [[("1+1?", [], [], "1 + 1 = 2")]],
    "openai_responses/logfire_test_file_search.jsonl": [
        [
            (
                "Who made Logfire?",
                [("file_search", {"queries": ["Who made Logfire?"]})],
                [],
                "Logfire is made by Pydantic.",
            ),
            ("2+2?", [], [], "2 + 2 equals 4."),
        ]
    ],
    "openai_responses/logfire_test_responses.jsonl": [
        [
            (
                "Generate a random number then, hand off to agent2.",
                [("random_number", {}), ("transfer_to_agent2", {})],
                [("random_number", "4"), ("transfer_to_agent2", "{'assistant': 'agent2'}")],
                "The random number generated is 4, and it's been handed off to agent2.",
            )
        ]
    ],
    "anthropic_messages/langchain_text_block_history.jsonl": [
        [
            (
                "Hey, what's the weather in San Francisco? Also, any news in town?",
                [("get_weather", {"location": "San Francisco"}), ("get_news", {"location": "San Francisco"})],
                [("get_weather", "Sunny as always!")],
                "Now, let's look at the local news:",
            )
        ]
    ],
    "anthropic_messages/openllmetry_tools.jsonl": [
        [
            (
                "What is the weather like right now in New York? Also what time is it there now?",
                [
                    ("get_weather", {"location": "New York, NY", "unit": "fahrenheit"}),
                    ("get_time", {"timezone": "America/New_York"}),
                ],
                [],
                "Certainly! I'd be happy to help you with both the current weather in New York and the "
                "current time there. Let's use the available tools to get this information for you.",
            )
        ]
    ],
    "bedrock_converse/converse_tool_use.jsonl": [
        [
            (
                "What is the weather in Barcelona?",
                [("get_weather", {"location": "Barcelona"})],
                [],
                "Okay, let me check the weather for Barcelona using the available tool:",
            )
        ]
    ],
    "langgraph_state/dumpd_state.json": [ORDERS],
    "langgraph_state/messages_to_dict.json": [ORDERS],
    "langgraph_state/model_dump_state.json": [ORDERS],
}
TOKENS = {
    "openai_chat/langchain_tool_history.jsonl": [[(None, None), (88, 15)]],
    "openai_responses/agents_function_tool.jsonl": [[(72 + 101, 15 + 17)]],
    "openai_responses/agents_tool_call_and_result.jsonl": [[(72 + 121, 17 + 36)], [(72 + 121, 17 + 39)]],
    "openai_responses/codex_responses_stream_bare.json": [[(46, 25)]],
    "openai_responses/logfire_test_chat_completions.jsonl": [[(11, 8)]],
    "openai_responses/logfire_test_file_search.jsonl": [[(1144, 38), (862, 10)]],
    "openai_responses/logfire_test_responses.jsonl": [[(89, 18)]],
    "anthropic_messages/langchain_text_block_history.jsonl": [[(471, 66)]],
    "anthropic_messages/openllmetry_tools.jsonl": [[(514, 152)]],
    "bedrock_converse/converse_tool_use.jsonl": [[(236, 58)]],
}
STOPPED_AT_A_CALL = ("openai_chat", "anthropic_messages", "bedrock_converse")


@pytest.mark.parametrize("name", FILES)
def test_what_a_person_reads(name):
    found = read_file(FORMATS / name)
    assert [turns(conversation) for conversation in found.conversations] == FILES[name]
    assert [tokens(c) for c in found.conversations] == TOKENS.get(name, [[(None, None)] * 2])
    assert all("traces/ingest" in failure.record for failure in found.failures)


@pytest.mark.parametrize("name", FILES)
def test_what_is_not_in_the_files_is_said(name):
    for conversation in read_file(FORMATS / name).conversations:
        stops = name.startswith(STOPPED_AT_A_CALL)
        missing = ["CallWithoutResult"] * stops + ["MissingHistory"] * ("bare" in name)
        assert findings(conversation) == missing
        assert bool(conversation.turns[-1].unknown_calls) == stops


def test_a_hand_off_and_the_time_of_the_model():
    [handed] = read_file(FORMATS / "openai_responses/logfire_test_responses.jsonl").conversations
    assert handed.turns[0].transfers == ["agent2"]
    [streamed] = read_file(FORMATS / "bedrock_converse/converse_tool_use.jsonl").conversations
    assert streamed.turns[0].model_ms == 1176
    assert [tool.name for tool in streamed.tools] == ["get_weather"]
