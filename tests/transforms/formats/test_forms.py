"""One short conversation in every form of messages: results and ends are read alike in all of them.

Each line of `forms.jsonl` is a record; in it, `with` stands for fields of the call, of the tool's result or
of the last message, and what has `if` is there only if there is a result.
"""

import pytest

import turnwise
from tests.readings import one
from tests.tables import lines_beside, rows_test
from turnwise.transforms.effects.failures import has_failed
from turnwise.transforms.formats.endings import UNKNOWN, failure_mark
from turnwise.transforms.matching.calls import pair_responses

FORMS = {name: line["record"] for name, line in lines_beside(__file__, "forms.jsonl").items()}
MESSAGES = FORMS.keys() - {"canonical", "event", "chat_inside", "request", "custom"}


test_rows = rows_test(globals(), "forms")


def filled(form, fields):
    if isinstance(form, list):
        items = [item for item in form if not isinstance(item, dict) or fields[item.get("if")] is not None]
        return [filled(item, fields) for item in items]
    if isinstance(form, dict):
        rest = {key: filled(value, fields) for key, value in form.items() if key not in ("if", "with")}
        return {**rest, **fields[form.get("with")]}
    return form


def record(form, call=(), result=None, last=()):
    return filled(FORMS[form], {None: {}, "call": dict(call), "result": result, "last": dict(last)})


def read(form, call=(), result=None, last=(), **more):
    return one({**record(form, call, result, last), **more})


def own(fields, response, error):
    """A call that no response answers has its own result."""
    for form in FORMS.keys() - {"vercel", "gemini", "genai"}:
        [turn] = read(form, fields).turns
        [found] = pair_responses(turn.tool_calls, turn.tool_responses)
        assert (found.response, found.error, turn.unknown_calls) == (response, error, None), form
        assert has_failed(found)


def no_result(fields):
    for form in FORMS.keys() - {"vercel", "gemini", "genai"}:
        [turn] = read(form, fields).turns
        assert (turn.tool_responses, turn.findings) == ([], []), form


def test_other_calls_with_their_own_results():
    calls = [{"name": "f", "args": {}, "error": "down"}]
    by_user = {"conversation_id": "c", "turns": [{"user": "q", "agent": "a", "user_tool_calls": calls}]}
    assert [made.error for made in one(by_user).turns[0].user_tool_responses] == ["down"]
    said = {"id": "c", "said": [{"user": "q", "agent": "a", "tool_calls": calls}]}
    config = {"mapping": {"conversation_id": "id", "turns": "said"}}
    [mapped] = turnwise.read_conversations([said], config=config)
    older = {"role": "assistant", "content": "a"}
    older["function_call"] = {"name": "f", "arguments": "{}", "error": "down"}
    for found in (mapped, one({"messages": [{"role": "user", "content": "q"}, older]})):
        assert [(made.name, made.error) for made in found.turns[0].tool_responses] == [("f", "down")]
        assert found.turns[0].findings == []
    stopped = {"messages": record("chat", {"result": "done"})["messages"][:2]}
    assert one(stopped).turns[0].findings == []


def beside(calls, responses, wanted, finding):
    """Results of calls beside responses."""
    turn = {"user": "q", "agent": "a", "tool_calls": calls, "tool_responses": responses}
    [turn] = one({"conversation_id": "c", "turns": [turn]}).turns
    assert [[made.response, made.error] for made in turn.tool_responses] == wanted
    assert turn.unknown_calls == finding
    assert [problem.message for problem in turn.findings] == ([finding] if finding else [])


def mark(result, wanted):
    """Marks of failure."""
    assert failure_mark({"content": "error", **result}) == wanted


@pytest.mark.parametrize("form", ["canonical", "request", *sorted(MESSAGES)])
def test_every_form_reads_the_marks_of_a_result(form):
    marks = ("error", "no"), ("is_error", True), ("isError", True), ("status", "failed"), ("success", False)
    for mark in ({}, *(dict([pair]) for pair in marks)):
        [response] = read(form, result=mark).turns[0].tool_responses
        assert bool(response.error) == bool(mark), mark


def end(last, more, wanted):
    """Every form states it alike."""
    for form in MESSAGES | {"canonical"}:
        found = read(form, result={}, last=last, **more)
        assert [found.ended, found.ended_detail] == wanted, form


@pytest.mark.parametrize(("form", "name", "roles"), [
    ("anthropic", "role", ("user", "assistant")),
    ("langchain", "type", ("human", "ai")),
])  # fmt: skip
def test_an_earlier_message_is_no_end(form, name, roles):
    more = [{name: role, "content": text} for role, text in zip(roles, ("and?", "more"), strict=True)]
    for last in ({"error": "boom"}, {"status": "failed"}, {"finish_reason": "length"}):
        found = one({"messages": [*record(form, result={}, last=last)["messages"], *more]})
        assert (found.ended, found.ended_detail) == UNKNOWN


def test_the_messages_of_a_request_state_its_end_where_there_is_no_reply():
    asked = {"model": "m", **record("chat", result={}, last={"error": "boom"})}
    assert one({"request": asked, "response": None}).ended == "agent_error"


def test_what_a_langchain_record_states_against_the_metadata_of_its_last_message():
    last = {"response_metadata": {"finish_reason": "stop"}}
    for beside, more in ({}, {"finish_reason": "length"}), ({"finish_reason": "length"}, {}):
        found = read("langchain", last={**last, **beside}, **more)
        assert (found.ended, found.ended_detail) == (None, "normally, and also limit: length")
    assert read("langchain", last=last).ended == "normally"
