"""What is replaced because of its key, its place or the config, as a transcript shows it."""

import json

import pytest

import turnwise
from tests.tables import rows_test
from turnwise.schemas.config import RedactConfig
from turnwise.schemas.score import Failure
from turnwise.transforms.scoring.redaction import redact_document, redact_failure

CRITERIA = {"response_match_score": 0.8}


test_rows = rows_test(globals(), "redaction")


def evaluated(logs, redact, criteria=CRITERIA):
    """Evaluates logs with redaction."""
    return turnwise.evaluate(logs, config={"criteria": criteria, "redact": redact}, judge="none")


def shown_turns(*turns, **redact):
    done = evaluated([{"conversation_id": "c1", "turns": list(turns)}], redact)
    return done.conversations[0]["transcript"]["turns"]


def secret_key(key):
    call = {"name": "send", "args": {key: "zebra"}}
    assert "zebra" not in str(shown_turns({"user": "hi", "agent": "x", "tool_calls": [call]}))


def transcript(turns, redact, shown, why):
    """What a transcript shows of turns with a section `redact`."""
    found = [
        {"user": turn["user"], "agent": turn["agent"], "args": [call["args"] for call in turn["tool_calls"]]}
        for turn in shown_turns(*turns, **redact)
    ]
    assert found == [{"args": [], **turn} for turn in shown], why


def test_values_over_parts_of_a_message():
    texts = ["card 4111 1111 ", "1111 1111 ok", "phone +44 20 ", "7946 0958"]
    parts = [{"type": "text", "text": text} for text in texts]
    log = {"messages": [{"role": "user", "content": parts}, {"role": "assistant", "content": "x"}]}
    (row,) = evaluated([log], {}).conversations
    assert row["transcript"]["turns"][0]["user"] == "card <CARD_1> ok\nphone <PHONE_1>"


def broken_record(record, path, shown):
    failure = Failure("parse", "ValueError", "no JSON", record=record)
    redact_failure(failure, RedactConfig(paths=[path]))
    assert failure.record == shown


def finds_nothing(redact, problem):
    with pytest.raises(turnwise.ConfigError, match=problem):
        evaluated([], redact)


def in_python(redact):
    """The keyword does what the config's section does, with cases and failures too."""
    mail = "anna@example.org"
    turn = {"user": f"to {mail}", "agent": "x", "expected": {"response": mail}}
    logs = [{"conversation_id": mail, "turns": [turn]}, {"conversation_id": mail, "turns": mail}]
    case = {"eval_id": mail, "turns": [{"user": "Hi", "response": mail}]}
    done = turnwise.evaluate(logs, cases=[case], criteria=CRITERIA, redact=redact, judge="none")
    tables = (done.scores, done.results, done.conversations, done.failures, done.metrics_by_turn)
    assert mail not in str([*map(list, tables), done.summary, done.document, done.problems, done.counts])
    assert done.document["redacted"]["EMAIL"] > 0 and len(done.failures) == 1


def wrong_in_python(redact, problem):
    with pytest.raises(turnwise.ConfigError, match=problem):
        turnwise.evaluate([], criteria=CRITERIA, redact=redact, judge="none")


def store(store, host):
    """Problems name it as it was typed, so that it can be mended, and count."""
    lost = "23012345 of 30123456 (20123456 rows)"
    problem = f"--store {store}: {lost}, no connection to {host}, row of kim@example.org from 10.9.8.7"
    document = {"store": store, "counts": {"results": 30123456}, "problems": [problem]}
    done = redact_document(document, RedactConfig())
    shown, _, row = done["problems"][0].partition(", row of ")
    assert shown == problem.partition(", row of ")[0] and "kim@" not in row and "10.9" not in row


def app_version(redact, versions, marked):
    """It joins tables, so that values in it have the markers of ids; others stay, and none become one."""
    turn = {"user": "hi", "agent": "yo", "expected": {"response": "yo"}}
    logs = [
        {"conversation_id": f"{i}-{version}", "user_id": version, "app_version": version, "turns": [turn]}
        for version in versions
        for i in (1, 2)
    ]
    done = evaluated(logs, redact)
    tables = (done.scores, done.conversations, done.metrics_by_app_version)
    shown = [{row["app_version"] for row in rows} for rows in tables]
    shown.append({row["result"]["appVersion"] for row in done.results})
    assert all(names == shown[0] and len(names) == len(versions) for names in shown)
    assert {*versions} - shown[0] == {*marked}


def test_a_value_in_the_name_of_a_tool():
    """The names of tools are in run.json too, where those of all conversations stand together."""
    call = {"name": "pay_4111111111111111", "args": {"a": 1}}
    turn = {"user": "x", "agent": "y", "tool_calls": [call], "expected": {"tool_calls": [call]}}
    done = evaluated([{"conversation_id": "c1", "turns": [turn]}], {}, {"tool_effects_v1": 1.0})
    (name,) = done.document["guessed_tools"]
    assert name.startswith("pay_<CARD_") and "4111111111111111" not in repr(done.document)


@pytest.mark.parametrize(
    "redact",
    [{"patterns": {"CUSTOMER": "[0-9]{6}"}}, {"paths": ["args.share", "args.lvl", "value", "threshold"]}],
)
def test_measured_numbers_stay(redact):
    """Neither a pattern nor an equal number at a path makes a marker of what was measured."""
    args = {"share": 0.75, "lvl": 1, "value": 2, "threshold": 0.8}
    call = {"name": "pay", "args": args}
    turn = {
        "user": "I am 123456", "agent": "a b c d e f g h i j k l m", "tool_calls": [call, call],
        "expected": {"response": "a b c d e p q r s t", "tool_calls": [{"name": "pay", "args": {"lvl": 2}}]},
    }  # fmt: skip
    logs = [{"conversation_id": "c1", "app_version": name, "turns": [turn]} for name in ("v1", "v2")]
    criteria = {"response_match_score": 0.75, "tool_effects_v1": 0.8, "tool_call_count_v1": 1.0}
    done, plain = evaluated(logs, redact, criteria), evaluated(logs, None, criteria)
    columns = ("value", "threshold", "turn_index", "revision", "outcome")
    for row, was in zip(done.scores, plain.scores, strict=True):
        assert [row[name] for name in columns] == [was[name] for name in columns]
        counts = {k: v for k, v in (was["details"] or {}).items() if isinstance(v, int | float)}
        assert counts.items() <= (row["details"] or {}).items()
    for shown, was in zip(done.conversations, plain.conversations, strict=True):
        numbers = {k: v for k, v in was.items() if isinstance(v, int | float)}
        assert {k: shown[k] for k in numbers} == numbers
    assert "0.4347" in str(done.scores[0]["explanation"])
    shown_args = done.conversations[0]["transcript"]["turns"][0]["tool_calls"][0]["args"]
    assert shown_args["share"] == ("<SHARE_1>" if "paths" in redact else 0.75)


def test_a_phone_number_in_json_is_one_wherever_it_stands():
    """In details of arguments as well, under a key around it, in a list, and not in ids of tables."""

    def call(last):
        phones = {"phone": 2125550120 + last, "mobile": {"value": 2125550150 + last}}
        more = {"fax": [2125550160 + last, 2125550170 + last], "whatsapp": 5550130 + last}
        return {"name": "save_contact", "args": {**phones, **more}}

    turn = {
        "user": "hi", "agent": "x", "tool_calls": [call(3)], "expected": {"tool_calls": [call(4)]},
    }  # fmt: skip
    log = {"conversation_id": "c1", "user_id": "2125550123", "turns": [turn]}
    done = evaluated([log], {}, {"tool_effects_v1": 1.0, "tool_trajectory_avg_score": 1.0})
    wrong = done.scores[0]["details"]["wrong_arguments"]
    assert wrong[0]["arguments"][0]["actual"].startswith("<PHONE_")
    shown = json.dumps([*done.scores, *done.results, *done.conversations])
    assert "212555" not in shown and "55501" not in shown
    assert len(done.conversations[0]["user_id"]) == len("<PHONE_123456789abc>")


def wrong_argument(expected, actual):
    """Both values of it."""
    turn = {
        "user": "hi", "agent": "x", "tool_calls": [{"name": "save_contact", "args": actual}],
        "expected": {"tool_calls": [{"name": "save_contact", "args": expected}]},
    }  # fmt: skip
    done = evaluated([{"conversation_id": "c1", "turns": [turn]}], {}, {"tool_effects_v1": 1.0})
    row, shown = done.scores[0], done.conversations[0]
    said = json.dumps([row["explanation"], row["details"], shown["why"], shown["problem_label"]])
    values = [str(value) for value in (*expected.values(), *actual.values()) if len(str(value)) > 2]
    assert not [value for value in values if value in said], said
    assert "> of " not in said and " instead of " in said
