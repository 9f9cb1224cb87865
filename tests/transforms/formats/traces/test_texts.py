"""Which texts of spans are words, objects, blocks, cut off, or another's: what looks alike stays whole."""

import turnwise
from tests.tables import rows_test
from turnwise.transforms.formats.messages.parts import FURTHER_CHOICE, call_arguments, result_of
from turnwise.transforms.formats.messages.spellings import read_messages
from turnwise.transforms.formats.traces.dialect import tool_result
from turnwise.transforms.formats.traces.span import is_cut

test_rows = rows_test(globals(), "texts")


def program_object(said):
    """It is nobody's words."""
    (message,) = read_messages(said, "user")
    assert (message.texts, message.is_users, len(message.parts)) == ([], True, 1)


def plain_words(said):
    """They look a little like an object."""
    assert [message.texts for message in read_messages(said, "user")] == [[said]]


def cut(text, expected):
    """Only what is not closed is."""
    assert is_cut(text) is expected


def no_block(said):
    """An answer in JSON is none."""
    (message,) = read_messages([{"role": "assistant", "content": said}], "assistant")
    assert (message.texts, message.calls, message.parts) == ([said], [], [])


def test_blocks_in_json_are_blocks():
    content = '[{"type": "text", "text": "a"}, {"type": "tool_use", "id": "1", "name": "f", "input": {}}]'
    (message,) = read_messages([{"role": "assistant", "content": content}], "assistant")
    assert (message.texts, [call.name for call in message.calls]) == (["a"], ["f"])


def repeated(output, texts):
    """What an output repeats of its input is no answer."""
    assert [message.texts for message in read_messages(output, "assistant")] == texts


def whole_arguments(given):
    assert call_arguments(given) == given


def whole_result(back):
    assert tool_result(back) == (back, None)


def typed_value(kind, kept):
    """Only typed values are unwrapped."""
    assert result_of({"result": {"type": kind, "value": 3}}).response == kept


def alternatives(key):
    """The first is read, and the others are told."""
    replies = [{"message": {"role": "assistant", "content": each}} for each in ("A", "B")]
    system, message = read_messages({key: replies, "system": "Be brief."}, "assistant")
    assert (system.texts, message.texts, message.parts) == (["Be brief."], ["A"], [FURTHER_CHOICE])


def test_a_provider_of_the_vercel_ai_sdk_may_run_a_tool():
    call = {"toolCallId": "w1", "toolName": "search", "input": {"q": "x"}, "providerExecuted": True}
    (message,) = read_messages([call], "assistant")
    assert [(each.name, each.is_hosted) for each in message.calls] == [("search", True)]


def test_a_pair_of_a_role_and_a_text_is_a_message():
    found = read_messages({"messages": [["user", "q1"], ["assistant", "a1"]]}, "user")
    assert [(each.role, each.texts) for each in found] == [("user", ["q1"]), ("assistant", ["a1"])]
    assert [each.texts for each in read_messages(["user", "name", "q1"], "user")] == [["user", "name", "q1"]]


def test_a_trace_at_the_edge_of_a_page_of_langfuse_may_go_on():
    def row(own, trace, second):
        times = {"startTime": f"2026-01-01T00:00:0{second}Z", "endTime": f"2026-01-01T00:00:0{second + 1}Z"}
        given = {
            "input": [{"role": "user", "content": "hi"}],
            "output": {"role": "assistant", "content": "yo"},
        }
        about = {"id": own, "traceId": trace, "type": "GENERATION", "name": "n", "parentObservationId": None}
        return about | times | given

    first = {"data": [row("o1", "t1", 1), row("o2", "t2", 1)], "meta": {"page": 1, "totalPages": 2}}
    second = {"data": [row("o3", "t2", 3), row("o4", "t3", 5)], "meta": {"page": 2, "totalPages": 2}}
    found = turnwise.read_conversations([first, second])
    assert all(not turn.findings for each in found for turn in each.turns)
    found = turnwise.read_conversations([first])
    kinds = {each.conversation_id: [finding.kind for finding in each.turns[0].findings] for each in found}
    assert kinds == {"t1": [], "t2": ["MissingSpan"]}
