"""What is replaced because of its key, its place or the config, as a transcript shows it."""

import json
from typing import Any

import pytest

import turnwise
from turnwise.schemas.config import RedactConfig
from turnwise.transforms.scoring.redaction import redact_document

CRITERIA = {"response_match_score": 0.8}
ZHANG = "I am zhang@example.com"


def evaluated(logs: list[dict[str, Any]], redact: Any, criteria: Any = CRITERIA) -> turnwise.RunResult:
    """Evaluates logs with redaction."""
    return turnwise.evaluate(logs, config={"criteria": criteria, "redact": redact}, judge="none")


def transcript(*turns: dict[str, Any], **redact: Any) -> list[dict[str, Any]]:
    """Returns the turns of a conversation as a redacted run shows them."""
    done = evaluated([{"conversation_id": "c1", "turns": list(turns)}], redact)
    shown_turns: list[dict[str, Any]] = done.conversations[0]["transcript"]["turns"]
    return shown_turns


def shown(user: Any, args: dict[str, Any], **redact: Any) -> tuple[str, str]:
    """Returns what a run shows of a message and of the arguments of a call."""
    call = {"name": "send", "args": args}
    (turn,) = transcript({"user": user, "agent": "x", "tool_calls": [call]}, **redact)
    return turn["user"], json.dumps(turn["tool_calls"], ensure_ascii=False)


@pytest.mark.parametrize(
    "key", ["pass", "auth", "cookie", "otp", "session", "bearer", "pw", "mot_de_passe", "密码", "パスワード"]
)
def test_secret_keys(key: str) -> None:
    assert "zebra" not in shown("hi", {key: "zebra"})[1]


@pytest.mark.parametrize(
    ("user", "args", "redact", "says", "call"),
    [
        ("ab", {"password": "ab"}, {}, "ab", "<SECRET_1>"),
        ("hi", {"secret": ["s1", "s2"]}, {}, "hi", "<SECRET_2>"),
        ("X1", {"iban": "X1"}, {}, "X1", "<IBAN_1>"),
        ("X1", {"iban": "X1", "ssn": "no"}, {"kinds": ["national_id"]}, "X1", '"X1", "ssn": "no"'),
        ("hi", {"compass": "north", "author": "Kim", "session_id": "s-1"}, {}, "hi", "s-1"),
        ("hi", {"n": 123456}, {"patterns": {"CODE": "[0-9]{6}"}}, "hi", "<CODE_1>"),
        ('{"n": "of kim@example.org \\u2026"}', {}, {}, '{"n":"of <EMAIL_1> …"}', ""),
        ("<EMAIL_1> anna@example.org", {}, {}, "<EMAIL_1> <EMAIL_2>", ""),
        ("a anna\u200b@example.org", {"to": "anna@example.org"}, {}, "a <EMAIL_1>", "<EMAIL_1>"),
    ],
)
def test_values(user: str, args: dict[str, Any], redact: dict[str, Any], says: str, call: str) -> None:
    message, calls = shown(user, args, **redact)
    assert message == says and call in calls


@pytest.mark.parametrize(
    "args",
    [
        {"headers": [{"key": "authorization", "value": "Bearer zebra"}]},
        {"headers": [{"name": "X-Api-Key", "value": "zebra"}]},
        {"headers": [["authorization", "Basic zebra"]]},
        {"fields": [{"name": "password", "value": {"stringValue": "zebra"}}]},
        {"password": {"value": "zebra"}},
        {"cookies": {"sid": "zebra", "theme": "zebra"}},
        {"secrets": {"any": "zebra"}},
        {"body": '{"login": {"user": "bo", "password": "zebra"}}'},
        {"body": 'sent {"name": "x-api-key", "value": "zebra-1"} to it'},
        {"url": "https://x.example/cb?sig=zebra1234567&page=2"},
        {"dsn": "postgresql://bo:zebra@db/x"},
        {"seed_phrase": "zebra zebra zebra"},
        {"anna.zebra@example.org": 1},
    ],
)
def test_secrets_inside_objects(args: dict[str, Any]) -> None:
    assert "zebra" not in shown("hi", args)[1]


@pytest.mark.parametrize(
    "args",
    [
        {"order_id": "4155550133", "trackingNumber": "9400111899223197428910", "invoice_id": 2025550147},
        {"token_type": "Bearer", "password_changed_at": "2026-08-07", "token_count": 4096, "max_tokens": 512},
        {"name": "reset_password", "description": "Resets the password."},
        {"schema": {"properties": {"password": {"type": "string"}}, "required": ["password", "user"]}},
        {"tags": ["password", "reset"], "sku": "4006381333931", "timestamp": 1712345678901},
    ],
)
def test_what_stays_in_objects(args: dict[str, Any]) -> None:
    assert json.dumps(args, ensure_ascii=False)[1:-1] in shown("hi", args)[1]


def test_values_over_parts_of_a_message() -> None:
    texts = ["card 4111 1111 ", "1111 1111 ok", "phone +44 20 ", "7946 0958"]
    parts = [{"type": "text", "text": text} for text in texts]
    log = {"messages": [{"role": "user", "content": parts}, {"role": "assistant", "content": "x"}]}
    (row,) = evaluated([log], {}).conversations
    assert row["transcript"]["turns"][0]["user"] == "card <CARD_1> ok\nphone <PHONE_1>"


@pytest.mark.parametrize(
    ("redact", "problem"),
    [
        ({"paths": ["tool_calls.*.password"]}, r"tool_calls\.\*\.password"),
        ({"keep": ["tool_calls[0].args.x"]}, r"tool_calls\[0\]"),
        ({"regions": ["XX"]}, "regions: XX"),
        ({"kinds": []}, "nothing would be replaced"),
        ({"paths": ["args.pin"], "keep": ["args.pin"]}, "stands in both"),
    ],
)
def test_a_config_that_would_find_nothing(redact: dict[str, Any], problem: str) -> None:
    with pytest.raises(turnwise.ConfigError, match=problem):
        shown("hi", {}, **redact)


@pytest.mark.parametrize("redact", ["default", ["email"], {}, {"kinds": ["email"]}])
def test_redaction_in_python(redact: Any) -> None:
    """The keyword does what the config's section does, with cases and failures too."""
    mail = "anna@example.org"
    turn = {"user": f"to {mail}", "agent": "x", "expected": {"response": mail}}
    logs = [{"conversation_id": mail, "turns": [turn]}, {"conversation_id": mail, "turns": mail}]
    case = {"eval_id": mail, "turns": [{"user": "Hi", "response": mail}]}
    done = turnwise.evaluate(logs, cases=[case], criteria=CRITERIA, redact=redact, judge="none")
    tables = (done.scores, done.results, done.conversations, done.failures, done.metrics_by_turn)
    assert mail not in str([*map(list, tables), done.summary, done.document, done.problems, done.counts])
    assert done.document["redacted"]["EMAIL"] > 0 and len(done.failures) == 1


@pytest.mark.parametrize(
    ("redact", "problem"),
    [("mails", "mails"), ([], "default"), ({"kindz": []}, "kindz"), (["email", "x"], "x")],
)
def test_a_wrong_redaction_in_python(redact: Any, problem: str) -> None:
    with pytest.raises(turnwise.ConfigError, match=problem):
        turnwise.evaluate([], criteria=CRITERIA, redact=redact, judge="none")


@pytest.mark.parametrize(
    ("cued", "value", "marker"),
    [
        ("my new password: Zebra9911 please", "Zebra9911", "<SECRET_1>"),
        ("passport number X1234567", "X1234567", "<NATIONAL_ID_1>"),
        ("your code PIN is 471199", "471199", "<SECRET_1>"),
        ("the PIN is 4471", "4471", "<SECRET_1>"),
        ("call my phone 1512345678", "1512345678", "<PHONE_1>"),
        ("my ssn is 536221234", "536221234", "<NATIONAL_ID_1>"),
        ("Authorization: Bearer opaque-17-token", "opaque-17-token", "<SECRET_1>"),
        ("postgres://app:geheim!17@db.example.org/x", "geheim!17", "<SECRET_1>"),
    ],
)
def test_a_value_is_repeated_without_its_word(cued: str, value: str, marker: str) -> None:
    """Before the word as well as after it, in the same text, in arguments and as a number."""
    number = {"n": int(value)} if value.isdigit() else {}
    call = {"name": "save", "args": {"note": value, **number}}
    turns = transcript(
        {"user": f"is it {value}?", "agent": "Tell me."},
        {"user": f"{cued}, {value}", "agent": f"It is now {value}.", "tool_calls": [call]},
    )
    assert turns[0]["user"] == f"is it {marker}?" and turns[1]["agent"] == f"It is now {marker}."
    assert value not in json.dumps(turns) and turns[1]["user"].endswith(f", {marker}")
    assert set(turns[1]["tool_calls"][0]["args"].values()) == {marker}


@pytest.mark.parametrize(
    ("cued", "text"),
    [
        ("my password: zebra", "a zebra is striped"),
        ("the PIN is 471199", "order A471199-B"),
        ("my CVV is 123", "123 items"),
        ("the PIN is 4471", "4471 USD, $4471, 4,471.00, order 4471, 12:4471, 144710"),
        ("the PIN is 1984", "a book of 1984"),
    ],
)
def test_what_is_like_a_value_of_a_word(cued: str, text: str) -> None:
    assert transcript({"user": cued, "agent": text})[0]["agent"] == text


@pytest.mark.parametrize(
    ("store", "host"),
    [
        ("postgresql://app:***@10.0.0.7:5432/evals", "10.0.0.7"),
        ("postgresql://jo@db.example.org/evals", "db.example.org"),
        ("sqlite:////data/jo@example.org/s.db", "/data/jo@example.org/s.db"),
    ],
)
def test_problems_name_the_store(store: str, host: str) -> None:
    """As it was typed, so that it can be mended."""
    problem = f"--store {store}: no connection to {host}, row of kim@example.org from 10.9.8.7"
    done = redact_document({"store": store, "problems": [problem]}, RedactConfig())
    shown, _, row = done["problems"][0].partition(", row of ")
    assert shown == problem.partition(", row of ")[0] and "kim@" not in row and "10.9" not in row


def test_a_pin_and_the_number_of_a_thing() -> None:
    args = {"pin": "4471", "code": 4471, "amount": 4471, "order_id": "4471", "note": "2024-4471 or 144710"}
    call = {"name": "pay", "args": args}
    done = transcript({"user": "x", "agent": "y", "tool_calls": [call]})[0]["tool_calls"][0]["args"]
    assert done == args | {"pin": "<SECRET_1>", "code": "<SECRET_1>"}


@pytest.mark.parametrize(
    ("plain", "text", "shown"),
    [
        ("my mobile: 555-0123", "5550123, so 555-0123?", "<PHONE_1>, so <PHONE_1>?"),
        (ZHANG, "请发到zhang@example.com或者li@example.cn。", "请发到<EMAIL_1>或者<EMAIL_2>。"),
        (ZHANG, "メールはzhang@example.comです", "メールは<EMAIL_1>です"),
        (ZHANG, "メール：zhang@example.com", "メール：<EMAIL_1>"),
    ],
)
def test_a_value_that_is_written_in_another_way(plain: str, text: str, shown: str) -> None:
    """An address that is glued to words is the same as that between spaces."""
    assert transcript({"user": plain, "agent": text})[0]["agent"] == shown


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ("is it kim.canary@exa… ?", "kim.canary@example.org", "is it <EMAIL_1>… ?"),
        ("Card 4111 1111 11...", "4111 1111 1111 1111", "Card <CARD_1>..."),
        ("+49 170 55... hm", "+49 170 5550123", "<PHONE_1>... hm"),
    ],
)
def test_a_value_that_is_shortened_before_it_is_whole(before: str, after: str, shown: str) -> None:
    done = transcript({"user": before, "agent": f"{before} {after}"}, {"user": after, "agent": before})
    marker = done[1]["user"]
    assert done[0]["user"] == done[1]["agent"] == shown and marker in shown
    assert done[0]["agent"] == f"{shown} {marker}"


@pytest.mark.parametrize(
    ("redact", "versions", "marked"),
    [
        ({}, ("v-kim@example.org", "1.2.3.4", "20240917123", "1.0"), {"v-kim@example.org"}),
        ({"patterns": {"T": "t[0-9]"}}, ("t1", "t2", "1.2.3"), {"t1", "t2"}),
        ({"paths": ["app_version"]}, ("a", "b"), {"a", "b"}),
    ],
)
def test_an_app_version(redact: dict[str, Any], versions: tuple[str, ...], marked: set[str]) -> None:
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
    assert {*versions} - shown[0] == marked


def test_a_value_in_the_name_of_a_tool() -> None:
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
def test_measured_numbers_stay(redact: dict[str, Any]) -> None:
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


def test_a_phone_number_in_json_is_one_wherever_it_stands() -> None:
    """In details of arguments as well, under a key around it, in a list, and not in ids of tables."""

    def call(last: int) -> dict[str, Any]:
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


@pytest.mark.parametrize(
    ("expected", "actual"),
    [({"cvv": 124}, {"cvv": 123}), ({"cvv": "124"}, {}), ({"pin": 124}, {"pin": 12}),
     ({"password": "fox zebra"}, {"password": "zebra"}), ({"password": "zyx"}, {"password": "zebra"})],
)  # fmt: skip
def test_both_values_of_a_wrong_argument(expected: dict[str, Any], actual: dict[str, Any]) -> None:
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
