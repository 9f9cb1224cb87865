"""What the criteria of answers say of recorded ones."""

import json
from pathlib import Path

import pytest

from tests.samples import scores_of
from turnwise.schemas.conversation import Record
from turnwise.transforms.criteria.base import CRITERIA
from turnwise.transforms.formats.answers import answer_conversation
from turnwise.transforms.matching.sample import Sample
from turnwise.transforms.scoring.config import parse_config
from turnwise.transforms.scoring.evaluate import score_conversation

SAMPLE = Path(__file__).parents[3] / "../shared/fixtures/ces/samples/baggage_policy__Answer.json"


def scored(name, turns, **fields):
    return scores_of(CRITERIA[name](**fields), None, *turns)


@pytest.mark.skipif(not SAMPLE.exists(), reason="the shared fixtures are not here")
def test_the_sample():
    conversation = answer_conversation(json.loads(SAMPLE.read_text()), parse_config("{}").discovery_engine)
    case = Sample(conversation, None, Record("f", 1, b""))
    names = ["grounding_score", "citation_validity", "citation_precision", "citation_recall"]
    names += ["safety_ratings", "skipped_rate", "turn_latency"]
    found = score_conversation(case, [CRITERIA[name]() for name in names])
    values = {entry.criterion.name: entry.turns[0][1].value for entry in found.scores}
    assert values == {
        "grounding_score": 0.83,
        "citation_validity": 1.0,
        "citation_precision": pytest.approx(2 / 3),
        "citation_recall": 1.0,
        "safety_ratings": 1.0,
        "skipped_rate": 0.0,
        "turn_latency": 2.25,
    }
    claims = found.scores[0].turns[0][1].details["claims"]
    assert [conversation.turns[0].agent[c["start"] : c["end"]] for c in claims] == [
        "Beschädigtes Gepäck erstatten wir bis 1.131 SZR.",
        "Bitte melden Sie den Schaden binnen 7 Tagen.",
    ]


@pytest.mark.skipif(not SAMPLE.exists(), reason="the shared fixtures are not here")
def test_an_answer_of_the_service():
    reply = json.loads((SAMPLE.parents[3] / "data/raw/answer_what_is_sql.json").read_text())
    turns = answer_conversation(reply, parse_config("{}").discovery_engine).turns
    names = ("uncited_references", "cited_relevance_difference", "failed_steps", "unobserved_actions")
    values = [scored(name, turns).turns[0][1].value for name in names]
    assert values == [pytest.approx(1 / 3), pytest.approx((0.9 + 3 * 0.8) / 4 - (0.7 + 0.6) / 2), 0.0, 0.0]
