"""Texts as arguments: the same passes, a different one fails, an unclear one has no score without a judge."""

import json
from pathlib import Path

import pytest

import turnwise

REPORTED = Path(__file__).parents[3] / "../shared/fixtures/reported/scoring/text_arguments.jsonl"
TEXTS = [
    ("body", "Ihr Termin ist am Montag um 15 Uhr.", "Ihr Termin ist am Dienstag um 15 Uhr.", "FAIL"),
    ("body", "Der Betrag von 1.000 EUR ist fällig.", "Der Betrag von 1000 EUR ist fällig.", "PASS"),
    ("note", "fix the login bug in version 2.1", "fix the login bug in version 2.10", "FAIL"),
    ("text", "Your balance is -50 EUR right now.", "Your balance is 50 EUR right now.", "FAIL"),
    ("text", "transfer money from Alice to Bob", "transfer money from Bob to Alice", None),
    ("text", "increase the dose by 5 mg", "decrease the dose by 5 mg", None),
    ("body", "All tickets have been refunded.", "None of the tickets have been refunded.", "FAIL"),
    ("text", "The user can log in to the app", "The user can't log in to the app", "FAIL"),
    ("text", "用户不能登录应用程序了", "用户能登录应用程序了", "FAIL"),
    (
        "body",
        "Ihre Rückerstattung von 49,90 € kommt bis Freitag an.",
        "Ihre Rückerstattung von 94,90 € kommt bis Freitag an.",
        "FAIL",
    ),
    (
        "note",
        "Der Kunde ist nicht gegen Penicillin allergisch und nimmt es.",
        "Der Kunde ist gegen Penicillin allergisch und nimmt es.",
        "FAIL",
    ),
    (
        "text",
        "Bitte nehmen Sie zwei Tabletten nach dem Essen ein.",
        "Bitte nehmen Sie zwölf Tabletten nach dem Essen ein.",
        "FAIL",
    ),
    (
        "message",
        "회의는 오후 3시에 2층 회의실에서 시작합니다.",
        "회의는 오후 5시에 2층 회의실에서 시작합니다.",
        "FAIL",
    ),
    (
        "message",
        "고객님의 주문은 내일까지 배송될 예정입니다.",
        "고객님의 주문은 내일까지 배송되지 않을 예정입니다.",
        "FAIL",
    ),
    ("message", "会議は3月5日の午後2時から始まります。", "会議は3月8日の午後2時から始まります。", "FAIL"),
    ("message", "この薬は食後に飲んでください。", "この薬は食後に飲まないでください。", "FAIL"),
    (
        "body",
        "send the invoice to billing@acme.com before the end of the month",
        "send the invoice to sales@acme.com before the end of the month",
        "FAIL",
    ),
    (
        "body",
        "please transfer the money to Alice before the end of the day",
        "please transfer the money to Bob before the end of the day",
        "FAIL",
    ),
    ("cmd", "git push origin main", "git push origin main --force", "FAIL"),
    ("script", "for f in *.txt; do rm $f; done", "for f in *; do rm $f; done", "FAIL"),
    ("url", "https://example.com/a?x=1", "https://example.com/a?x=2", "FAIL"),
    ("path", "/home/user/My Documents/report.txt", "/home/user/my documents/report.txt", "FAIL"),
    (
        "body",
        "we will refund 100 USD to your card within a few days",
        "we will refund 100 EUR to your card within a few days",
        "FAIL",
    ),
    (
        "note",
        "the discount is 15% for all new members this year",
        "the discount is 50% for all new members this year",
        "FAIL",
    ),
    (
        "message",
        "le rendez-vous est confirmé pour le 12 mai à 10 h",
        "le rendez-vous est confirmé pour le 21 mai à 10 h",
        "FAIL",
    ),
    (
        "message",
        "le patient n'est pas allergique à la pénicilline depuis son enfance",
        "le patient est allergique à la pénicilline depuis son enfance",
        "FAIL",
    ),
    (
        "message",
        "no envíe el paquete a la dirección antigua",
        "envíe el paquete a la dirección antigua",
        "FAIL",
    ),
    ("message", "订单号 12345 的退款将在三天内到账", "订单号 12345 的退款将在七天内到账", "FAIL"),
    ("code", "def f(x): return x + 1", "def f(x): return x - 1", "FAIL"),
    ("query", "select name from users where age > 30", "select name from users where age < 30", "FAIL"),
    ("formula", "a + b * c", "a + b / c", "FAIL"),
    ("body", "Ihre Rückerstattung kommt bis Freitag an.", "ihre rückerstattung kommt bis freitag an", "PASS"),
    ("note", "The customer wants a refund of $100.", "the customer wants a refund of 100 USD", "PASS"),
    ("note", "the meeting is on May 20, 2024 in room four", "the meeting is on 2024-05-20 in room 4", "PASS"),
    ("message", "회의는 오후 3시에 시작합니다.", "회의는  오후 3시에 시작합니다", "PASS"),
    ("message", "この薬は食後に飲んでください。", "この薬は食後に飲んでください", "PASS"),
    ("note", "call the customer back tomorrow morning", "Call customer back tomorrow morning!", "PASS"),
    ("cmd", "rm -rf build", "rm  -rf   build", "PASS"),
    ("note", "Refund sent today.", "refund sent today", "PASS"),
    (
        "message",
        "le rendez-vous est confirmé pour demain matin",
        "Rendez-vous est confirmé pour demain matin.",
        "PASS",
    ),
    ("note", "the “premium” plan starts next month", "The premium plan starts next month", "PASS"),
    ("reason", "change of plans", "plans have changed", None),
    (
        "reason",
        "der Kunde möchte die Bestellung nicht mehr haben",
        "der Kunde hat kein Interesse an der Bestellung",
        None,
    ),
    ("reason", "고객이 여행 계획을 변경했습니다", "고객의 여행 일정이 바뀌었어요", None),
    ("reason", "お客様のご都合により予約を取り消します", "都合が悪くなったので予約をキャンセルする", None),
    (
        "summary",
        "customer asks for a cheaper plan with more data",
        "user would like more data at a lower price",
        None,
    ),
    ("body", "Your order has shipped and will arrive soon.", "Good news: your order is on its way!", None),
]


def held_against(tool, expected, made, **fields):
    turn = {"user": "u", "agent": "a", "tool_calls": [{"name": tool, "args": made}]}
    actions = {"actions": [{"name": tool, "args": expected}]}
    log = {"conversation_id": "c1", "turns": [turn], "expected": actions}
    return turnwise.evaluate(log, criteria={"tool_effects_v1": fields})


@pytest.mark.parametrize(("name", "expected", "made", "status"), TEXTS)
def test_a_text_is_the_same_different_or_unclear(name, expected, made, status):
    result = held_against("send_update", {name: expected, "to": "U1"}, {name: made, "to": "U1"})
    assert result.status == status
    (score,) = result.scores
    if status is None:
        assert score["value"] is None
        assert score["reason"].startswith(f"the wording of {name} of send_update differs")
        assert score["details"]["unclear"] == [f"{name} of send_update"]


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
    assert "id is R2 instead of R1" in result.scores[0]["explanation"]


def test_wording_is_ignored_where_the_config_says_so_and_named():
    (score,) = held_against("cancel_trip", {"reason": NOTE}, {"reason": OTHER}, prose="ignore").scores
    assert (score["value"], score["outcome"]) == (1.0, "PASS")
    assert score["details"]["not_compared"] == ["reason of cancel_trip"]
    assert "Wording not compared: reason of cancel_trip." in score["explanation"]
    command = held_against(
        "update_build", {"command": "rm -rf build && make"}, {"command": "rm -rf / && make"}, prose="ignore"
    )
    assert command.status == "FAIL"


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
    ("expected", "made", "status"),
    [(NOTE, "", "FAIL"), (NOTE, None, "FAIL"), ("", NOTE, "FAIL"), (None, NOTE, None), (None, "", "PASS")],
)
def test_an_empty_text_is_no_other_wording(expected, made, status):
    assert held_against("send_update", {"body": expected}, {"body": made}).status == status


def test_texts_inside_lists_and_objects():
    expected = {"items": [{"note": NOTE, "n": 1}, {"note": "keep it cold at all times", "n": 2}]}
    same = {"items": [{"note": "Keep it cold at all times!", "n": 2}, {"note": NOTE, "n": 1}]}
    unclear = {"items": [{"note": OTHER, "n": 1}, {"note": "keep it cold at all times", "n": 2}]}
    assert held_against("update_order", expected, same).status == "PASS"
    assert held_against("update_order", expected, unclear).status is None


@pytest.mark.parametrize(("stored", "status"), [(NOTE.upper(), "PASS"), (OTHER, None), ("", "FAIL")])
def test_texts_in_the_session_state(stored, status):
    log = {"conversation_id": "c1", "turns": [{"user": "u", "agent": "a"}], "state": {"note": stored}}
    log["expected"] = {"final_session_state": {"note": NOTE}}
    assert turnwise.evaluate(log, criteria={"final_state_v1": 1.0}).status == status
