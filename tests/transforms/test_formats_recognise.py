import pytest

from transforms.formats.recognise import FORMATS, recognise

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
