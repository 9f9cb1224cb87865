"""What was lost of a trace on its way: attributes that limits dropped, spans and pages that are not there."""
# ruff: noqa: E501

import json
from pathlib import Path
from typing import Any

import pytest

import turnwise
from tests.transforms.formats.traces.test_turns import FIRST, agent, chat, joined, text, tool
from turnwise.schemas.conversation import Conversation, Turn
from turnwise.transforms.formats.traces.containers import jaeger_spans
from turnwise.transforms.formats.traces.otlp import flat_spans, otlp_spans, otlp_text_spans

ANSWER = text("assistant", "a1")
IDS = {"traceId": "a" * 32, "spanId": "b" * 16, "startTimeUnixNano": "1760000000000000000"}


def exported(**fields: Any) -> dict[str, Any]:
    return {"resourceSpans": [{"scopeSpans": [{"spans": [{**IDS, "name": "m", **fields}]}]}]}


def kinds(turn: Turn) -> list[str]:
    return [finding.kind for finding in turn.findings]


def one(*records: Any) -> Conversation:
    (found,) = turnwise.read_conversations([*records])
    return found


def test_dropped_attributes_leave_words_and_calls_unknown() -> None:
    call = chat("1", "b", 1, FIRST, ANSWER)
    call.dropped = 4
    (turn,) = joined([agent("1", 0), call]).turns
    assert kinds(turn) == ["UnreadPart"] and turn.unknown_words and turn.unknown_calls


def test_every_container_says_how_many_attributes_and_events_limits_dropped() -> None:
    export = exported(droppedAttributesCount=3, droppedEventsCount=1)
    dumped = {
        "trace_id": "1",
        "span_id": "2",
        "name": "m",
        "attributes": {},
        "dropped_attributes": 3,
        "dropped_events": 1,
    }
    tags = [
        {"key": f"otel.dropped_{what}_count", "value": n} for what, n in (("attributes", 3), ("events", 1))
    ]
    query = {
        "data": [{"traceID": "1", "processes": {}, "spans": [{"traceID": "1", "spanID": "2", "tags": tags}]}]
    }
    texts = otlp_text_spans(json.dumps(export, separators=(",", ":")).encode())
    assert texts is not None
    found = [*texts, *otlp_spans(export), *flat_spans(dumped), *jaeger_spans(query)]
    assert [span.dropped for span in found] == [4, 4, 4, 4]


@pytest.mark.parametrize(("flags", "is_lost"), [(0x101, True), (0x301, False), (1, False)])
def test_a_missing_parent_of_the_same_process_is_a_loss(flags: int, is_lost: bool) -> None:
    (span,) = otlp_spans(exported(flags=flags))
    call = chat("1", "b", 1, FIRST, ANSWER)
    call.is_local = span.is_local
    (turn,) = joined([call]).turns
    assert kinds(turn) == (["MissingParent"] if is_lost else [])


def test_a_trace_of_langfuse_that_names_its_observations_only() -> None:
    row = {"id": "t", "timestamp": "2026-01-01T00:00:00Z", "bookmarked": False, "projectId": "p", "name": "x",
           "input": {"messages": [{"role": "user", "content": "hi"}]}, "output": "yo", "observations": ["o1"]}  # fmt: skip
    (turn,) = one({"data": [row], "meta": {"page": 1, "totalPages": 1}}).turns
    assert kinds(turn) == ["ContentNotRecorded", "MissingSpan"]
    assert turn.unknown_calls and turn.unknown_words


def test_a_trace_at_the_edge_of_a_page_of_langfuse_may_go_on() -> None:
    def row(own: str, trace: str, second: int) -> dict[str, Any]:
        times = {"startTime": f"2026-01-01T00:00:0{second}Z", "endTime": f"2026-01-01T00:00:0{second + 1}Z"}
        given = {
            "input": [{"role": "user", "content": "hi"}],
            "output": {"role": "assistant", "content": "yo"},
        }
        return {
            "id": own,
            "traceId": trace,
            "type": "GENERATION",
            "name": "n",
            "parentObservationId": None,
            **times,
            **given,
        }

    first = {"data": [row("o1", "t1", 1), row("o2", "t2", 1)], "meta": {"page": 1, "totalPages": 2}}
    second = {"data": [row("o3", "t2", 3), row("o4", "t3", 5)], "meta": {"page": 2, "totalPages": 2}}
    found = turnwise.read_conversations([first, second])
    assert all(not turn.findings for each in found for turn in each.turns)
    found = turnwise.read_conversations([first])
    assert {each.conversation_id: kinds(each.turns[0]) for each in found} == {"t1": [], "t2": ["MissingSpan"]}


def test_a_list_of_agent_engine_that_goes_on() -> None:
    def page(number: int, said: str, **more: Any) -> dict[str, Any]:
        name = f"projects/p/locations/l/reasoningEngines/1/sessions/7/events/{number}"
        role = "user" if number == 1 else "model"
        content = {"role": role, "parts": [{"text": said}]}
        event = {
            "name": name,
            "author": role,
            "invocationId": "i",
            "timestamp": f"2026-01-01T00:00:0{number}Z",
        }
        return {"sessionEvents": [{**event, "content": content}], **more}

    first, second = page(1, "hi", nextPageToken="more"), page(2, "hello")
    assert [turn.findings for turn in one(first, second).turns] == [[]]
    (turn,) = one(first).turns
    assert "MissingTurn" in kinds(turn) and turn.unknown_calls and turn.unknown_words


def test_a_truncated_answer_in_bigquery_is_unknown() -> None:
    def row(kind: str, second: int, content: Any, is_truncated: Any) -> dict[str, Any]:
        ids = {"session_id": "S", "invocation_id": "i1", "event_id": kind, "span_id": kind, "trace_id": "t"}
        time = f"2026-01-01T00:00:0{second}Z"
        return {
            "timestamp": time,
            "event_type": kind,
            **ids,
            "content": json.dumps(content),
            "is_truncated": is_truncated,
        }

    asked = row("USER_MESSAGE_RECEIVED", 1, {"text_summary": "Where?"}, False)
    for mark in (True, "true"):
        said = row("AGENT_RESPONSE", 2, {"response": "text: 'It is...[TRUNCATED]"}, mark)
        (turn,) = one(asked, said).turns
        assert (turn.user, turn.agent) == ("Where?", None) and turn.unknown_words
    (turn,) = one(asked, row("AGENT_RESPONSE", 2, {"response": "text: 'It is.'"}, False)).turns
    assert (turn.agent, turn.unknown_words) == ("It is.", None)


def test_rows_of_dialogflow_that_are_missing() -> None:
    def row(position: int) -> dict[str, Any]:
        said = {"queryInput": {"text": {"text": str(position)}}}
        reply = {"queryResult": {"responseMessages": [{"text": {"text": ["yes"]}}]}}
        return {"conversation_name": "c", "turn_position": position, "request": said, "response": reply}

    assert [kinds(turn) for turn in one(row(1), row(2), row(4)).turns] == [[], [], ["MissingTurn"]]


def test_a_recorded_call_of_beeai_without_an_end_has_no_length() -> None:
    path = Path(__file__).parents[4] / "../shared/data/raw/formats/langfuse_trace/beeai-2025-08-01.trace.json"
    if not path.is_file():
        pytest.skip("no shared data here")
    (found,) = turnwise.read_conversations(str(path))
    (turn,) = found.turns
    assert turn.model_ms is None
    assert turn.inference_calls == 3 and len([span for span in turn.spans if span.type == "LLM"]) == 1


def test_a_graph_that_waits_for_a_person_did_not_fail() -> None:
    waiting = agent("1", 0)
    waiting.error, waiting.message = True, "GraphInterrupt((Interrupt(value='approve?'),))"
    assert joined([waiting, chat("1", "b", 1, FIRST, ANSWER)]).ended is None


def test_the_row_of_an_end_alone_in_bigquery_has_no_length() -> None:
    def row(kind: str, second: int, **more: Any) -> dict[str, Any]:
        ids = {"session_id": "S", "invocation_id": "i1", "event_id": kind, "span_id": kind, "trace_id": "t"}
        return {"timestamp": f"2026-01-01T00:00:0{second}Z", "event_type": kind, **ids, **more}

    said = row("LLM_RESPONSE", 5, content=json.dumps({"response": "text: 'Here.'"}))
    (turn,) = one(said).turns
    assert (turn.model_ms, turn.latency_ms, turn.spans) == (None, None, [])
    (turn,) = one({**said, "latency_ms": json.dumps({"total_ms": 1500})}).turns
    assert turn.model_ms == 1500


def test_calls_that_were_asked_for_and_are_nowhere_are_unknown() -> None:
    said = {"role": "assistant", "parts": [], "finish_reason": "tool_call"}
    asking = chat("1", "b", 1, FIRST, said)
    asking.attributes["gen_ai.response.finish_reasons"] = ["tool_call"]
    spans = [agent("1", 0), asking, chat("1", "c", 3, FIRST, ANSWER)]
    (turn,) = joined(spans).turns
    assert kinds(turn) == ["ContentNotRecorded"] and turn.unknown_calls and not turn.unknown_words
    ran = tool("1", "t", 2, "f", "x")
    assert [call.name for call in joined([*spans, ran]).turns[0].tool_calls] == ["f"]
    assert not joined([*spans, ran]).turns[0].unknown_calls


def test_calls_of_an_agent_without_a_span_of_a_model_or_a_tool_are_unknown() -> None:
    held = {"gen_ai__input__messages": json.dumps(FIRST), "gen_ai__output__messages": json.dumps([ANSWER])}
    (turn,) = joined([agent("1", 0, **held)]).turns
    assert (turn.user, turn.agent, kinds(turn)) == ("q1", "a1", ["ContentNotRecorded"])
    assert turn.unknown_calls and not turn.unknown_words


def test_no_tokens_at_all_were_not_counted() -> None:
    call = chat("1", "b", 1, FIRST, ANSWER)
    call.attributes |= {"gen_ai.usage.input_tokens": 0, "gen_ai.usage.output_tokens": 0}
    assert joined([agent("1", 0), call]).turns[0].usage is None
