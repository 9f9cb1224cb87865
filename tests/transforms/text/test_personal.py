"""How much personal data is found in texts of several languages, and how much that is none."""

import json
import re
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from turnwise.schemas.config import REDACTED_KINDS, RedactConfig
from turnwise.transforms.text.patterns import compiled
from turnwise.transforms.text.personal import MAYBE, find, folded, google_detector, presidio_detector

LABELLED = Path(__file__).parent / "labelled.jsonl"
_LABEL = re.compile("«(\\w+):([^»]*)»")


def figures() -> dict[str, dict[str, Counter[str]]]:
    """Returns values that are right, missed and wrong, by kind and by language."""
    counts: dict[str, dict[str, Counter[str]]] = {"kind": {}, "language": {}}
    for line in LABELLED.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        wanted, text, last = set[tuple[int, int, str]](), "", 0
        for label in _LABEL.finditer(record["text"]):
            text += record["text"][last : label.start()]
            wanted.add((len(text), len(text) + len(label[2]), label[1].upper()))
            text, last = text + label[2], label.end()
        text += record["text"][last:]
        if wanted:  # what a run asks of a whole record first
            assert compiled(MAYBE, 64 << 20).search(json.dumps([text], ensure_ascii=False)), text
        taken: list[tuple[int, int, str]] = []
        for one in find(folded(text), REDACTED_KINDS, RedactConfig().regions):
            if all(one.end <= start or end <= one.start for start, end, _ in taken):
                taken.append((one.start, one.end, one.kind))
        covered = {(s, e, k) for s, e, k in wanted if any(a <= s and e <= b for a, b, _ in taken)}
        wrong = [each for each in taken if not any(each[0] < e and s < each[1] for s, e, _ in wanted)]
        for name, sort in (("right", covered), ("missed", wanted - covered), ("wrong", wrong)):
            for _, _, kind in sort:
                for by, key in (("kind", kind), ("language", record["language"])):
                    counts[by].setdefault(key, Counter())[name] += 1
    return counts


def test_recall_and_precision() -> None:
    found = figures()
    assert set(found["language"]) == {"en", "de", "fr", "es", "other"}
    assert set(found["kind"]) == {kind.upper() for kind in REDACTED_KINDS}
    for by_key in found.values():
        for key, count in by_key.items():
            assert count["missed"] == 0, (key, count)
    total = sum((count for count in found["kind"].values()), Counter[str]())
    assert total["right"] > 40 and total["wrong"] <= 2, total


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
    ],
)  # fmt: skip
def test_what_is_none(text: str) -> None:
    assert list(find(folded(text), REDACTED_KINDS, RedactConfig().regions)) == []


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
