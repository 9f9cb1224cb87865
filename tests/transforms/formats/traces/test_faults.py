"""Spans with faults: errors, calls without spans, ids that are no ids, streams, content that is left out."""

import json
from typing import Any

from msgspec.structs import replace

from tests.transforms.formats.traces.test_turns import (
    FIRST,
    ONE,
    SYSTEM,
    T0,
    S,
    agent,
    asks,
    chain,
    chat,
    joined,
    read,
    span,
    text,
    told,
    tool,
)
from turnwise.transforms.formats.traces.span import SpanEvent, TraceSpan

ANSWER = text("assistant", "a1")
FINDING = tuple[str, str]


def failed(one: TraceSpan, message: str) -> TraceSpan:
    return replace(one, error=True, message=message)


def with_tokens(one: TraceSpan, given: int, said: int) -> TraceSpan:
    held = {"gen_ai.usage.input_tokens": given, "gen_ai.usage.output_tokens": said}
    return replace(one, attributes={**one.attributes, **held})


def with_id(one: TraceSpan, reply: str) -> TraceSpan:
    return replace(one, attributes={**one.attributes, "gen_ai.response.id": reply})


def found(spans: list[TraceSpan]) -> list[FINDING]:
    return [(each.kind, each.message) for turn in joined(spans).turns for each in turn.findings]


def test_an_error_of_the_agent_ends_the_conversation_whatever_was_said() -> None:
    spans = [failed(agent("1", 0), "too many retries"), chat("1", "b", 1, FIRST, ANSWER)]
    conversation = joined(spans)
    assert (conversation.ended, conversation.ended_detail) == ("agent_error", "too many retries")
    assert read(conversation.turns[0]) == ONE


def test_an_error_of_the_last_model_call_ends_it_too() -> None:
    conversation = joined([agent("1", 0), failed(chat("1", "b", 1, FIRST, text("assistant", "a")), "reset")])
    assert (conversation.ended, conversation.ended_detail) == ("agent_error", "reset")


def test_a_call_that_was_repeated_after_an_error_is_no_end() -> None:
    done = {**ANSWER, "finish_reason": "stop"}
    spans = [agent("1", 0), failed(chat("1", "b", 1, FIRST, None), "busy"), chat("1", "c", 3, FIRST, done)]
    assert joined(spans).ended == "normally"


def test_a_turn_that_failed_says_so() -> None:
    spans = [failed(agent("1", 0), "boom"), failed(chat("1", "b", 1, FIRST, None), "boom")]
    (turn,) = joined([*spans]).turns
    assert [each.kind for each in turn.findings] == ["AgentError"] and turn.unknown_words is None
    assert turn.findings[0].message == "the agent failed and said nothing: boom"


def test_replies_of_one_id_with_other_messages_are_several() -> None:
    given = [*FIRST, asks("x", "f"), told("x")]
    calls = [with_id(chat("1", "b", 1, FIRST, asks("x", "f")), "chatcmpl-1")]
    calls += [tool("1", "c", 3, "f", "x"), with_id(chat("1", "d", 5, given, ANSWER), "chatcmpl-1")]
    (turn,) = joined([agent("1", 0), *calls]).turns
    assert read(turn) == ("q1", ["f"], "a1") and turn.inference_calls == 2


def test_replies_of_one_id_at_one_time_are_one() -> None:
    calls = [with_id(chat("1", own, 1, FIRST[at:], ANSWER), "r") for at, own in enumerate("bc")]
    (turn,) = joined([agent("1", 0), *calls]).turns
    assert turn.inference_calls == 1
    other = with_id(chat("1", "d", 1, FIRST, text("assistant", "b1")), "r")
    (turn,) = joined([agent("1", 0), *calls, other]).turns
    assert turn.inference_calls == 2


def test_messages_of_the_user_that_follow_each_other_are_one() -> None:
    given = [SYSTEM, text("user", "My order is 7."), text("user", "Where is it?")]
    (turn,) = joined([chat("1", "b", 1, given, ANSWER, "")]).turns
    assert turn.user == "My order is 7.\nWhere is it?"


def test_a_failure_after_the_agents_answer_is_no_end() -> None:
    top = agent("1", 0, gen_ai__output__messages=json.dumps([ANSWER]))
    title = failed(chat("1", "c", 3, [text("user", "Make a title")], None), "boom")
    conversation = joined([top, chat("1", "b", 1, FIRST, ANSWER), title])
    assert conversation.ended is None and conversation.turns[0].agent == "a1"


def test_calls_of_an_agent_inside_a_tool_count_without_spans_of_their_own() -> None:
    inner = [text("user", "refund 7"), asks("i", "delete"), told("i")]
    spans = [agent("1", 0), chat("1", "b", 1, FIRST, asks("x", "refund")), tool("1", "c", 2, "refund", "x")]
    spans += [chat("1", "d", 3, inner[:1], asks("i", "delete"), "c")]
    spans += [chat("1", "e", 5, inner, text("assistant", "done"), "c"), chat("1", "f", 7, FIRST, ANSWER)]
    (turn,) = joined(spans).turns
    assert sorted(call.name or "" for call in turn.tool_calls) == ["delete", "refund"]
    assert [each.response for each in turn.tool_responses] == ["found", "found"]


def test_tokens_that_not_every_call_reports_are_unknown() -> None:
    calls = [with_tokens(chat("1", "b", 1, FIRST, asks("x", "f")), 10, 5)]
    calls += [chat("1", "d", 5, [*FIRST, asks("x", "f"), told("x")], ANSWER)]
    (turn,) = joined([agent("1", 0), *calls]).turns
    assert turn.usage is None and [each.kind for each in turn.findings] == ["UsageNotRecorded"]
    (turn,) = joined([agent("1", 0), calls[0], failed(calls[1], "reset")]).turns
    assert turn.usage is not None and turn.usage.input_tokens == 10


def choice(at: int, said: str, **held: Any) -> SpanEvent:
    body = {"index": 0, "content": {"role": "model", "parts": [{"text": said}]}, **held}
    return SpanEvent("gen_ai.choice", (T0 + at) * S, {}, body)


def test_pieces_of_a_streamed_choice_are_one_text() -> None:
    events = [choice(1, "Hel"), choice(2, "lo the"), choice(3, "re!", finish_reason="STOP")]
    one = replace(chat("1", "b", 1, FIRST, None, ""), events=events)
    conversation = joined([one])
    assert (conversation.turns[0].agent, conversation.ended) == ("Hello there!", "normally")


def test_texts_of_one_message_are_lines_however_many_there_are() -> None:
    parts = [{"type": "text", "content": f"{number}."} for number in range(6)]
    (turn,) = joined([chat("1", "b", 1, FIRST, {"role": "assistant", "parts": parts}, "")]).turns
    assert turn.agent == "0.\n1.\n2.\n3.\n4.\n5."


def test_of_alternative_replies_the_first_is_read() -> None:
    replies = [{**text("assistant", said), "finish_reason": "stop"} for said in ("Red", "Blue", "Green")]
    held = {
        "gen_ai__input__messages": json.dumps(FIRST),
        "gen_ai__output__messages": json.dumps(replies),
    }
    spans = [span("1", "b", "", 1, 1, "chat", **held)]
    assert joined(spans).turns[0].agent == "Red"
    assert found(spans) == [("UnreadPart", "the reply has alternatives; the first one is read")]


def test_an_agent_that_states_only_its_instructions_was_asked_what_its_models_were() -> None:
    instructions = json.dumps([{"type": "text", "content": "Be brief."}])
    top = agent("1", 0, gen_ai__system_instructions=instructions)
    (turn,) = joined([top, chat("1", "b", 1, FIRST[1:], ANSWER)]).turns
    assert read(turn) == ONE and turn.findings == []


def test_a_structured_result_is_the_answer() -> None:
    top = agent("1", 0, agent_name="shop", final_result='{"city": "Rom"}')
    (turn,) = joined([top, chat("1", "b", 1, FIRST, asks("x", "final_result"))]).turns
    assert turn.agent == '{"city": "Rom"}'


def test_texts_that_the_writer_left_out_are_unknown() -> None:
    hidden = {"parts": [{"type": "text"}]}
    spans = [agent("1", 0), chat("1", "b", 1, [{"role": "user", **hidden}], {"role": "assistant", **hidden})]
    (turn,) = joined(spans).turns
    assert (turn.user, turn.agent) == (None, None) and turn.unknown_words is not None
    assert {each.kind for each in turn.findings} == {"ContentNotRecorded"}


def test_a_long_id_of_a_conversation_is_kept() -> None:
    from turnwise.transforms.formats.traces.read_span import LABELLED, conversation_of

    one = agent("1", 0, gen_ai__conversation__id="c" * 1000)
    assert conversation_of(one, LABELLED) == "c" * 1000


def window(own: str, at: int, number: int, parent: str) -> TraceSpan:
    """Returns a model call whose history holds the last three messages."""
    before = [text("user", f"q{number - 1}"), text("assistant", f"a{number - 1}")] if number else []
    given = [*before, text("user", f"q{number}")]
    return chat("1", own, at, given, text("assistant", f"a{number}"), parent)


def test_a_history_that_is_a_window_still_opens_turns() -> None:
    for top in ([], [agent("1", 0)]):
        calls = [window(f"m{n}", n + 1, n, "a" if top else "") for n in range(4)]
        assert list(map(read, joined([*top, *calls]).turns)) == [(f"q{n}", [], f"a{n}") for n in range(4)]


def test_an_answer_to_another_request_is_not_taken_for_the_agents_words() -> None:
    title = [text("system", "You name chats."), text("user", "Make a title for: q1")]
    spans = [agent("1", 0), chat("1", "b", 1, FIRST, ANSWER)]
    (turn,) = joined([*spans, chat("1", "c", 3, title, text("assistant", "Order"))]).turns
    assert [each.kind for each in turn.findings] == ["UnreadUserText"] and turn.unknown_words is not None
    stated = agent("1", 0, gen_ai__output__messages=json.dumps([ANSWER]))
    (turn,) = joined([stated, *spans[1:], chat("1", "c", 3, title, text("assistant", "Order"))]).turns
    assert (turn.agent, turn.unknown_words) == ("a1", None)


def test_an_error_that_only_the_model_was_told_marks_the_result() -> None:
    result = {"type": "tool_call_response", "id": "x", "response": {"type": "error-text", "value": "boom"}}
    given = [*FIRST, asks("x", "f"), {"role": "tool", "parts": [result]}]
    spans = [agent("1", 0), chat("1", "b", 1, FIRST, asks("x", "f")), tool("1", "c", 3, "f", "x")]
    (turn,) = joined([*spans, chat("1", "d", 5, given, ANSWER)]).turns
    assert [(each.response, bool(each.error)) for each in turn.tool_responses] == [("found", True)]
    (turn,) = joined([*spans[:2], chat("1", "d", 5, given, ANSWER)]).turns
    assert [(each.response, bool(each.error)) for each in turn.tool_responses] == [("boom", True)]


def test_the_status_of_a_tools_span_marks_its_result() -> None:
    call = tool("1", "c", 3, "f", "x")
    failed_call = replace(call, attributes={**call.attributes, "tool.status": "error"})
    (turn,) = joined([agent("1", 0), chat("1", "b", 1, FIRST, asks("x", "f")), failed_call]).turns
    assert [bool(each.error) for each in turn.tool_responses] == [True]


def test_texts_that_the_writer_hid_are_unknown() -> None:
    (turn,) = joined(
        [chat("1", "b", 1, [text("user", "__REDACTED__")], text("assistant", "<elided>"), "")]
    ).turns
    assert (turn.user, turn.agent) == (None, None) and turn.unknown_words is not None
    call = {"type": "tool_call", "id": "x", "name": "f", "arguments": "__REDACTED__"}
    (turn,) = joined([chat("1", "b", 1, FIRST, {"role": "assistant", "parts": [call]}, "")]).turns
    assert turn.tool_calls[0].args is None


def test_prompts_that_a_program_made_are_no_messages_of_the_user() -> None:
    prompt = [SYSTEM, text("user", "[[ ## question ## ]]\nq1")]
    spans = [chain("1", "a", 0, "", '{"input_args": {"question": "q1"}}', '{"answer": "a1"}')]
    spans += [
        chat("1", own, at, prompt, text("assistant", "[[ ## x ## ]]"), "a")
        for own, at in (("b", 1), ("c", 3))
    ]
    assert list(map(read, joined(spans).turns)) == [ONE]


def test_the_final_words_of_an_agent_are_without_the_thoughts_of_its_model() -> None:
    top = agent("1", 0, gen_ai__output__messages=json.dumps([ANSWER]))
    thought = text("assistant", "Thought: done\nFinal Answer: a1")
    (turn,) = joined([top, chat("1", "b", 1, FIRST, thought)]).turns
    assert turn.agent == "a1"


def test_a_result_that_comes_with_the_users_next_message_is_that_of_the_call_before() -> None:
    given = [*FIRST, asks("x", "f"), told("x"), text("user", "q2")]
    spans = [agent("1", 0), chat("1", "b", 1, FIRST, asks("x", "f")), chat("1", "c", 5, given, ANSWER)]
    first, second = joined(spans).turns
    assert (first.user, second.user) == ("q1", "q2")
    assert [each.response for each in first.tool_responses] == ["found"] and second.tool_responses == []


def test_a_further_attempt_of_a_tool_is_the_same_call() -> None:
    spans = [
        agent("1", 0),
        chat("1", "b", 1, FIRST, asks("x", "f")),
        failed(tool("1", "c", 2, "f", "x"), "timeout"),
    ]
    (turn,) = joined([*spans, tool("1", "d", 4, "f", "x"), chat("1", "e", 6, FIRST, ANSWER)]).turns
    assert [call.id for call in turn.tool_calls] == ["x"]
    assert [(each.response, each.error) for each in turn.tool_responses] == [("found", None)]


def test_a_critique_of_a_draft_is_no_turn_where_the_agent_states_what_it_was_asked() -> None:
    given = json.dumps(FIRST[1:])
    top = agent("1", 0, gen_ai__input__messages=given, gen_ai__output__messages=json.dumps([ANSWER]))
    critique = [*FIRST, text("assistant", "draft"), text("user", "Too short.")]
    spans = [chat("1", "b", 1, FIRST, text("assistant", "draft")), chat("1", "c", 3, critique, ANSWER)]
    (turn,) = joined([top, *spans]).turns
    assert read(turn) == ONE and [each.kind for each in turn.findings] == ["UnreadUserText"]


def test_a_failed_attempt_below_a_call_that_was_answered_is_no_end() -> None:
    outer = chat("1", "b", 1, FIRST, {**ANSWER, "finish_reason": "stop"})
    inner = [failed(chat("1", "c", 1, FIRST, None, "b"), "boom"), chat("1", "d", 1, FIRST, ANSWER, "b")]
    assert joined([agent("1", 0), outer, *inner]).ended == "normally"
    silent = chat("1", "b", 1, FIRST, None)
    assert joined([agent("1", 0), silent, inner[0]]).ended == "agent_error"


def test_what_an_agent_hands_over_with_is_no_message_of_the_user() -> None:
    summary = [text("user", "The user asks q1.")]
    spans = [agent("1", 0), chat("1", "b", 1, FIRST, asks("x", "transfer_to_b"))]
    spans += [agent("1", 10, "c"), chat("1", "d", 11, summary, ANSWER, "c")]
    (turn,) = joined(spans).turns
    assert read(turn) == ("q1", ["transfer_to_b"], "a1")
    assert [each.kind for each in turn.findings] == ["UnreadUserText"] and turn.unknown_words


def test_an_error_of_any_agent_that_encloses_the_last_words_is_the_end() -> None:
    inner = failed(agent("1", 1, "b", "1a"), "Guardrail tripwire triggered")
    spans = [agent("1", 0), replace(inner, parent="1a"), chat("1", "c", 2, FIRST, ANSWER, "b")]
    assert joined(spans).ended == "agent_error"
    answered = agent("1", 0, gen_ai__output__messages=json.dumps([ANSWER]))
    assert joined([answered, *spans[1:]]).ended != "agent_error"


def openinference(own: str, at: int, parent: str, kind: str, **held: Any) -> TraceSpan:
    keys = {key.replace("__", "."): value for key, value in held.items()}
    attributes = {"openinference.span.kind": kind, **keys}
    return TraceSpan("1", own, parent, held.get("name", kind), (T0 + at) * S, (T0 + at + 1) * S, attributes)


MODEL = {
    "llm__input_messages__0__message__role": "user",
    "llm__input_messages__0__message__content": "q1",
    "llm__output_messages__0__message__role": "assistant",
    "llm__output_messages__0__message__tool_calls__0__tool_call__id": "x",
}
CALLED = "llm__output_messages__0__message__tool_calls__0__tool_call__function__name"


def test_the_span_of_a_hand_off_states_no_arguments() -> None:
    model = openinference("b", 1, "", "LLM", **{**MODEL, CALLED: "transfer_to_refunds"})
    hand_off = replace(
        openinference("c", 2, "", "TOOL", input__value="Triage", output__value="Refunds"),
        name="handoff to Refunds",
    )
    (turn,) = joined([model, hand_off]).turns
    assert [(call.name, call.args) for call in turn.tool_calls] == [("transfer_to_refunds", {})]


def test_openinference_leaves_empty_arguments_out() -> None:
    made = openinference("b", 1, "", "LLM", **{**MODEL, CALLED: "now"})
    (turn,) = joined([made, openinference("c", 2, "", "TOOL", tool__name="now", output__value="9:00")]).turns
    assert [(call.name, call.args) for call in turn.tool_calls] == [
        ("now", {})
    ] and turn.unknown_calls is None
    arguments = CALLED.replace("function__name", "function__arguments")
    hidden = openinference("b", 1, "", "LLM", **{**MODEL, CALLED: "now", arguments: "__REDACTED__"})
    assert joined([hidden]).turns[0].tool_calls[0].args is None


def test_words_beside_the_call_of_a_hosted_tool_are_the_answer() -> None:
    said = {"llm__output_messages__0__message__content": "Found 20"}
    model = openinference("b", 1, "", "LLM", **{**MODEL, **said, CALLED: "web_search_call"})
    (turn,) = joined([model]).turns
    assert (turn.agent, [call.name for call in turn.tool_calls]) == ("Found 20", ["web_search"])
    own = openinference("b", 1, "", "LLM", **{**MODEL, **said, CALLED: "web_search"})
    assert joined([own]).turns[0].agent is None


def test_a_tool_that_was_interrupted_and_resumed_is_one_call() -> None:
    call = tool("1", "c", 2, "f", "")
    call = replace(call, attributes={k: v for k, v in call.attributes.items() if k != "gen_ai.tool.call.id"})
    paused = failed(
        replace(call, attributes={**call.attributes, "gen_ai.tool.call.result": None}), "GraphInterrupt()"
    )
    spans = [agent("1", 0), chat("1", "b", 1, FIRST, asks("x", "f")), paused]
    (turn,) = joined([*spans, replace(call, id="1d", start=call.start + 4 * S, end=call.end + 4 * S)]).turns
    assert [(each.response, each.error) for each in turn.tool_responses] == [("found", None)]


def test_instructions_may_come_in_an_event_before_the_messages() -> None:
    name = "gen_ai.client.inference.operation.details"
    parts = json.dumps([{"type": "text", "content": "Be brief."}])
    held = ({"gen_ai.system_instructions": parts}, {"gen_ai.input.messages": json.dumps(FIRST[1:])})
    events = [SpanEvent(name, (T0 + 1) * S, each) for each in held]
    (turn,) = joined([replace(chat("1", "b", 1, None, ANSWER, ""), events=events)]).turns
    assert read(turn) == ONE


def test_a_graph_of_agents_is_one_turn() -> None:
    top = span("1", "a", "", 0, 20, "invoke_graph", gen_ai__input__messages=json.dumps(FIRST[1:]))
    nodes = [agent("1", 1, "b", "a"), chat("1", "c", 2, FIRST, text("assistant", "draft"), "b")]
    prompt = [text("user", "Original Task: q1. Inputs: draft")]
    nodes += [agent("1", 11, "d", "a"), chat("1", "e", 12, prompt, ANSWER, "d")]
    assert list(map(read, joined([top, *nodes]).turns)) == [ONE]


def test_of_answers_at_one_time_any_may_be_the_one_that_the_user_got() -> None:
    guard = chat("1", "c", 1, FIRST, text("assistant", "no"))
    (turn,) = joined([agent("1", 0), chat("1", "b", 1, FIRST, ANSWER), guard]).turns
    assert [each.kind for each in turn.findings] == ["SeveralAnswers"] and turn.unknown_words
    beside = [agent("1", 0, "b", "a"), agent("1", 0, "d", "a"), chat("1", "c", 1, FIRST, ANSWER, "b")]
    (turn,) = joined([agent("1", 0), *beside, chat("1", "e", 3, FIRST, text("assistant", "no"), "d")]).turns
    assert [each.kind for each in turn.findings] == ["SeveralAnswers"]
    top = agent("1", 0, gen_ai__output__messages=json.dumps([ANSWER]))
    (turn,) = joined([top, chat("1", "b", 1, FIRST, ANSWER), guard]).turns
    assert turn.findings == []
