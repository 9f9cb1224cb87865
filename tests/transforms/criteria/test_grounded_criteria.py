"""What the criteria of answers say of recorded ones, and what judges are shown of their references."""

import json
from pathlib import Path

import pytest

from tests.samples import score_conversation, scores_of
from turnwise.schemas.conversation import GroundedAnswer, Record, Reference, Turn
from turnwise.transforms.criteria.base import CRITERIA
from turnwise.transforms.formats.answers import answer_conversation
from turnwise.transforms.judging.judges import LocalJudge
from turnwise.transforms.judging.prompts import MAX_REFERENCES, context_sections, evidence_texts
from turnwise.transforms.matching.sample import Sample
from turnwise.transforms.scoring.config import parse_config

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


LIMIT = Reference(title="Grenzen", texts=["Die Grenze ist 1.131 SZR."], data={"lang": "de"})


def sourced(**fields):
    return Turn(user="Grenze?", agent="Bis 1.131 SZR.", grounded=GroundedAnswer(references=[LIMIT], **fields))


def test_references_are_evidence(matched):
    case = matched(None, sourced(), sourced())
    sections = context_sections(case.conversation, case.conversation.turns[1])[-2:]
    assert sections == [
        ("turn 2, user", "Grenze?"),
        ("turn 2, source 0", 'Grenzen\nDie Grenze ist 1.131 SZR.\n{"lang":"de"}'),
    ]
    assert evidence_texts(sections) == ([sections[1][1]], ["Grenze?"], [], [])


def test_there_are_only_so_many_sections(matched):
    answer = GroundedAnswer(references=[LIMIT] * (MAX_REFERENCES + 7))
    case = matched(None, Turn(agent="a", grounded=answer))
    sections = context_sections(case.conversation, case.conversation.turns[0])
    assert len(sections) == MAX_REFERENCES + 1
    assert sections[-1] == ("turn 1, 7 more sources are not shown", "")


@pytest.mark.parametrize(("turn", "value"), [(sourced(), 1.0), (Turn(agent="Bis 1.131 SZR."), 0.0)])
def test_hallucinations_by_the_references(turn, value, matched, judged):
    found = judged(CRITERIA["hallucinations_v1"](), matched(None, turn), LocalJudge()).turns[0][1]
    assert round(found.value, 2) == value
    (sentence,) = found.details["sentences"]
    assert sentence["supporting_quote_found"] is (True if value else None)
