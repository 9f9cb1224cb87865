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
OTHER_VALUES = [
    (
        "note",
        "take 500 mg of the medicine every day at noon",
        "take 500 g of the medicine every day at noon",
        "FAIL",
    ),
    (
        "note",
        "call the customer on monday about the open bill",
        "call the customer on friday about the open bill",
        "FAIL",
    ),
    (
        "note",
        "der Termin mit dem Arzt ist am Montag um acht",
        "der Termin mit dem Arzt ist am Freitag um acht",
        "FAIL",
    ),
    (
        "note",
        "die Lieferung kommt am 5. März bei Ihnen an",
        "die Lieferung kommt am 5. Mai bei Ihnen an",
        "FAIL",
    ),
    (
        "note",
        "nehmen Sie einundzwanzig Tropfen in Wasser ein",
        "nehmen Sie zweiundzwanzig Tropfen in Wasser ein",
        "FAIL",
    ),
    ("note", "식사 후에 두 알을 물과 함께 복용하세요", "식사 후에 스무 알을 물과 함께 복용하세요", "FAIL"),
    ("note", "이십 정을 하루에 한 번 복용하십시오", "삼십 정을 하루에 한 번 복용하십시오", "FAIL"),
    ("note", "환자는 페니실린 알레르기가 있습니다", "환자는 페니실린 알레르기가 없습니다", "FAIL"),
    ("note", "계좌로 10만 원을 보내 주시기 바랍니다", "계좌로 100만 원을 보내 주시기 바랍니다", "FAIL"),
    ("note", "毎食後に二錠を水で飲んでください", "毎食後に二十錠を水で飲んでください", "FAIL"),
    ("note", "口座に一万円を振り込んでください", "口座に百万円を振り込んでください", "FAIL"),
    ("note", "患者はペニシリンにアレルギーがあります", "患者はペニシリンにアレルギーがありません", "FAIL"),
    ("message", "请把一百欧元汇到账户12345", "请把九百欧元汇到账户12345", "FAIL"),
    ("message", "请不要取消我的订单谢谢您", "请取消我的订单谢谢您", "FAIL"),
    (
        "message",
        "por favor tome dos tabletas después de comer",
        "por favor tome doce tabletas después de comer",
        "FAIL",
    ),
    (
        "message",
        "le client ne veut pas annuler sa réservation",
        "le client veut annuler sa réservation",
        "FAIL",
    ),
    (
        "message",
        "prenez deux comprimés avant chaque repas",
        "prenez vingt comprimés avant chaque repas",
        "FAIL",
    ),
    (
        "message",
        "il cliente non vuole annullare la prenotazione",
        "il cliente vuole annullare la prenotazione",
        "FAIL",
    ),
    (
        "message",
        "o cliente não quer cancelar a reserva dele",
        "o cliente quer cancelar a reserva dele",
        "FAIL",
    ),
    ("message", "de klant wil de bestelling niet annuleren", "de klant wil de bestelling annuleren", "FAIL"),
    ("query", "SELECT * FROM users WHERE id = 5", "SELECT * FROM users WHERE id = 50", "FAIL"),
    ("q", "delete from logs where day < '2024-01-01'", "delete from logs where day > '2024-01-01'", "FAIL"),
    ("command", "rm -rf build and then make all", "rm -rf / and then make all", "FAIL"),
    ("run", "cp notes.txt backup.txt", "cp backup.txt notes.txt", "FAIL"),
    ("run", "kill 123", "kill 132", "FAIL"),
    ("code", "x = [i for i in range(10)]", "x = [i for i in range(100)]", "FAIL"),
    ("url", "https://example.org/a", "https://example.com/a", "FAIL"),
    ("body", "Your refund is on its way to your bank account.", "...", "FAIL"),
    ("body", "Your refund is on its way to your bank account.", "   ", "FAIL"),
    ("body", "Your refund is on its way to your bank account.", "-", "FAIL"),
    ("note", "the customer may (not) enter the building", "the customer may enter the building", "FAIL"),
    (
        "note",
        "send 5 apples and 3 pears to the customer",
        "send 3 apples and 5 pears to the customer",
        "FAIL",
    ),
    (
        "note",
        "the temperature will fall to -5 degrees tonight",
        "the temperature will fall to 5 degrees tonight",
        "FAIL",
    ),
    ("note", "there is one guest in the room tonight", "there are two guests in the room tonight", "FAIL"),
    (
        "note",
        "il cliente non vuole annullare la prenotazione",
        "il cliente vuole annullare la prenotazione",
        "FAIL",
    ),
    (
        "body",
        "Hello Anna, your order 77 ships on 2024-05-03. Bye",
        "Hello Anna, your order 77 ships on 2024-05-04. Bye",
        "FAIL",
    ),
    (
        "body",
        "Deine Bestellung kommt am 3. Mai um 15 Uhr an.",
        "Deine Bestellung kommt am 3. Mai um 16 Uhr an.",
        "FAIL",
    ),
    (
        "body",
        "the code for the door of the building is 4711",
        "the code for the door of the building is 4171",
        "FAIL",
    ),
    (
        "body",
        "the code of the door is A47B for all guests",
        "the code of the door is A48B for all guests",
        "FAIL",
    ),
    (
        "body",
        "gate A12 opens for boarding in a few minutes",
        "gate B12 opens for boarding in a few minutes",
        "FAIL",
    ),
    (
        "body",
        "flight LH452 is delayed by bad weather today",
        "flight BA452 is delayed by bad weather today",
        "FAIL",
    ),
    (
        "body",
        "send the parcel to Anna Schmidt in Berlin today",
        "send the parcel to Anna Schmidt in Bonn today",
        "FAIL",
    ),
    (
        "body",
        "the price of the ticket is 1,200 euros in total",
        "the price of the ticket is 1.2 euros in total",
        "FAIL",
    ),
    (
        "body",
        "the price of the ticket is 49.90 euros in total",
        "the price of the ticket is 4990 euros in total",
        "FAIL",
    ),
    ("body", "wake me at 7 am tomorrow morning please", "wake me at 7 pm tomorrow morning please", "FAIL"),
    (
        "body",
        "the rate rises to 3.5 % from next month on",
        "the rate rises to 35 % from next month on",
        "FAIL",
    ),
    (
        "body",
        "sende 5 kg Mehl an die Filiale in der Stadt",
        "sende 5 g Mehl an die Filiale in der Stadt",
        "FAIL",
    ),
    ("body", "pay 100 dollars to the seller of the bike", "pay 100 pounds to the seller of the bike", "FAIL"),
    ("note", "allergic to penicillin", "not allergic to penicillin", "FAIL"),
    ("note", "do not pay", "pay", "FAIL"),
    ("note", "pay the bill", "do not pay the bill", "FAIL"),
    ("note", "refund denied", "refund approved", "FAIL"),
    ("note", "no longer needed", "ordered by mistake", "FAIL"),
    ("flight_type", "one way", "round trip", "FAIL"),
    ("cabin", "basic economy", "economy", "FAIL"),
    ("color", "black leather shoes", "brown leather shoes", "FAIL"),
    ("size", "large", "small", "FAIL"),
    ("answer", "I agree to the terms of the contract", "I do not agree to the terms of the contract", "FAIL"),
    ("id", "R1", "R2", "FAIL"),
    ("email", "a@b.org", "c@b.org", "FAIL"),
    ("note", "毎日2回、食後に飲む", "毎日3回、食後に飲む", "FAIL"),
    ("note", "支払わないでください、よろしくお願いします", "支払ってください、よろしくお願いします", "FAIL"),
    ("note", "会議は月曜日の午前10時からです", "会議は火曜日の午前10時からです", "FAIL"),
    ("note", "예약을 취소하지 마세요 부탁드립니다", "예약을 취소하세요 부탁드립니다", "FAIL"),
    ("note", "월요일 오전 10시에 전화해 주세요", "화요일 오전 10시에 전화해 주세요", "FAIL"),
    ("note", "백 유로를 김민수 씨에게 보내 주세요", "구백 유로를 김민수 씨에게 보내 주세요", "FAIL"),
    ("command", "sudo systemctl stop nginx", "sudo systemctl start nginx", "FAIL"),
    ("command", "chmod 644 /etc/passwd", "chmod 777 /etc/passwd", "FAIL"),
    ("cmd", "ls", "rm", "FAIL"),
    ("config", '{"retries": 3, "on": true}', '{"retries": 5, "on": true}', "FAIL"),
    (
        "body",
        "<p>Your refund of 10 EUR is on its way</p>",
        "<p>Your refund of 90 EUR is on its way</p>",
        "FAIL",
    ),
    (
        "body",
        "click https://good.example.org/pay to pay the bill now",
        "click https://bad.example.org/pay to pay the bill now",
        "FAIL",
    ),
    (
        "body",
        "click <a href='https://a.org/x'>here</a> to pay the bill",
        "click <a href='https://b.org/x'>here</a> to pay the bill",
        "FAIL",
    ),
    (
        "note",
        "the package weighs between 5 and 7 kg in total",
        "the package weighs between 5 and 9 kg in total",
        "FAIL",
    ),
    (
        "note",
        "start at 10:00 and end at 12:00 on all days",
        "start at 12:00 and end at 10:00 on all days",
        "FAIL",
    ),
    ("note", "patient needs 2 mg now and 5 mg later", "patient needs 5 mg now and 2 mg later", "FAIL"),
]
NEVER_THE_SAME = [
    ("note", "call my son about the bill tomorrow", "call about the bill tomorrow", None),
    ("note", "let the plant in the office die", "let the plant in the office", None),
    ("note", "rename user_name in the file", "rename user name in the file", None),
    (
        "note",
        "refund my card and charge your card for the trip",
        "refund your card and charge my card for the trip",
        None,
    ),
    (
        "body",
        "move the money from account A to account B today",
        "move the money from account B to account A today",
        None,
    ),
    (
        "body",
        "move the money from savings to checking today please",
        "move the money to savings from checking today please",
        None,
    ),
    ("note", "turn the heating of the office on tonight", "turn the heating of the office off tonight", None),
    (
        "note",
        "take the medicine before each meal of the day",
        "take the medicine after each meal of the day",
        None,
    ),
    (
        "note",
        "the refund was sent to the customer last week",
        "the refund will be sent to the customer last week",
        None,
    ),
    (
        "note",
        "the order was approved by the manager this morning",
        "the order was rejected by the manager this morning",
        None,
    ),
    ("note", "東京から大阪へ荷物を送ってください", "大阪から東京へ荷物を送ってください", None),
    (
        "note",
        "the customer is at least 18 years old today",
        "the customer is at most 18 years old today",
        None,
    ),
    (
        "note",
        "pay the invoice no later than the end of May",
        "pay the invoice no earlier than the end of May",
        None,
    ),
    (
        "note",
        "allergic to nuts but not to penicillin at all",
        "allergic to penicillin but not to nuts at all",
        None,
    ),
    ("note", "the patient takes aspirin in the morning", "the patient takes morphine in the morning", None),
    (
        "note",
        "please approve the claim of the customer 👍",
        "please approve the claim of the customer 👎",
        None,
    ),
    (
        "note",
        "blood type of the patient is A+ since birth",
        "blood type of the patient is A- since birth",
        None,
    ),
    (
        "note",
        "blood type of the patient is A+ since birth",
        "blood type of the patient is A since birth",
        None,
    ),
    (
        "note",
        "increase the limit of the card to the maximum",
        "decrease the limit of the card to the minimum",
        None,
    ),
    ("query", "SELECT a FROM t WHERE b = 'x'", "SELECT a FROM t WHERE b = 'X'", "FAIL"),
    ("code", "if a:\n    b()\nc()", "if a:\n    b()\n    c()", None),
]
SAME = [
    ("date", "05/20/2024", "2024-05-20", "PASS"),
    ("date", "5/20/2024", "05/20/2024", "PASS"),
    ("note", "N/A", "n/a", "PASS"),
    ("note", "take two tablets", "take 2 tablets", "PASS"),
    ("note", "Take two tablets daily.", "take 2 tablets daily", "PASS"),
    ("note", "take twenty-one drops with the water", "take 21 drops with the water", "PASS"),
    ("note", "we will pay two hundred dollars to the customer", "we will pay $200 to the customer", "PASS"),
    ("note", "毎食後に二錠を水で飲んでください", "毎食後に2錠を水で飲んでください。", "PASS"),
    ("note", "返金は３日以内に行われます", "返金は3日以内に行われます", "PASS"),
    ("note", "환불처리가 완료되었습니다 감사합니다", "환불 처리가 완료되었습니다. 감사합니다!", "PASS"),
    ("note", "두 알을 식사 후에 복용하세요", "2 알을 식사 후에 복용하세요", "PASS"),
    (
        "note",
        "nehmen Sie einundzwanzig Tropfen in Wasser ein",
        "Nehmen Sie 21 Tropfen in Wasser ein.",
        "PASS",
    ),
    ("note", "please do not ring the bell at night", "Please don't ring the bell at night.", "PASS"),
    (
        "body",
        "Dear customer,\n\nyour order has shipped.\n\nBest regards",
        "Dear customer, your order has shipped. Best regards",
        "PASS",
    ),
    (
        "note",
        "follow-up call with the customer tomorrow",
        "follow up call with the customer tomorrow",
        "PASS",
    ),
    ("note", "the customer — a VIP — wants a callback", "the customer, a VIP, wants a callback", "PASS"),
    (
        "note",
        "**Important:** the customer wants a callback",
        "Important: the customer wants a callback",
        "PASS",
    ),
    ("query", "select name\n  from users\n where id = 5", "select name from users where id = 5", "PASS"),
    ("note", "the café on the corner is closed today", "The café on the corner is closed today", "PASS"),
    ("note", "請在三天內付款給客戶謝謝", "請在3天內付款給客戶謝謝", "PASS"),
    ("note", "meeting at 3 pm in the main office", "meeting at 15:00 in the main office", "PASS"),
    ("note", "the fee is 1,000 euros for the whole year", "the fee is 1000 EUR for the whole year", "PASS"),
    (
        "note",
        "die Gebühr beträgt 1.000 Euro für das ganze Jahr",
        "die Gebühr beträgt 1000 € für das ganze Jahr",
        "PASS",
    ),
    (
        "note",
        "the discount is fifty percent for the whole year",
        "the discount is 50% for the whole year",
        "PASS",
    ),
    ("note", "Refund 100 USD", "refund $100", "PASS"),
    (
        "body",
        "Guten Tag,\nIhre Bestellung kommt am Freitag.\nGrüße",
        "Guten Tag, Ihre Bestellung kommt am Freitag. Grüße",
        "PASS",
    ),
    (
        "body",
        "お世話になっております。\n会議は三時からです。",
        "お世話になっております。会議は3時からです",
        "PASS",
    ),
    ("body", "안녕하세요. 회의는 세 시에 시작합니다.", "안녕하세요 회의는 3시에 시작합니다", "PASS"),
    ("note", "El cliente quiere cancelar la reserva.", "el cliente quiere cancelar la reserva", "PASS"),
    ("note", "Le client veut annuler sa réservation !", "le client veut annuler sa réservation", "PASS"),
    (
        "note",
        "Client veut annuler réservation pour demain",
        "le client veut annuler sa réservation pour demain",
        "PASS",
    ),
    (
        "note",
        "Kunde möchte die Bestellung stornieren",
        "Der Kunde möchte seine Bestellung stornieren.",
        "PASS",
    ),
    (
        "note",
        "2 nights in a double room from May 3, 2024",
        "two nights in a double room from 2024-05-03",
        "PASS",
    ),
    ("note", "the meeting starts at 9:00 am in room 5", "the meeting starts at 9 AM in room five", "PASS"),
    ("note", "“Call back” was the customer’s wish", '"Call back" was the customer\'s wish', "PASS"),
    ("city", "São Paulo", "são paulo", "PASS"),
    ("email", "A@B.org", "a@b.org", "PASS"),
    ("phone", "+1 555 0100", " +1 555 0100 ", "PASS"),
    ("amount", "1,000", "1000", "PASS"),
    ("path", "/home/user/a.txt", " /home/user/a.txt", "PASS"),
    ("query", "SELECT a\nFROM t\nWHERE b = 5", "SELECT a FROM t WHERE b = 5", "PASS"),
]
OTHER_WORDS = [
    ("command", "turn on the light in the kitchen", "switch the kitchen light on", None),
    (
        "note",
        "the item(s) of the customer arrived broken",
        "the goods of the customer were damaged on arrival",
        None,
    ),
    (
        "note",
        "Import duties were not paid by the sender",
        "the sender has not paid the duties for import",
        None,
    ),
    ("note", "Create table reservation for two people tonight", "book a table for two people tonight", None),
    (
        "note",
        "Select a seat from the front rows please",
        "choose a front row seat for the customer please",
        None,
    ),
    (
        "note",
        "the item - the blue one - is broken and/or lost",
        "the blue item was broken or lost on the way",
        None,
    ),
    (
        "note",
        "customer did not receive the package",
        "the package is missing and the customer wants a refund",
        None,
    ),
    (
        "note",
        "customer cannot travel because of an illness",
        "customer is too ill to travel on that day",
        None,
    ),
    ("note", "the device does not work", "the device is defective and must be replaced", None),
    ("note", "call Mr Smith about the open bill", "call John Smith regarding the unpaid bill", None),
    ("note", "the customer flies to New York on Friday", "customer has a flight to NYC on Friday", None),
    (
        "note",
        "the customer lives in the United States now",
        "the customer now lives in the USA with family",
        None,
    ),
    (
        "note",
        "flight LH 452 of the customer was cancelled",
        "the airline cancelled flight LH452 of the customer",
        None,
    ),
    ("note", "order ORD-12345 arrived with a broken screen", "the screen of order 12345 was broken", None),
    (
        "note",
        "call the customer at +1 555-123-2002 today",
        "ring the customer today, phone (555) 123-2002",
        None,
    ),
    ("note", "wait 24 hours before the next dose", "the next dose only after 24h of waiting", None),
    (
        "note",
        "the meeting is on May 20th in the main office",
        "main office meeting is scheduled for 2024-05-20",
        None,
    ),
    (
        "note",
        "the appointment is at 3 o'clock in the afternoon",
        "the appointment takes place at 15:00",
        None,
    ),
    ("note", "customer changed plans yesterday evening", "plans changed", None),
    (
        "note",
        "Kunde wünscht eine Stornierung der Buchung",
        "Der Kunde möchte die Buchung stornieren lassen",
        None,
    ),
    ("note", "Kunde kann wegen Krankheit nicht reisen", "Der Kunde ist krank und sagt die Reise ab", None),
    ("note", "고객이 주문을 취소하기를 원합니다", "주문 취소를 고객님께서 요청하셨어요", None),
    ("note", "물건이 도착하지 않았습니다", "배송된 상품을 아직 받지 못했어요", None),
    (
        "note",
        "商品が届かなかったので返金してほしい",
        "荷物がまだ届いていないため、返金を希望しています",
        None,
    ),
    ("note", "予定が変わりました", "都合により旅行計画を変更しました", None),
    ("note", "el cliente cambió sus planes de viaje", "el usuario ya no quiere viajar esos días", None),
    ("note", "le client a changé ses projets de voyage", "l'utilisateur ne souhaite plus voyager", None),
    ("note", "the customer wants to cancel the order", "der Kunde möchte die Bestellung stornieren", None),
    ("note", "refund issued", "money returned to the customer", None),
    ("note", "order 5 arrived late", "order 5 was delayed by the carrier", None),
    ("note", "screen is broken", "the display has a crack and does not light up", None),
    ("statement", "I was at home for the whole night", "the whole night I stayed at home", None),
    (
        "body",
        "Hi Anna,\nyour order 77 is ready for pickup.\nBest, Tom",
        "Hello Anna, order 77 can be collected now. Regards, Tom",
        None,
    ),
    ("query", "select a from t where b=5", "SELECT a FROM t WHERE b = 5", None),
    (
        "body",
        "Good morning Mr Brown, your car is ready and can be picked up.",
        "Hello Mr. Brown! You can collect the car at any time, it is ready.",
        None,
    ),
    (
        "body",
        "Sehr geehrte Frau Klein, Ihre Rechnung finden Sie im Anhang.",
        "Liebe Frau Klein, anbei erhalten Sie die Rechnung.",
        None,
    ),
    ("note", "delivery was two days late", "delivery came 48 hours late", None),
    ("note", "flight canceled due to weather", "weather caused cancellation", None),
    ("note", "the user said 'cancel it' and hung up/left", "caller asked to cancel and hung up", None),
    (
        "note",
        "5-star hotel near the beach for a week",
        "a hotel with five stars close to the beach, one week",
        None,
    ),
    ("note", "customer is unhappy with the service", "the customer is not happy with our service", None),
    ("note", "the bill isn't correct", "the bill is wrong", None),
    ("note", "the payment did not go through", "the payment failed", None),
    ("note", "お客様が返品を希望されています", "返品希望とのことです、よろしくお願いします", None),
    ("note", "배송이 너무 늦어서 취소합니다", "배송 지연으로 인한 취소 요청", None),
    ("note", "Lieferung war beschädigt angekommen", "Die Ware hatte beim Empfang einen Schaden", None),
    ("note", "家族の都合で旅行に行けなくなった", "家庭の事情により渡航できません", None),
    (
        "description",
        "update the customer's address and set a reminder",
        "change address of customer, add a reminder",
        None,
    ),
    ("description", "from now on send the bills by mail", "bills should be sent by mail in the future", None),
    ("note", "find a cheaper flight (if possible)", "look for a flight that costs less", None),
    ("note", "make the reservation for 4 people", "4 people, reservation requested", None),
    ("title", "Refund for order 77", "Order 77: refund", None),
    ("note", "customer wants either A or B", "customer would like A or else B", None),
    ("note", "changed plans", "change of plans", None),
    ("reason", "flight delay", "delayed flight", None),
    ("reason", "flight cancellation", "cancelled flight", None),
    ("reason", "payment failure", "failed payment", None),
    ("reason", "Late Delivery", "delivery late", None),
    ("reason", "verspäteter Flug", "Flug verspätet", None),
    ("reason", "vuelo retrasado", "retraso vuelo", None),
    ("reason", "delayed flight", "cancelled flight", "FAIL"),
    ("reason", "flight delay", "train delay", "FAIL"),
    ("seat", "aisle seat", "window seat", "FAIL"),
    ("method", "credit card", "gift card", "FAIL"),
    ("path", "a b.txt", "b.txt a", "FAIL"),
    ("date", "2026-05-05", "May 5", None),
    ("date", "5. Mai", "05.05.2026", None),
    ("date", "May 5", "May 5 at 3 pm", None),
    ("date", "2026-05-05", "5. Juni", "FAIL"),
]


def held_against(tool, expected, made, judge="none", **fields):
    turn = {"user": "u", "agent": "a", "tool_calls": [{"name": tool, "args": made}]}
    actions = {"actions": [{"name": tool, "args": expected}]}
    log = {"conversation_id": "c1", "turns": [turn], "expected": actions}
    return turnwise.evaluate(log, criteria={"tool_effects_v1": fields}, judge=judge)


@pytest.mark.parametrize(
    ("name", "expected", "made", "status"), [*TEXTS, *OTHER_VALUES, *NEVER_THE_SAME, *SAME, *OTHER_WORDS]
)
def test_a_text_is_the_same_different_or_unclear(name, expected, made, status):
    result = held_against("send_update", {name: expected, "to": "U1"}, {name: made, "to": "U1"})
    assert result.status == status
    (score,) = result.scores
    if status is None:
        assert score["value"] is None
        assert score["reason"].startswith(f"the wording of {name} of send_update differs")
        assert score["details"]["not_compared"] == [f"{name} of send_update"]
        assert score["details"]["unclear"] == [
            {"name": f"{name} of send_update", "expected": expected, "actual": made}
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


def test_what_else_fails_a_turn_fails_it_although_a_wording_is_unclear():
    calls = [
        [{"name": "send_update", "args": {"id": key, "body": text}}]
        for key, text in (("R1", NOTE), ("R2", OTHER))
    ]
    turn = {"user": "u", "agent": "a", "tool_calls": calls[1], "expected": {"tool_calls": calls[0]}}
    log = {"conversation_id": "c1", "turns": [turn]}
    assert turnwise.evaluate(log, criteria={"tool_effects_v1": {}}).status == "FAIL"


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
        ({"judge": {"requests_per_minute": 60}}, None, None),
        ({}, "finder", "PASS"),
        ({"judge": {"backend": "finder"}}, None, "PASS"),
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
    ("expected", "made"),
    [(NOTE, NOTE), ("pay 5 EUR to the shop today", "pay 9 EUR to the shop today")],
)
def test_a_judge_is_not_asked_about_what_is_certain(expected, made):
    asked = []
    teller = judge_that_says("yes", asked)
    for args in ({"n": 1, "body": made}, {"n": 2, "body": OTHER}):
        held_against("send_update", {"n": 1, "body": expected}, args, teller)
    assert not asked


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


LEG = {"flight": "HAT1", "seats": 2}
OBJECTS = [
    # expected, made, status without a judge, and with one that says yes
    (LEG, {**LEG, "from": "EWR"}, None, "PASS"),
    ({"legs": [LEG]}, {"legs": [{**LEG, "force": True}]}, None, "PASS"),
    ([LEG, {"flight": "HAT2"}], [{"flight": "HAT2", "seats": 1}, LEG], None, "PASS"),
    ({"n": 1}, {"n": 1, "force": True}, None, "PASS"),
    ([LEG], [{**LEG, "from": "EWR", "to": "IAH"}], "PASS", "PASS"),
    ([LEG], [{**LEG, "note": "please keep a seat at the window"}], None, "PASS"),
    (LEG, {**LEG, "from": None, "to": "", "options": {}}, "PASS", "PASS"),
    ({**LEG, "from": None}, LEG, "PASS", "PASS"),
    (LEG, {"flight": "HAT1"}, "FAIL", "FAIL"),
    (LEG, {"flight": "HAT1", "seats": 3, "from": "EWR"}, "FAIL", "FAIL"),
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
        ("commands", ["rm -rf Build"], ["rm -rf build"], "FAIL"),
        ("command", ["cp", "a", "b"], ["cp", "b", "a"], "FAIL"),
        ("tags", ["a", "b"], ["b", "a"], "PASS"),
        ("password", "Secret1", "secret1", "FAIL"),
        ("token", "AbC", "aBc", "FAIL"),
        ("python_version", "3.10", "3.1", "FAIL"),
        ("note", "do not just cancel the flight, rebook it", "do not cancel the flight, rebook it", "FAIL"),
    ],
)
def test_lists_secrets_and_versions(name, expected, made, status):
    assert held_against("send_update", {name: expected}, {name: made}).status == status
