"""`turnwise inspect --suggest` proposes a mapping that reads."""

import json
from pathlib import Path
from typing import Any

import pytest

import turnwise
from turnwise.pipeline.cli.main import main


@pytest.fixture
def suggested(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """Writes records, or a text, to a file; returns what the proposed mapping reads, and the messages."""

    def run(*records: Any, status: int = 0, name: str = "log.jsonl") -> tuple[Any, str]:
        path = tmp_path / name
        path.write_text("\n".join(one if isinstance(one, str) else json.dumps(one) for one in records))
        assert main(["inspect", str(path), "--suggest"]) == status
        out, shown = capsys.readouterr()
        if status:
            assert out == ""
            return None, shown
        (log,) = turnwise.read_conversations(str(path), config=json.loads(out))
        return log, shown

    return run


def spoken(log: turnwise.Conversation) -> list[tuple[str | None, str | None]]:
    return [(turn.user, turn.agent) for turn in log.turns]


LINES = {"call": {"id": "c1"}, "release": "v1", "lines": [{"asked": "Hi", "said": "Hello"}]}
SPEAKERS = [{"speaker": "Customer", "utterance": "Hi"}, {"speaker": "Bot", "utterance": "Hello"}]
SAID = (("human", "Hi"), ("bot", "Hello"))
ROWS = [{"chat_id": "c1", "n": i, "from": who, "text": text} for i, (who, text) in enumerate(SAID)]


@pytest.mark.parametrize(
    "records",
    [
        [LINES],
        [{"threadId": "c1", "payload": {"log": SPEAKERS}}],
        ROWS,
        [{"id": "c1", "messages": [{"role": "user", "message": "Hi"}, {"role": "bot", "message": "Hello"}]}],
        [{"session_id": "c1", "question": "Hi", "answer": "Hello", "odd-key": 1}],
        [{"id": "c1", "odd-list": [{"user-question": 1, "question": "Hi", "answer": "Hello"}]}],
        [{"id": "c1", "log": [{"sender": {"type": w}, "parts": [{"text": t}, {"i": 1}]} for w, t in SAID]}],
        [{"id": "c1", "log": [list(pair) for pair in SAID]}],
        [{"id": "c1", "log": {"history": [["Hi", "Hello"]]}}],
        [{"id": "c1", "log": [{"role": 0, "text": "Hi"}, {"role": 1, "text": "Hello"}]}],
        [{"conversation_id": "c1", "user_message": "Hi", "bot_response": "Hello"}],
        [
            {
                "sessionId": "c1",
                "inputTranscript": "Hi",
                "messages": [{"content": "Hello", "contentType": "x"}],
            }
        ],
        [{"id": t, "conversation": {"id": "c1"}, "from": {"id": t, "role": w}, "text": t} for w, t in SAID],
    ],
    ids=[
        *("turns", "messages", "message", "chat of other keys", "turn", "odd keys"),
        *(
            "kinds of senders",
            "roles with texts",
            "pairs",
            "numbers",
            "sides in keys",
            "lists of replies",
            "activities",
        ),
    ],
)
def test_a_proposed_mapping_reads_what_was_said(records, suggested):
    log, _ = suggested(*records)
    assert log.conversation_id == "c1" and spoken(log) == [("Hi", "Hello")]


def test_calls_are_proposed_and_what_is_not_read_is_named(suggested):
    acts = [{"fn": "f", "params": '{"a": 1}', "cost": 2}]
    turns = [
        {"asked": "Hi", "reply": "Hello", "actions": acts},
        {"asked": "Bye", "reply": "Ciao", "actions": []},
    ]
    log, shown = suggested({"conv": "k1", "dialog": turns, "events": [{"kind": "x"}], "score": 4})
    assert log.conversation_id == "k1"
    calls = [[(call.name, call.args) for call in turn.tool_calls] for turn in log.turns]
    assert calls == [[("f", {"a": 1})], []]
    assert "not read by it: events, score, dialog[].actions[].cost, events[].kind" in shown


@pytest.mark.parametrize(
    "record", [{"a": 1}, {"conversation_id": "c", "turns": [{"user": "a", "agent": "b"}]}, {"question": "a"}]
)
def test_nothing_is_proposed_without_words_of_both(record, suggested):
    _, shown = suggested(record, status=1)
    has_format = "turns" in record
    why = "a format fits every record" if has_format else "no key names words of both a user and an agent"
    assert f"no mapping can be proposed: {why}; " in shown
    assert all(way in shown for way in ("`mapping` by hand", "docs/input-formats.md", "--plugin"))


DID = {"op": "f", "params": '{"a": 1}', "result": "ok"}


@pytest.mark.parametrize(
    "line",
    [
        {"asked": "Hi", "said": "Hello", "did": [{"id": "1", "fn": "f", "params": {"a": 1}, "result": "ok"}]},
        {"asked": "Hi", "said": "Hello", "did": {"fn": "f", "params": {"a": 1}, "output": "ok"}},
        {"asked": "Hi", "said": "Hello", "seen": [{"x": 1}], "trace": {"ops": [DID | {"tool": "f"}]}},
    ],
    ids=["any list", "one object", "below an object"],
)
def test_calls_are_proposed_by_their_shape(line, suggested):
    log, _ = suggested({"id": "c1", "lines": [line, {"asked": "Bye", "said": "Ciao"}]})
    assert [[(c.name, c.args) for c in turn.tool_calls] for turn in log.turns] == [[("f", {"a": 1})], []]
    assert [answer.response for answer in log.turns[0].tool_responses] == ["ok"]


def test_calls_beside_messages_are_proposed_and_their_absence_is_said(suggested):
    listed: list[Any] = [{**one, "did": []} for one in SPEAKERS]
    listed.insert(1, {"speaker": "Bot", "utterance": "", "did": [{"fn": "f", "params": {}}]})
    log, shown = suggested({"threadId": "c1", "log": listed})
    assert [call.name for turn in log.turns for call in turn.tool_calls] == ["f"]
    assert "count as unknown" not in shown
    assert "it names no calls, which then count as unknown" in suggested(LINES)[1]


FAILED: tuple[dict[str, Any], ...] = (
    {"error": "denied"},
    {"status": "failed"},
    {"success": False},
    {"ret": {"error": "not allowed"}},
)


@pytest.mark.parametrize("end", FAILED)
@pytest.mark.parametrize("is_proposed", [True, False])
def test_a_failed_call_never_passes_through_a_mapping(end, is_proposed, tmp_path, capsys):
    call = {"name": "cancel", "params": {"id": 5}, **end}
    lines = [("customer", "Cancel 5", {}), ("bot", "One moment", {"fn": call}), ("bot", "Cancelled.", {})]
    log = [{"who": who, "text": text, **more} for who, text, more in lines]
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps({"sid": "a1", "eid": "e", "log": log}))
    assert main(["inspect", str(path), "--suggest"]) == 0
    mapping = json.loads(capsys.readouterr().out)["mapping"]
    if not is_proposed:
        role = "who == 'customer' && 'user' || 'assistant'"
        calls = "tool_calls: [fn][*].{name: name, args: params}"
        mapping["messages"] = f"log[*].{{role: {role}, content: text, {calls}}}"
    config = {"criteria": {"tool_effects_v1": 1.0}, "mapping": {**mapping, "eval_id": "eid"}}
    case = {
        "eval_id": "e",
        "turns": [{"user": "Cancel 5", "tool_calls": [{"name": "cancel", "args": {"id": 5}}]}],
    }
    result = turnwise.evaluate(str(path), config=config, cases=[case])
    assert result.status != "PASS"
    if not is_proposed:
        (key,) = end
        assert any(f"fn.{key}" in row["message"] for row in result.failures)


def said(*pairs: tuple[str, str], role: str = "from") -> list[dict[str, str]]:
    return [{role: who, "text": text} for who, text in pairs]


HELLO = [("Hi", [], "Hello")]
CALL = '{"name": "calc", "arguments": {"e": "2+2"}}'


@pytest.mark.parametrize(
    ("record", "turns", "left_out"),
    [
        (
            said(("system", "Be nice."), ("human", "Hi"), ("gpt", "Hello"), ("internal", "Fraud?")),
            HELLO,
            "system, internal",
        ),
        (
            said(("user", "2+2?"), ("function_call", CALL), ("observation", "4"), ("gpt", "4.")),
            [("2+2?", [("calc", {"e": "2+2"})], "4.")],
            None,
        ),
        (said(("client", "Hi"), ("Zoe's", "Hello"), ("supervisor", "Go")), HELLO, "supervisor"),
        (
            [{"role": "user", "parts": [{"text": "Hi"}]}, {"role": "model", "parts": [{"text": "Hello"}]}],
            HELLO,
            None,
        ),
        (said(("USER", "Hi"), ("SYSTEM", "Hello")), HELLO, None),
        (
            [
                {"direction": d, "payload": {"text": t}}
                for d, t in (("incoming", "Hi"), ("outgoing", "Hello"))
            ],
            HELLO,
            None,
        ),
    ],
    ids=["nobody's", "calls as texts", "by exclusion", "messages of a format", "system", "nested"],
)
def test_only_the_agents_words_are_the_agents(record, turns, left_out, suggested):
    log, shown = suggested({"id": "c1", "log": {"lines": record}})
    assert [(t.user, [(c.name, c.args) for c in t.tool_calls], t.agent) for t in log.turns] == turns
    assert (f"nobody's words: {left_out};" in shown) if left_out else "nobody's" not in shown


def test_a_role_that_the_sample_has_not_is_a_finding(tmp_path, capsys):
    rows = [{"chat_id": "c1", **line} for line in said(("user", "Hi"), ("bot", "Hello"))]
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(["inspect", str(path), "--suggest"]) == 0
    config = json.loads(capsys.readouterr().out)
    path.write_text(path.read_text() + json.dumps({"chat_id": "c1", "from": "auditor", "text": "Stop"}))
    (log,) = turnwise.read_conversations(str(path), config=config)
    assert spoken(log) == [("Hi", "Hello")] and log.turns[0].unknown_words


WORDS = (("2026-01-01T10:00:00Z", "customer", "Hi"), ("2026-01-01T10:00:01Z", "bot", "Hello"))
SHAPES = {
    "role in a message": [{"message": {"role": who, "content": text}} for _, who, text in WORDS],
    "role of an author": [{"author": {"role": who}, "text": text} for _, who, text in WORDS],
    "newest first": [{"sent_at": at, "who": who, "text": text} for at, who, text in WORDS[::-1]],
    "newest first, in seconds": [
        {"time": 9 - place, "who": who, "text": text} for place, (_, who, text) in enumerate(WORDS[::-1])
    ],
    "oldest first": [{"sent_at": at, "who": who, "text": text} for at, who, text in WORDS],
}


@pytest.mark.parametrize("shape", SHAPES)
def test_nested_and_reversed_messages_are_proposed_as_they_were_said(shape, suggested):
    log, shown = suggested({"session_id": "c1", "log": SHAPES[shape]})
    assert spoken(log) == [("Hi", "Hello")]
    assert ("newest first" in shown) is shape.startswith("newest")


def test_messages_that_may_be_reversed_are_named(suggested):
    posts = [{"who": who, "text": text} for _, who, text in WORDS[::-1]]
    _, shown = suggested({"session_id": "c1", "log": posts})
    assert "if messages are written newest first, put reverse(...)" in shown


def test_calls_and_results_of_other_roles_are_proposed(suggested):
    """As Vapi's calls have them."""
    function = {"id": "1", "type": "function", "function": {"name": "find", "arguments": '{"id": 5}'}}
    messages = [
        {"role": "bot", "message": "Acme."},
        {"role": "user", "message": "Where is order 5?"},
        {"role": "tool_calls", "toolCalls": [function], "message": ""},
        {"role": "tool_call_result", "name": "find", "result": "Bonn", "toolCallId": "1"},
        {"role": "bot", "message": "In Bonn."},
    ]
    log, _ = suggested({"id": "call", "messages": messages})
    turn = log.turns[-1]
    assert (turn.user, turn.agent) == ("Where is order 5?", "In Bonn.")
    assert [(call.name, call.args) for call in turn.tool_calls] == [("find", {"id": 5})]
    assert [response.response for response in turn.tool_responses] == ["Bonn"]


@pytest.mark.parametrize(
    "columns",
    [
        "turn_index,speaker,utterance\nc1,0,customer,Hi\nc1,1,bot,Hello\n",
        "turn_index,user,agent\nc1,0,Hi,Hello\n",
    ],
)
def test_numbered_rows_of_a_table_are_no_events_of_turnwise(columns, suggested):
    log, _ = suggested(f"conversation_id,{columns}", name="log.csv")
    assert log.conversation_id == "c1" and spoken(log) == [("Hi", "Hello")]


ASKED = {"chat_id": "k1", "no": "a", "sender": "user", "body": "Hi", "ts": "999999999", "id": "m1"}
ANSWERED = {"chat_id": "k1", "no": "b", "sender": "bot", "body": "Hello", "ts": "1764000002", "id": "m2"}
SIDES = [{"from": "user", "text": "Hi"}, {"from": "bot", "text": "Hello"}]


TIMES = ("2026-01-01T00:01", "2026-01-01T00:09")


@pytest.mark.parametrize("keys", [{"seq": (9, 10)}, {}, {"created_at": TIMES}], ids=["seq", "ts", "created"])
def test_rows_are_ordered_by_their_numbers_or_times(keys, suggested):
    first, second = ({key: pair[i] for key, pair in keys.items()} for i in (0, 1))
    log, _ = suggested(ANSWERED | second, ASKED | first)
    assert log.conversation_id == "k1" and log.start_time == first.get("created_at")
    assert spoken(log) == [("Hi", "Hello")]


@pytest.mark.parametrize(
    ("records", "why"),
    [
        ([{k: v for k, v in row.items() if k != "chat_id"} for row in (ASKED, ANSWERED)], "rows share"),
        ([{"id": "c", "log": [{"user": "Hi"}, {"bot": "Hello"}]}], "no key names words of both"),
        (
            [{"id": "c", "user": "Hi", "bot": ""}, {"id": "c", "user": "", "bot": "Hello"}],
            "no key names words",
        ),
        (
            [{"id": "c", "log": said(("user", "Hi"), ("Zoe", "Hello"), ("Max", "Go"))}],
            "no key names words of",
        ),
        (
            [{"id": "c", "log": SIDES}, {"id": "d", "turns": [{"question": "x", "answer": "y"}]}],
            "finds no array",
        ),
        ([{"id": "c", "log": [{"user": {"text": "Hi"}, "bot": {"text": "Hello"}}]}], "got `object`"),
    ],
)
def test_what_a_person_reads_in_another_way_is_not_proposed(records, why, suggested):
    assert why in suggested(*records, status=1)[1]


def test_keys_that_only_later_rows_have_are_named(suggested):
    rows = [ASKED, {**ANSWERED, "tool_name": "find_order", "tool_args": "{}"}]
    assert "not read by it: no, id, tool_name, tool_args" in suggested(*rows)[1]
