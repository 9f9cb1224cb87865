"""How much personal data is found in texts of several languages, and how much that is none."""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from tests.transforms.text.labelled import LABELLED, figures, labelled, replaced, table
from turnwise.schemas.config import REDACTED_KINDS
from turnwise.transforms.text.personal import google_findings, presidio_findings

LANGUAGES = {"en", "de", "es", "fr", "it", "pt", "nl", "pl", "other"}


def test_recall_and_precision():
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
def test_texts_that_were_kept_apart(name, least):
    """They were mended after their first run; less is a loss."""
    counts = figures(LABELLED.with_name(name))
    kinds = [counts[kind.upper()] for kind in REDACTED_KINDS]
    assert sum(count["found"] for count in kinds) >= least and sum(count["wrong"] for count in kinds) == 0


def test_the_figures_of_the_docs():
    page = (Path(__file__).parents[3] / "docs" / "redaction.md").read_text(encoding="utf-8")
    assert table() in page


def test_presidio():
    """Asks its AnalyzerEngine, where it is installed, by a recogniser that needs no trained model."""
    presidio = pytest.importorskip("presidio_analyzer")
    spacy = pytest.importorskip("spacy")

    class Blank(presidio.nlp_engine.SpacyNlpEngine):
        def __init__(self):
            super().__init__()
            self.nlp = {"en": spacy.blank("en")}

    registry = presidio.RecognizerRegistry(supported_languages=["en"])
    registry.add_recognizer(presidio.PatternRecognizer("TICKET", deny_list=["T-77"]))
    engine = presidio.AnalyzerEngine(registry=registry, nlp_engine=Blank(), supported_languages=["en"])
    assert [(one.kind, one.key) for one in presidio_findings(engine, "see T-77")] == [("TICKET", "T-77")]


def test_google():
    """Asks the client of Sensitive Data Protection, over its REST transport, at a server of this process."""
    dlp = pytest.importorskip("google.cloud.dlp_v2")
    from google.auth.credentials import AnonymousCredentials
    from google.cloud.dlp_v2.services.dlp_service.transports import DlpServiceRestTransport

    asked = []

    class Answer(BaseHTTPRequestHandler):
        def do_POST(self):
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
        found = list(google_findings(dlp.DlpServiceClient(transport=transport), "projects/p", "Ich Jörg"))
    assert [(one.kind, one.key) for one in found] == [("PERSON_NAME", "Jörg")]
    assert asked[0][0].startswith("/v2/projects/p/content:inspect") and asked[0][1]["item"] == {
        "value": "Ich Jörg"
    }


@pytest.mark.parametrize("digits", ["4222222222222", "6304000000000000000"])
def test_the_shortest_and_the_longest_card(digits):
    assert [kind for _, _, kind in replaced(f"number {digits} please")] == ["CARD"]
