"""A record that lacks one key of a format is told that format, and the key."""

import pytest

from tests.documentation import check_names
from turnwise.transforms.formats.mapped import recognise
from turnwise.transforms.formats.registry import FORMATS

_MADE_BY_TURNWISE = {"trace_part", "mapped_part", "mapping"}
_SPAN = {"spanID": "1", "operationName": "chat"}
_PARTS = [{"role": "assistant", "parts": [{"type": "text", "content": "Hi"}]}]
_STATE = {"messages": [{"type": "human", "content": "Hi"}]}
_EVENT = {"author": "user", "content": {"parts": []}}
_TRANSCRIPT = {"transcriptSegments": [{"segmentParticipant": {}}]}
_USED = {"inputTokens": 1}

_AUTOGENS = {"source": "user", "type": "TextMessage", "content": "Hi"}
_AZURES = {"role": "tool", "content": [{"type": "tool_result", "tool_result": "x"}]}
_PYDANTICS = {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "Hi"}]}
RECORDS = [
    ("turnwise", "conversation_id", {"conversation_id": "c", "turns": []}),
    ("turn_event", "conversation_id", {"conversation_id": "c", "turn_index": 0, "turn": {}}),
    ("inspect_log", "samples", {"version": 2, "status": "success", "eval": {}, "samples": []}),
    ("claude_code", "parentUuid", {"uuid": "1", "parentUuid": None, "sessionId": "s", "message": {}}),
    ("claude_stream", "session_id", {"type": "user", "session_id": "s", "message": {"content": "Hi"}}),
    (
        "claude_stream",
        "subtype",
        {"type": "result", "subtype": "success", "session_id": "s", "duration_ms": 1},
    ),
    ("codex", "payload", {"timestamp": "t", "type": "session_meta", "payload": {}}),
    ("anthropic_managed_agent", "processed_at", {"id": "1", "type": "agent.message", "processed_at": "t"}),
    ("otlp_export", "resourceSpans", {"resourceSpans": []}),
    ("otlp_export", "resourceLogs", {"resourceLogs": []}),
    ("otlp_export", "batches", {"batches": []}),
    ("jaeger_export", "traceID", {"traceID": "1", "spans": [_SPAN], "processes": {}}),
    ("jaeger_export", "spans", {"traceID": "1", "spans": [_SPAN], "processes": {}}),
    (
        "jaeger_export",
        "data",
        {"data": [{"traceID": "1", "spans": []}], "total": 0, "limit": 0, "offset": 0, "errors": None},
    ),
    ("langfuse_export", "observations", {"trace": {"id": "1"}, "observations": []}),
    ("langfuse_export", "traceId", {"id": "1", "traceId": "t", "parentObservationId": None, "type": "SPAN"}),
    (
        "langsmith_runs",
        "run_type",
        {"id": "1", "run_type": "llm", "dotted_order": "", "trace_id": "1", "inputs": {}, "outputs": {}},
    ),
    ("langsmith_runs", "patch", {"post": [], "patch": []}),
    ("openai_agents_trace", "object", {"object": "trace.span", "trace_id": "1", "span_data": {}}),
    ("openai_agents_trace", "object", {"object": "trace", "workflow_name": "w", "group_id": None}),
    ("adk_eval_set", "eval_cases", {"eval_set_id": "s", "eval_cases": []}),
    ("adk_eval_case", "conversation", {"eval_id": "e", "conversation": []}),
    (
        "adk_eval_result",
        "eval_case_results",
        {"eval_set_result_id": "r", "eval_set_id": "s", "eval_case_results": []},
    ),
    (
        "adk_case_result",
        "eval_metric_result_per_invocation",
        {"eval_id": "e", "final_eval_status": 1, "eval_metric_result_per_invocation": []},
    ),
    (
        "agent_engine",
        "sessionEvents",
        {"sessionEvents": [{"name": "reasoningEngines/1/sessions/2/events/3"}]},
    ),
    ("adk_session", "events", {"id": "s", "app_name": "a", "user_id": "u", "state": {}, "events": []}),
    (
        "adk_agent_events",
        "event_type",
        {"event_type": "X", "session_id": "s", "invocation_id": "i", "content": 1},
    ),
    ("adk_event", "event", {"session_id": "s", "event": _EVENT}),
    (
        "dialogflow_cx",
        "turn_position",
        {"conversation_name": "c", "turn_position": 1, "request": {}, "response": {}},
    ),
    (
        "dialogflow_history",
        "interactions",
        {"name": "n", "interactions": [{"request": {}}], "duration": "1s"},
    ),
    ("insights_conversation", "transcript", {"name": "n", "transcript": _TRANSCRIPT, "medium": "CHAT"}),
    ("insights_conversation", "sentences", {"conversationName": "c", "sentences": [], "turnCount": 1}),
    (
        "insights_conversation",
        "entries",
        {"entries": [{"start_timestamp_usec": 1, "role": "AGENT"}], "conversation_info": {}},
    ),
    (
        "vertex_log",
        "full_request",
        {"endpoint": "e", "logging_time": "t", "full_request": {}, "full_response": {}},
    ),
    (
        "bedrock_agents",
        "sessionId",
        {"sessionId": "s", "agentId": "a", "eventTime": "t", "trace": {"orchestrationTrace": {}}},
    ),
    ("discovery_engine", "answerText", {"answerText": "Hi", "citations": [], "references": []}),
    (
        "ces_evaluation_result",
        "goldenResult",
        {"goldenResult": {}, "evaluationStatus": "PASS", "evaluationRun": "r"},
    ),
    (
        "ces_evaluation_result",
        "scenarioResult",
        {"scenarioResult": {}, "evaluationStatus": "PASS", "evaluationRun": "r"},
    ),
    (
        "ces_goldens",
        "conversations",
        {"conversations": [{"conversation": "c"}], "common_session_parameters": {}},
    ),
    ("ces_simulations", "evals", {"evals": [{"name": "n", "steps": []}]}),
    ("ces_golden_rows", "action_type", {"display_name": "n", "turn_index": "1", "action_type": "INPUT_TEXT"}),
    ("ces_evaluation", "golden", {"displayName": "d", "golden": {}}),
    ("ces_evaluation", "scenario", {"displayName": "d", "scenario": {}}),
    ("ces_session_output", "labels", {"jsonPayload": {}, "labels": {"session_id": "s"}}),
    ("ces_session_output", "diagnosticInfo", {"turnIndex": 1, "diagnosticInfo": {}}),
    ("ces_conversation", "turns", {"name": "n", "startTime": "t", "turns": [{"messages": [{"chunks": []}]}]}),
    (
        "langgraph_thread",
        "values",
        {"values": _STATE, "next": [], "config": {"configurable": {"thread_id": "t"}}},
    ),
    ("langgraph_history", "values", {"values": _STATE, "next": [], "parent_config": None}),
    (
        "bedrock_log",
        "schemaType",
        {"schemaType": "ModelInvocationLog", "modelId": "m", "input": {}, "output": {}},
    ),
    ("model_exchange", "response", {"request": {"messages": []}, "response": {}}),
    ("model_reply", "choices", {"object": "x", "created": 1, "choices": [{"message": {}}]}),
    (
        "anthropic_messages",
        "messages",
        {
            "messages": [{"role": "user", "content": [{"type": "tool_result"}]}],
            "max_tokens": 1,
            "system": "Be nice",
        },
    ),
    (
        "bedrock_converse",
        "messages",
        {
            "messages": [{"role": "user", "content": [{"toolResult": {}}]}],
            "modelId": "m",
            "inferenceConfig": {},
        },
    ),
    ("bedrock_converse", "stopReason", {"output": {}, "stopReason": "end_turn", "usage": _USED}),
    (
        "gemini_contents",
        "contents",
        {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}], "generationConfig": {}},
    ),
    ("gemini_contents", "candidates", {"candidates": [], "usageMetadata": {}}),
    ("genai_messages", "output_messages", {"input_messages": [], "output_messages": _PARTS}),
    ("langchain_messages", "channel_values", {"channel_values": _STATE, "channel_versions": {}}),
    ("openai_responses", "input", {"model": "m", "input": "Hi"}),
    ("openai_responses", "object", {"object": "response", "model": "m", "output": []}),
    (
        "vercel_messages",
        "messages",
        {
            "messages": [{"role": "user", "parts": [{"type": "text", "text": "Hi"}]}],
            "trigger": "submit-message",
            "messageId": "1",
        },
    ),
    ("openai_chat", "messages", {"messages": [{"role": "user", "content": "Hi"}]}),
    (
        "otel_spans",
        "span_id",
        {"trace_id": "1", "span_id": "2", "name": "n", "start_time": 1, "attributes": {}},
    ),
    (
        "otel_spans",
        "attributes",
        {"name": "n", "context": {"trace_id": "1", "span_id": "2"}, "span_kind": "LLM", "attributes": {}},
    ),
    ("autogen_messages", "messages", {"messages": [_AUTOGENS], "stop_reason": "done"}),
    ("azure_messages", "messages", {"messages": [_AZURES], "tool_definitions": []}),
    ("azure_evaluation", "response", {"query": "Hi", "response": "Hello", "tool_definitions": []}),
    (
        "pydantic_messages",
        "messages",
        {"messages": [_PYDANTICS], "run_id": "r", "conversation_id": "c"},
    ),
    (
        "litellm_log",
        "spend",
        {
            "request_id": "r",
            "call_type": "completion",
            "spend": 0.1,
            "session_id": "s",
            "messages": [],
            "response": {},
        },
    ),
    ("posthog_generations", "event", {"event": "$ai_generation", "timestamp": "t", "properties": {}}),
    (
        "app_insights",
        "customDimensions",
        {"operation_Id": "1", "operation_ParentId": "1", "id": "2", "customDimensions": '{"gen_ai.a": 1}'},
    ),
    ("tau2_results", "simulations", {"timestamp": "t", "info": {}, "tasks": [], "simulations": []}),
    (
        "openai_run_state",
        "original_input",
        {"$schemaVersion": "1.0", "original_input": "Hi", "generated_items": []},
    ),
    ("chatgpt_export", "current_node", {"title": "t", "mapping": {}, "current_node": "1"}),
    ("gemini_cli", "projectHash", {"sessionId": "s", "projectHash": "p", "messages": []}),
    ("swe_agent", "trajectory", {"history": [], "trajectory": [], "info": {}}),
    (
        "openhands",
        "history",
        {
            "instance_id": "i",
            "history": [[{"source": "user", "action": "message", "args": {}}]],
            "metadata": {},
        },
    ),
    (
        "livekit_report",
        "chat_history",
        {"job_id": "j", "room": "r", "chat_history": {"items": []}, "events": []},
    ),
    ("atif", "schema_version", {"schema_version": "ATIF-v1.4", "session_id": "s", "agent": {}, "steps": []}),
    (
        "deepeval",
        "turns",
        {"turns": [{"role": "user", "content": "Hi"}], "scenario": "s", "chatbot_role": "r"},
    ),
    ("rasa_tracker", "events", {"sender_id": "s", "slots": {}, "events": [{"event": "user"}]}),
    ("contact_lens", "Transcript", {"Participants": [], "Transcript": [], "CustomerMetadata": {}}),
    ("adk_legacy_case", "name", {"name": "n", "data": [], "initial_session": {}}),
    ("adk_legacy_rows", "query", {"query": "q", "expected_tool_use": [], "reference": "r"}),
]


def test_every_format_is_tried():
    tried = {"otel_attributes", *(name for name, _, _ in RECORDS)}
    check_names(tried, {*FORMATS} - _MADE_BY_TURNWISE, f"{__file__}, RECORDS")
    assert {name for name, each in FORMATS.items() if not each.keys} == _MADE_BY_TURNWISE


@pytest.mark.parametrize(("name", "key", "record"), RECORDS)
def test_a_misspelt_key_is_named_with_its_format(name, key, record):
    assert recognise(record) == name
    misspelt = {f"{each}s" if each == key else each: item for each, item in record.items()}
    said = rf"\b{key} \(is it {key}s\?\).* missing for the nearest format, {name} \("
    with pytest.raises(ValueError, match=said):
        recognise(misspelt)


_OR_GOLDEN = ("scenario", "scenarioResult")
# A record of one key has nothing left to be told by; what is neither golden nor scenario is told as a golden.
WITHOUT = [row for row in RECORDS if len(row[2]) > 1 and row[1] not in _OR_GOLDEN]


@pytest.mark.parametrize(("name", "key", "record"), WITHOUT)
def test_a_missing_key_is_named_with_its_format(name, key, record):
    rest = {each: item for each, item in record.items() if each != key}
    with pytest.raises(ValueError, match=rf"\b{key} (is|are) missing for the nearest format, {name} \("):
        recognise(rest)


def test_attributes_with_keys_of_columns_are_named():
    said = r"gen_ai.operation.name \(is it gen_ai_operation_name\?\), .* nearest format, otel_attributes "
    with pytest.raises(ValueError, match=said):
        recognise({"gen_ai_operation_name": "chat", "gen_ai_request_model": "m"})


@pytest.mark.parametrize(
    "record", [{"type": "click", "at": 1}, {"id": "1", "name": "x", "words": "y"}, {"usage": {}}]
)
def test_a_record_with_less_than_half_of_the_keys_is_near_to_none(record):
    with pytest.raises(ValueError, match="near to none of the formats"):
        recognise(record)
