import json

import pytest

from schemas.record import Record
from transforms.formats.recognise import FORMATS, recognise
from transforms.formats.registry import LogReader

CHUNKED = {"messages": [{"role": "user", "chunks": [{"text": "a"}]}]}


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ({"conversation_id": "c", "turns": []}, "turnwise"),
        ({"eval_id": "e", "turns": []}, "turnwise"),
        ({"eval_id": "e", "kind": "scenario"}, "turnwise"),
        ({"eval_set_id": "s", "eval_cases": []}, "adk_eval_set"),
        ({"eval_id": "e", "conversation": []}, "adk_eval_case"),
        ({"evalId": "e", "conversationScenario": {}}, "adk_eval_case"),
        ({"eval_set_id": "s", "eval_case_results": []}, "adk_eval_result"),
        ({"evalSetId": "s", "evalCaseResults": []}, "adk_eval_result"),
        ({"eval_id": "e", "eval_metric_result_per_invocation": []}, "adk_case_result"),
        ({"id": "s", "state": {}, "events": []}, "adk_session"),
        ({"turns": [CHUNKED]}, "ces_conversation"),
        (CHUNKED, "ces_conversation"),
        ({"name": "projects/p/apps/a/conversations/c", "turns": []}, "ces_conversation"),
        ({"turnIndex": 1, "diagnosticInfo": {}}, "ces_session_output"),
        ({"turn_index": 1, "diagnostic_info": {}}, "ces_session_output"),
        ({"jsonPayload": {}, "labels": {"session_id": "s"}}, "ces_session_output"),
        ({"displayName": "d", "golden": {}}, "ces_evaluation"),
        ({"displayName": "d", "scenario": {}}, "ces_evaluation"),
        ({"name": "projects/p/apps/a/evaluations/e", "displayName": "d"}, "ces_evaluation"),
        ({"name": "a/evaluations/e/results/r", "displayName": "d"}, "ces_evaluation_result"),
        ({"goldenResult": {}}, "ces_evaluation_result"),
        ({"messages": [{"role": "user", "content": "a"}]}, "openai_chat"),
        ({"task_id": 1, "traj": [{"role": "user", "content": "a"}]}, "openai_chat"),
        ([{"role": "user", "content": "a"}], "openai_chat"),
        ([{"query": "q", "reference": "r"}], "adk_legacy_rows"),
        ({"query": "q", "expected_tool_use": []}, "adk_legacy_rows"),
        ([{"name": "n", "data": []}], "adk_legacy_case"),
        ({"name": "n", "data": [], "initial_session": {}}, "adk_legacy_case"),
    ],
)
def test_recognise(value, name):
    assert recognise(value) == name
    assert name in FORMATS


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            {"a": 1, "b": 2},
            r"^unrecognised record: keys a, b \(known formats: adk_case_result, .*, turnwise\)$",
        ),
        (dict.fromkeys("abcdefghij"), r"keys a, b, c, d, e, f, g, h, \.\.\. \("),
        ([], "list, not an object"),
        ("x", "str, not an object"),
        (None, "NoneType, not an object"),
        ({"messages": []}, "keys messages"),
        ({"span_id": "1", "events": []}, "keys span_id, events"),
    ],
)
def test_unrecognised(value, message):
    with pytest.raises(ValueError, match=message):
        recognise(value)


RESULT = {
    "eval_set_result_id": "r",
    "eval_set_id": "s",
    "eval_case_results": [
        {
            "eval_id": "one",
            "session_id": "session",
            "eval_metric_result_per_invocation": [
                {"actual_invocation": {"user_content": {"parts": [{"text": "hé \u201cyou\u201d"}]}}}
            ],
        }
    ],
}


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("input_format", ["auto", "adk_eval_result"])
def test_eval_results_in_a_json_text_are_read(indent, input_format):
    once = json.dumps(RESULT, indent=indent)
    twice = [
        LogReader(input_format).read(Record("f", 1, json.dumps(text).encode())) for text in (RESULT, once)
    ]
    assert twice[0] == twice[1]
    assert [conversation.turns[0].user for conversation in twice[1]] == ["hé \u201cyou\u201d"]


@pytest.mark.parametrize("text", ["plain", "{", "[1]", '{"conversation_id": "c", "turns": []}', '"{}"'])
def test_other_json_texts_are_no_records(text):
    with pytest.raises(ValueError, match="unrecognised record: str, not an object"):
        LogReader().read(Record("f", 1, json.dumps(text).encode()))
