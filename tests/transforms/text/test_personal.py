"""How much personal data is found in texts of several languages, and how much that is none."""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from tests.transforms.text.labelled import LABELLED, figures, labelled, replaced, table
from turnwise.schemas.config import REDACTED_KINDS
from turnwise.transforms.text.personal import google_detector, presidio_detector

LANGUAGES = {"en", "de", "es", "fr", "it", "pt", "nl", "pl", "other"}


def test_recall_and_precision() -> None:
    counts = figures()
    assert counts.keys() == LANGUAGES | {kind.upper() for kind in REDACTED_KINDS}
    for key, count in counts.items():
        assert count["missed"] == 0, (key, count)
        assert count["wrong"] * 20 <= count["found"], (key, count)
    texts = list(labelled(LABELLED))
    assert len(texts) > 200 and 90 < sum(not values for _, _, values in texts) < 120


@pytest.mark.parametrize(
    ("name", "least"), [("held_out.jsonl", 79), ("held_out_2.jsonl", 46), ("held_out_3.jsonl", 32)]
)
def test_texts_that_were_kept_apart(name: str, least: int) -> None:
    """They were mended after their first run; less is a loss."""
    counts = figures(LABELLED.with_name(name))
    kinds = [counts[kind.upper()] for kind in REDACTED_KINDS]
    assert sum(count["found"] for count in kinds) >= least and sum(count["wrong"] for count in kinds) == 0


def test_the_figures_of_the_docs() -> None:
    page = (Path(__file__).parents[3] / "docs" / "redaction.md").read_text(encoding="utf-8")
    assert table() in page


@pytest.mark.parametrize(
    "text",
    [
        "order 2026-08-07T10:15:00.123456Z, 1,234,567.89 USD", "v1.2.3 at 12:30:45",
        "<EMAIL_1> and <CARD_12>",
        "trace 4bf92f35-77b3-4da6-a3ce-929d0e0e4736", "std::vector<int>::size", "@mention, 50 % off, 10/10",
        "conversation-000000 call-0-0-0 SKU-6513 G47923", "0.98387096774193548", "HAT123456 and #W1234567",
        "my password is not working", "das Passwort ist falsch", "the token is invalid", "reset my password",
        "the password is expired since May", "mi contraseña es incorrecta", "I forgot my password 2 times",
        "PASS: 12 tests", "pass the salt: now", "a session of 30 minutes", "密码 错误",
        "years 2019 2020 2021 2022",
        "ISBN 978-3-16-148410-0", "network 192.168.17.0/24", "the PIN is required", "4,500\n3,200\n1,100",
        "2019\n2020\n2021\n2022",
        "password: required", "authorization: pending", "La password è errata", "La password è scaduta",
        "A senha é obrigatória", "Het wachtwoord is verlopen", "Hasło jest nieprawidłowe",
        "The secret is patience",
        "lat -33.8688197 lng 151.2092955", "@-33.8688197,151.2092955,17z", "see /products/1234567890",
        "https://shop.example.com/products/1234567890?ref=mail", "bookingRef=PNR8XK2QZ",
        "CEP 01310-100", "o CEP da loja é 01310100", "ZIP 12345-6789", "郵便番号は150-0002です", "〒100-0005",
        "CP 01310100", "CP: 01310-100", "ZIP+4 94103-1234", "ZIP+4 code: 941031234",
        "I forgot my password, order A12345 is late", "password (at least 8 characters)",
        "日付は2026-03-14です", "配送日2026-03-14から",
        'He said "sku": "8806094783919", thanks', "INV-2024-00123456",
    ],
)  # fmt: skip
def test_what_is_none(text: str) -> None:
    assert replaced(text) == []


def test_presidio() -> None:
    """Asks its AnalyzerEngine, where it is installed, by a recogniser that needs no trained model."""
    presidio = pytest.importorskip("presidio_analyzer")
    spacy = pytest.importorskip("spacy")

    class Blank(presidio.nlp_engine.SpacyNlpEngine):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.nlp = {"en": spacy.blank("en")}

    registry = presidio.RecognizerRegistry(supported_languages=["en"])
    registry.add_recognizer(presidio.PatternRecognizer("TICKET", deny_list=["T-77"]))
    engine = presidio.AnalyzerEngine(registry=registry, nlp_engine=Blank(), supported_languages=["en"])
    assert [(one.kind, one.key) for one in presidio_detector(engine)("see T-77")] == [("TICKET", "T-77")]


def test_google() -> None:
    """Asks the client of Sensitive Data Protection, over its REST transport, at a server of this process."""
    dlp = pytest.importorskip("google.cloud.dlp_v2")
    from google.auth.credentials import AnonymousCredentials
    from google.cloud.dlp_v2.services.dlp_service.transports import DlpServiceRestTransport

    asked: list[tuple[str, dict[str, object]]] = []

    class Answer(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append((self.path, json.loads(self.rfile.read(int(self.headers["content-length"])))))
            place = {"codepointRange": {"start": "4", "end": "8"}}
            finding = {"infoType": {"name": "PERSON_NAME"}, "location": place}
            body = json.dumps({"result": {"findings": [finding]}}).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        host = f"127.0.0.1:{server.server_port}"
        transport = DlpServiceRestTransport(host=host, url_scheme="http", credentials=AnonymousCredentials())
        found = list(google_detector(dlp.DlpServiceClient(transport=transport), "projects/p")("Ich Jörg"))
    assert [(one.kind, one.key) for one in found] == [("PERSON_NAME", "Jörg")]
    assert asked[0][0].startswith("/v2/projects/p/content:inspect") and asked[0][1]["item"] == {
        "value": "Ich Jörg"
    }


@pytest.mark.parametrize("digits", ["4222222222222", "6304000000000000000"])
def test_the_shortest_and_the_longest_card(digits: str) -> None:
    assert [kind for _, _, kind in replaced(f"number {digits} please")] == ["CARD"]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("password hunter2 hunter3", ["hunter2", "hunter3"]),
        ("my passwords are hunter2 hunter3 hunter4", ["hunter2", "hunter3", "hunter4"]),
        ("password: hunter2, later hunter3 (old: hunter1)", ["hunter2", "hunter3", "hunter1"]),
        ("password hunter2 worked, then hunter3", ["hunter2", "hunter3"]),
        ("password hunter2 for order A12345 and phone12 later", ["hunter2"]),
        ("password abc12345 with iphone15", ["abc12345"]),
        ("PINs: 4471, 4472 and 4473", ["4471", "4472", "4473"]),
        ("Passwords:\n- hunter2\n- winter3\n- order A12345", ["hunter2", "winter3"]),
        ("Passwörter:\n1. Sommer24\n2. Winter25", ["Sommer24", "Winter25"]),
        ('Passwords: ["hunter2", "winter3"]', ["hunter2", "winter3"]),
        ("Password list: hunter2 winter3", ["hunter2", "winter3"]),
        ("login anna, password, hunter2", ["hunter2"]),
        ("wifi password - guest2024", ["guest2024"]),
        ("mots de passe : chat12 ; chien34", ["chat12", "chien34"]),
        ("PIN 4471, 500 units and 2200 EUR", ["4471"]),
        ("PINは4471です", ["4471"]),
        ("我的PIN是4471。", ["4471"]),
        ("確認コードは482913です", ["482913"]),
        ("验证码482913", ["482913"]),
        ("キーはsk-abcdefghijklmnop1234です", ["sk-abcdefghijklmnop1234"]),
        ("鍵eyJhbGciOiJIUzI1NiJ9.eyJzdWIi.c2lnbmF0です", ["eyJhbGciOiJIUzI1NiJ9.eyJzdWIi.c2lnbmF0"]),
        ("메일은kim@example.kr입니다", ["kim@example.kr"]),
        ("用户@例子.公司", ["用户@例子.公司"]),
        ("CEP 01310-100, fone (11) 98765-4321", ["(11) 98765-4321"]),
        ("ZIP+4 94103-1234, call 415-555-2671", ["415-555-2671"]),
        ("CP# 0917 123 4567", ["0917 123 4567"]),
        ("Tel. 08031-123", ["08031-123"]),
        ("Tel. 0351 9763 0842 0351 0275 6658", ["0351 9763 0842", "0351 0275 6658"]),
    ],
)  # fmt: skip
def test_what_is_exactly_a_value(text: str, values: list[str]) -> None:
    assert [text[start:end] for start, end, _ in sorted(replaced(text))] == values
