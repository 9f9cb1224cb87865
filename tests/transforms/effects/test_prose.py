"""Texts as arguments: the same passes, a different one fails, an unclear one has no score without a judge."""

import json
from pathlib import Path

import pytest

import turnwise
from turnwise.transforms.matching.calls import plain_text

REPORTED = Path(__file__).parents[3] / "../shared/fixtures/reported/scoring/text_arguments.jsonl"
TEXTS = [
    ("body", "Ihr Termin ist am Montag um 15 Uhr.", "Ihr Termin ist am Dienstag um 15 Uhr.", "FAIL"),
    ("note", "fix the login bug in version 2.1", "fix the login bug in version 2.10", "FAIL"),
    ("text", "用户不能登录应用程序了", "用户能登录应用程序了", "FAIL"),
    ("message", "会議は3月5日の午後2時から始まります。", "会議は3月8日の午後2時から始まります。", "FAIL"),
    ("script", "for f in *.txt; do rm $f; done", "for f in *; do rm $f; done", "FAIL"),
    ("path", "/home/user/My Documents/report.txt", "/home/user/my documents/report.txt", "FAIL"),
    ("message", "订单号 12345 的退款将在三天内到账", "订单号 12345 的退款将在七天内到账", "FAIL"),
    ("formula", "a + b * c", "a + b / c", "FAIL"),
    ("note", "the meeting is on May 20, 2024 in room four", "the meeting is on 2024-05-20 in room 4", "PASS"),
    ("message", "この薬は食後に飲んでください。", "この薬は食後に飲んでください", "PASS"),
    ("cmd", "rm -rf build", "rm  -rf   build", "PASS"),
    ("note", "Refund sent today.", "refund sent today", "PASS"),
    ("reason", "change of plans", "plans have changed", None),
    ("reason", "고객이 여행 계획을 변경했습니다", "고객의 여행 일정이 바뀌었어요", None),
    ("reason", "お客様のご都合により予約を取り消します", "都合が悪くなったので予約をキャンセルする", None),
    ("note", "식사 후에 두 알을 물과 함께 복용하세요", "식사 후에 스무 알을 물과 함께 복용하세요", "FAIL"),
    ("note", "계좌로 10만 원을 보내 주시기 바랍니다", "계좌로 100만 원을 보내 주시기 바랍니다", "FAIL"),
    ("note", "口座に一万円を振り込んでください", "口座に百万円を振り込んでください", "FAIL"),
    ("note", "患者はペニシリンにアレルギーがあります", "患者はペニシリンにアレルギーがありません", "FAIL"),
    ("message", "请不要取消我的订单谢谢您", "请取消我的订单谢谢您", "FAIL"),
    ("message", "de klant wil de bestelling niet annuleren", "de klant wil de bestelling annuleren", "FAIL"),
    ("command", "rm -rf build and then make all", "rm -rf / and then make all", "FAIL"),
    ("run", "cp notes.txt backup.txt", "cp backup.txt notes.txt", "FAIL"),
    ("run", "kill 123", "kill 132", "FAIL"),
    ("body", "Your refund is on its way to your bank account.", "...", "FAIL"),
    ("note", "the customer may (not) enter the building", "the customer may enter the building", "FAIL"),
    ("note", "there is one guest in the room tonight", "there are two guests in the room tonight", "FAIL"),
    ("body", "wake me at 7 am tomorrow morning please", "wake me at 7 pm tomorrow morning please", "FAIL"),
    ("note", "do not pay", "pay", "FAIL"),
    ("note", "refund denied", "refund approved", "FAIL"),
    ("note", "no longer needed", "ordered by mistake", "FAIL"),
    ("color", "black leather shoes", "brown leather shoes", "FAIL"),
    ("answer", "I agree to the terms of the contract", "I do not agree to the terms of the contract", "FAIL"),
    ("note", "毎日2回、食後に飲む", "毎日3回、食後に飲む", "FAIL"),
    ("note", "예약을 취소하지 마세요 부탁드립니다", "예약을 취소하세요 부탁드립니다", "FAIL"),
    ("command", "sudo systemctl stop nginx", "sudo systemctl start nginx", "FAIL"),
    ("cmd", "ls", "rm", "FAIL"),
    ("note", "call my son about the bill tomorrow", "call about the bill tomorrow", None),
    ("note", "let the plant in the office die", "let the plant in the office", None),
    ("note", "rename user_name in the file", "rename user name in the file", None),
    ("note", "turn the heating of the office on tonight", "turn the heating of the office off tonight", None),
    ("note", "東京から大阪へ荷物を送ってください", "大阪から東京へ荷物を送ってください", None),
    ("note", "the patient takes aspirin in the morning", "the patient takes morphine in the morning", None),
    ("query", "SELECT a FROM t WHERE b = 'x'", "SELECT a FROM t WHERE b = 'X'", "FAIL"),
    ("code", "if a:\n    b()\nc()", "if a:\n    b()\n    c()", None),
    ("date", "05/20/2024", "2024-05-20", "PASS"),
    ("note", "N/A", "n/a", "PASS"),
    ("note", "take twenty-one drops with the water", "take 21 drops with the water", "PASS"),
    ("note", "we will pay two hundred dollars to the customer", "we will pay $200 to the customer", "PASS"),
    ("note", "返金は３日以内に行われます", "返金は3日以内に行われます", "PASS"),
    ("note", "두 알을 식사 후에 복용하세요", "2 알을 식사 후에 복용하세요", "PASS"),
    ("note", "請在三天內付款給客戶謝謝", "請在3天內付款給客戶謝謝", "PASS"),
    ("note", "Refund 100 USD", "refund $100", "PASS"),
    ("body", "안녕하세요. 회의는 세 시에 시작합니다.", "안녕하세요 회의는 3시에 시작합니다", "PASS"),
    ("note", "the meeting starts at 9:00 am in room 5", "the meeting starts at 9 AM in room five", "PASS"),
    ("city", "São Paulo", "são paulo", "PASS"),
    ("amount", "1,000", "1000", "PASS"),
    ("path", "/home/user/a.txt", " /home/user/a.txt", "PASS"),
    ("command", "turn on the light in the kitchen", "switch the kitchen light on", None),
    ("note", "the device does not work", "the device is defective and must be replaced", None),
    ("note", "order ORD-12345 arrived with a broken screen", "the screen of order 12345 was broken", None),
    ("note", "물건이 도착하지 않았습니다", "배송된 상품을 아직 받지 못했어요", None),
    ("note", "the customer wants to cancel the order", "der Kunde möchte die Bestellung stornieren", None),
    ("note", "screen is broken", "the display has a crack and does not light up", None),
    ("query", "select a from t where b=5", "SELECT a FROM t WHERE b = 5", None),
    ("note", "delivery was two days late", "delivery came 48 hours late", None),
    ("note", "the user said 'cancel it' and hung up/left", "caller asked to cancel and hung up", None),
    ("note", "the bill isn't correct", "the bill is wrong", None),
    ("note", "배송이 너무 늦어서 취소합니다", "배송 지연으로 인한 취소 요청", None),
    ("note", "find a cheaper flight (if possible)", "look for a flight that costs less", None),
    ("note", "customer wants either A or B", "customer would like A or else B", None),
    ("reason", "flight delay", "delayed flight", None),
    ("reason", "flight cancellation", "cancelled flight", None),
    ("reason", "delayed flight", "cancelled flight", "FAIL"),
    ("method", "credit card", "gift card", "FAIL"),
    ("note", "Pay $5; then call me.", "pay $5, then call me", "PASS"),
    ("note", "check the bill; pay; call back", "check the bill, pay, call back", "PASS"),
    ("note", "Buy $AAPL & $MSFT now", "buy $AAPL and $MSFT now", None),
    ("text", "Tom & Jerry", "tom & jerry", "PASS"),
    ("run", "echo $HOME; ls", "echo $HOME, ls", "FAIL"),
    ("code", "x = 5; y = 6;", "x = 5, y = 6;", "FAIL"),
    ("note", "we meet on 2024-05-06 in room four", "we meet on 05/06/2024 in room four", None),
    ("note", "we meet on 2024-05-16 in room four", "we meet on 16/05/2024 in room four", "PASS"),
    ("note", "we meet on 2024-07-06 in room four", "we meet on 05/06/2024 in room four", "FAIL"),
    ("note", "please call +49 30 1234567 tomorrow", "please call +493012 34567 tomorrow", "PASS"),
    ("note", "please call +49 30 1234567 tomorrow", "please call +49 30 1234568 tomorrow", "FAIL"),
    ("note", "the order was cancelled", "the order was canceled", "PASS"),
    (
        "note",
        "please organise the neighbours' travelling",
        "please organize the neighbors' traveling",
        "PASS",
    ),
    ("note", "see Dr. Smith in 5 Main St. on Monday", "see Doctor Smith in 5 Main St. on Monday", "PASS"),
    ("note", "wait 5-10 minutes before you call", "wait 5 to 10 minutes before you call", "PASS"),
    ("note", "wait 5-10 minutes before you call", "wait 5 to 12 minutes before you call", "FAIL"),
    ("note", "order #W-123 arrived with a broken screen", "order W123 arrived with a broken screen", "PASS"),
    ("note", "order #W-123 arrived with a broken screen", "order W124 arrived with a broken screen", "FAIL"),
    ("note", "the flight takes one and a half hours", "the flight takes 1.5 hours", "PASS"),
    ("note", "zweieinhalb Liter Wasser dazugeben", "2,5 Liter Wasser dazugeben", "PASS"),
    ("note", "Termin am 05.06.2024 um 14 Uhr", "Termin am 5. Juni 2024 um 14:00 Uhr", "PASS"),
    ("note", "attendre deux heures et demie", "attendre 2 heures", None),
    ("note", "la cita es el 5 de mayo de 2024", "la cita es el 2024-05-05", "PASS"),
    ("note", "el reembolso de 1.250,50 € fue aprobado", "el reembolso de 1250,50 EUR fue aprobado", "PASS"),
    ("note", "電話番号は03-1234-5678です", "電話番号は0312345678です", "PASS"),
    ("note", "会議は3月5日午後2時です", "会議は3月5日午前2時です", "FAIL"),
    ("note", "会議は3月5日午後2時です", "会議は3月5日14時です", "PASS"),
    ("note", "회의는 3월 5일 오후 2시입니다", "회의는 3월 5일 14시입니다", "PASS"),
    ("note", "返金は5,000円です", "返金は5000円です", "PASS"),
    ("note", "dose 1,000 units daily for him", "dose 1.000 units daily for him", None),
    ("note", "dose 1 unit daily for him", "dose 1000 unit daily for him", "FAIL"),
    ("duration", "2 days", "48 hours", "PASS"),
    ("option", "-v", "-V", "FAIL"),
    ("code", "i++;", "I++;", "FAIL"),
    ("note", "meet on 05.06.2024 14:00 in room 5", "meet on 5 June 2024 14:00 in room 5", "PASS"),
    ("note", "pay EUR-50 to the shop", "pay EUR50 to the shop", "FAIL"),
    ("column", "userName", "username", "FAIL"),
    ("user_name", "userName", "username", None),
    ("country", "NO", False, None),
    ("location", [52.5, 13.4], [13.4, 52.5], None),
    ("steps", ["peel", "cook"], ["cook", "peel"], "FAIL"),
    ("steps", ["open the lid", "turn off the power"], ["turn off the power", "open the lid"], None),
    ("data", '{"a": 1, "a": 2}', '{"a": 2}', "FAIL"),
    ("reason", "Flugverspätung", "verspäteter Flug", None),
    ("date", "5. Mai", "05.05.2026", None),
    ("date", "May 5", "May 5 at 3 pm", None),
    ("note", "call between 10:00-11:00 please", "call between 10:00–11:00 please", "PASS"),
    ("note", "call between 10:00-11:00 please", "call between 10:00-12:00 please", "FAIL"),
    ("note", "la réunion est à 14h30 demain", "la réunion est à 14:30 demain", "PASS"),
    ("note", "send München the papers please", "send Munchen the papers please", None),
    ("note", "please call me at noon tomorrow", "please call me at 12:00 tomorrow", "PASS"),
    ("password", "pass-word", "pass–word", None),
    ("id", "LH-452", "LH\u2011452", "PASS"),
    ("ids", "A1,A2", "A1, A2", "PASS"),
    ("path", "/a/b-c.txt", "/a/b\u2011c.txt", None),
    ("note", "the ticket is non-refundable today", "the ticket is non\u2011refundable today", "PASS"),
    ("note", "Der Hund beißt den Mann", "Den Hund beißt der Mann", None),
    ("note", "Dem Lehrer gab das Kind ein Buch", "Der Lehrer gab dem Kind ein Buch", None),
    ("note", "ruf den Kunden morgen bitte an", "ruf Kunden morgen bitte an", "PASS"),
    *((name, ["a", "b"], ["b", "a"], None) for name in ("itinerary", "from_to", "sort_by", "stops", "pair")),
    ("bbox", ["1", "2"], ["2", "1"], None),
    *((name, ["a", "b"], ["b", "a"], "PASS") for name in ("tags", "to", "people", "order_ids")),
]


def held_against(tool, expected, made, judge="none", **fields):
    turn = {"user": "u", "agent": "a", "tool_calls": [{"name": tool, "args": made}]}
    actions = {"actions": [{"name": tool, "args": expected}]}
    log = {"conversation_id": "c1", "turns": [turn], "expected": actions}
    return turnwise.evaluate(log, criteria={"tool_effects_v1": fields}, judge=judge)


@pytest.mark.parametrize(("name", "expected", "made", "status"), TEXTS)
def test_a_text_is_the_same_different_or_unclear(name, expected, made, status):
    result = held_against("send_update", {name: expected, "to": "U1"}, {name: made, "to": "U1"})
    assert result.status == status
    (score,) = result.scores
    if status is None:
        assert score["value"] is None
        assert score["reason"].startswith(f"the wording of {name} of send_update differs")
        assert score["details"]["not_compared"] == [f"{name} of send_update"]
        assert score["details"]["unclear"] == [
            {"name": f"{name} of send_update", "expected": plain_text(expected), "actual": plain_text(made)}
        ]
        assert f"Wording not compared: {name} of send_update." in score["explanation"]


def test_texts_that_were_reported():
    if not REPORTED.is_file():
        pytest.skip("without the fixtures")
    for line in REPORTED.read_text().splitlines():
        case = json.loads(line)
        status = held_against(case["tool"], case["expected"], case["made"]).status
        assert status in {"different": ("FAIL", None), "same": ("PASS",), "unclear": (None,)}.get(
            case["text_is"], ("PASS", None)
        ), case


NOTE = "the customer changed their plans for the trip"
OTHER = "the user no longer wants to travel at that time"


def test_what_else_fails_a_conversation_fails_it_although_a_wording_is_unclear():
    expected, made = {"id": "R1", "reason": NOTE}, {"id": "R2", "reason": OTHER}
    result = held_against("cancel_reservation", expected, made)
    assert result.status == "FAIL"
    assert "id is R2 instead of R1. Wording not compared: reason of" in result.scores[0]["explanation"]


def test_wording_is_ignored_where_the_config_says_so_and_named():
    (score,) = held_against("cancel_trip", {"reason": NOTE}, {"reason": OTHER}, prose="ignore").scores
    assert (score["value"], score["outcome"]) == (1.0, "PASS")
    assert score["details"]["not_compared"] == ["reason of cancel_trip"]
    assert "Wording not compared: reason of cancel_trip." in score["explanation"]
    command = held_against(
        "update_build", {"command": "rm -rf build && make"}, {"command": "rm -rf / && make"}, prose="ignore"
    )
    assert command.status == "FAIL"


@pytest.mark.parametrize(
    ("made", "status"), [(lambda n: f"{OTHER} in week {n}", None), (lambda _: "", "FAIL")]
)
def test_of_more_texts_than_can_be_compared_the_wording_is_open(made, status):
    sides = [
        [{"name": "create_note", "args": {"v": text(n)}} for n in range(120)]
        for text in (lambda n: f"{NOTE} in week {n}", made)
    ]
    turn = {"user": "u", "agent": "a", "tool_calls": sides[1]}
    log = {"conversation_id": "c1", "turns": [turn], "expected": {"actions": sides[0]}}
    assert turnwise.evaluate(log, criteria={"tool_effects_v1": {}}, judge="none").status == status


def test_a_matcher_decides_in_place_of_the_wording():
    matchers = {"cancel_trip": {"reason": "ignore"}}
    expected, made = {"reason": NOTE}, {"reason": OTHER}
    assert held_against("cancel_trip", expected, made, argument_matchers=matchers).status == "PASS"
    semantic = {"reason": {"$matchType": "semantic", "$matchValue": NOTE}}
    assert held_against("cancel_trip", semantic, made).status is None


def test_texts_of_hand_offs_are_for_a_person_and_named():
    (score,) = held_against("transfer_to_human", {"summary": NOTE}, {"summary": OTHER}).scores
    assert score["outcome"] == "PASS"
    assert score["details"]["not_compared"] == ["summary of transfer_to_human"]


@pytest.mark.parametrize(
    ("expected", "made"),
    [
        ("the customer wants 100 EUR back for order A17", "the customer wants 900 EUR back for order A17"),
        ("the patient is allergic to penicillin", "the patient is not allergic to penicillin"),
        ("the patient is allergic to penicillin", ""),
    ],
)
def test_a_hand_off_that_says_the_contrary_is_another_one(expected, made):
    assert held_against("transfer_to_human", {"summary": expected}, {"summary": made}).status == "FAIL"


def judge_that_says(verdict, asked):
    async def ask(question, samples):
        asked.append(question.prompt)
        verdicts = [
            {"number": number, "quote": "", "reason": "because", "verdict": verdict} for number in range(1, 9)
        ]
        reply = None if verdict is None else question.reply_model.model_validate({"verdicts": verdicts})
        return [turnwise.JudgeSample(reply, reason="it is down", model="m") for _ in samples]

    return turnwise.JudgeKind(name="teller", help="says one thing", answer=lambda: ask)


@pytest.mark.parametrize(("verdict", "status"), [("yes", "PASS"), ("no", "FAIL"), (None, None)])
@pytest.mark.parametrize("wanted", [NOTE, {"$matchType": "semantic", "$matchValue": NOTE}])
@pytest.mark.parametrize("by_turn", [False, True])
def test_a_judge_compares_what_is_open(verdict, status, wanted, by_turn):
    asked, calls = [], [[{"name": "send_update", "args": {"n": 1, "body": body}}] for body in (wanted, OTHER)]
    turn = {"user": "u", "agent": "a", "tool_calls": calls[1]}
    log = {"conversation_id": "c1", "turns": [turn]}
    (turn if by_turn else log)["expected"] = {"tool_calls" if by_turn else "actions": calls[0]}
    judge = judge_that_says(verdict, asked)
    result = turnwise.evaluate(log, criteria={"tool_effects_v1": {}}, judge=judge)
    assert result.status == status
    (prompt,) = set(asked)
    assert NOTE in prompt.evidence and OTHER in prompt.evidence
    (overall,) = (score for score in result.scores if score["turn_index"] is None)
    assert overall["judge"]["samples"] == len(asked)
    assert overall["details"]["judged"][0]["name"] == "body of send_update"
    if status is None:
        assert overall["reason"].endswith("the judge: it is down")


JUDGED = {"final_response_match_v2": 0.5}


@pytest.mark.parametrize(
    ("config", "named", "status"),
    [
        ({}, None, None),
        ({}, "finder", "PASS"),
        ({"judge": {"model": "m"}}, None, "PASS"),
        ({"criteria": {"tool_effects_v1": 1.0, **JUDGED}}, None, "PASS"),
    ],
)
@pytest.mark.usefixtures("unchanged")
def test_a_judge_that_only_has_credentials_gets_no_texts(config, named, status):
    """Credentials in the environment are no consent: it is named, or a judged criterion is configured."""
    asked, args = [], [{"n": 1, "body": body} for body in (NOTE, OTHER)]
    kind = judge_that_says("yes", asked)
    found = turnwise.JudgeKind(name="finder", help="", answer=kind.answer, is_available=lambda *_: True)
    turnwise.register_judge(found)
    log = {"conversation_id": "c1", "turns": [{"user": "u", "agent": "a"}]}
    log["turns"][0]["tool_calls"] = [{"name": "send_update", "args": args[1]}]
    log["expected"] = {"actions": [{"name": "send_update", "args": args[0]}]}
    whole = {"criteria": {"tool_effects_v1": 1.0}} | config
    result = turnwise.evaluate(log, config=whole, judge=named)
    (score,) = (s for s in result.scores if s["criterion"] == "tool_effects_v1" and s["turn_index"] is None)
    assert (score["outcome"], bool(asked)) == (status, status is not None)
    if status is None:
        wanted = "the wording of body of send_update differs: name a judge (`--judge`) or state a matcher"
        assert score["reason"] == wanted


@pytest.mark.parametrize(
    ("expected", "made"), [(NOTE, NOTE), ("pay 5 EUR to the shop today", "pay 9 EUR to the shop today")]
)
def test_a_judge_is_not_asked_about_what_is_certain(expected, made):
    asked = []
    teller = judge_that_says("yes", asked)
    for args in ({"n": 1, "body": made}, {"n": 2, "body": OTHER}):
        held_against("send_update", {"n": 1, "body": expected}, args, teller)
    assert not asked


@pytest.mark.parametrize(
    ("expected", "made", "status"),
    [(NOTE, "", "FAIL"), ("", NOTE, "FAIL"), (None, NOTE, None), (None, "", "PASS")],
)
def test_an_empty_text_is_no_other_wording(expected, made, status):
    assert held_against("send_update", {"body": expected}, {"body": made}).status == status


def test_texts_inside_lists_and_objects():
    expected = {"items": [{"note": NOTE, "n": 1}, {"note": "keep it cold at all times", "n": 2}]}
    same = {"items": [{"note": "Keep it cold at all times!", "n": 2}, {"note": NOTE, "n": 1}]}
    unclear = {"items": [{"note": OTHER, "n": 1}, {"note": "keep it cold at all times", "n": 2}]}
    assert held_against("update_order", expected, same).status == "PASS"
    assert held_against("update_order", expected, unclear).status is None


LEG = {"flight": "HAT1", "seats": 2}
OBJECTS = [
    # expected, made, status without a judge, and with one that says yes
    (LEG, {**LEG, "from": "EWR"}, None, "PASS"),
    ([LEG, {"flight": "HAT2"}], [{"flight": "HAT2", "seats": 1}, LEG], None, "PASS"),
    ([LEG], [{**LEG, "from": "EWR"}], "PASS", "PASS"),
    ([LEG], [{**LEG, "action": "delete"}], None, "PASS"),
    ([LEG], [{**LEG, "action": "DELETE"}], None, "PASS"),
    ([{**LEG, "action": "keep"}], [{**LEG, "action": "delete"}], "FAIL", "FAIL"),
    ([LEG], [{**LEG, "note": "please keep a seat at the window"}], None, "PASS"),
    ({**LEG, "from": None}, LEG, "PASS", "PASS"),
    (LEG, {"flight": "HAT1"}, "FAIL", "FAIL"),
]


@pytest.mark.parametrize(("expected", "made", "status", "judged"), OBJECTS)
def test_keys_of_objects_that_are_not_expected_are_unclear(expected, made, status, judged):
    expected, made = {"id": 7, "what": expected}, {"id": 7, "what": made}
    assert held_against("update_trip", expected, made).status == status
    assert held_against("update_trip", expected, made, judge_that_says("yes", [])).status == judged
    assert held_against("update_trip", expected, made, prose="ignore").status == judged


@pytest.mark.parametrize(("stored", "status"), [(NOTE.upper(), "PASS"), (OTHER, None), ("", "FAIL")])
def test_texts_in_the_session_state(stored, status):
    log = {"conversation_id": "c1", "turns": [{"user": "u", "agent": "a"}], "state": {"note": stored}}
    log["expected"] = {"final_session_state": {"note": NOTE}}
    assert turnwise.evaluate(log, criteria={"final_state_v1": 1.0}, judge="none").status == status
    judged = turnwise.evaluate(log, criteria={"final_state_v1": 1.0}, judge=judge_that_says("yes", []))
    assert judged.status == (status or "PASS")


@pytest.mark.parametrize(
    ("name", "expected", "made", "status"),
    [
        ("paths", ["/home/A/x"], ["/home/a/x"], "FAIL"),
        ("command", ["cp", "a", "b"], ["cp", "b", "a"], "FAIL"),
        ("tags", ["a", "b"], ["b", "a"], "PASS"),
        ("token", "AbC", "aBc", "FAIL"),
        ("python_version", "3.10", "3.1", "FAIL"),
    ],
)
def test_lists_secrets_and_versions(name, expected, made, status):
    assert held_against("send_update", {name: expected}, {name: made}).status == status
