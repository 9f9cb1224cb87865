"""Discovery Engine's Answers, replies and sessions as conversations."""

import json
from pathlib import Path

import msgspec
import pytest

from turnwise.schemas.config import DiscoveryEngineConfig
from turnwise.schemas.conversation import (
    Citation,
    Conversation,
    GroundedClaim,
    Record,
    SafetyRating,
    ToolCall,
)
from turnwise.transforms.criteria.answers import EmptySearches
from turnwise.transforms.formats.answers import answer_conversation
from turnwise.transforms.formats.mapped import recognise
from turnwise.transforms.formats.reading import LogReader
from turnwise.transforms.matching.sample import Sample, TurnPair
from turnwise.transforms.scoring.panels import record_findings

SHARED = Path(__file__).parents[3] / "../shared"
SAMPLE = SHARED / "fixtures/ces/samples/baggage_policy__Answer.json"
RAW = SHARED / "data/raw/answer_what_is_sql.json"
FLAT = SHARED / "data/discovery_engine.jsonl"
needs_shared = pytest.mark.skipif(not SAMPLE.exists(), reason="the shared data is not here")
ENGINE = "projects/acme-cx/locations/global/collections/default_collection/engines/policies"
CONFIG = DiscoveryEngineConfig()
ANSWER = {
    "name": f"{ENGINE}/sessions/7/answers/9",
    "state": "SUCCEEDED",
    "answerText": "Bis 1.131 SZR.",
    "createTime": "2026-03-01T03:00:00Z",
    "completeTime": "2026-03-01T03:00:01.500Z",
}


def read(value, config=CONFIG):
    return answer_conversation(value, config)


@pytest.fixture(scope="module")
def sample():
    return read(json.loads(SAMPLE.read_text()))


@needs_shared
def test_searches_are_tool_calls(sample):
    (turn,) = sample.turns
    assert turn.tool_calls == [
        ToolCall(name="search", args={"query": "Erstattung beschädigtes Gepäck"}, id="s0a0"),
        ToolCall(name="search", args={"query": "Frist Schaden melden"}, id="s0a1"),
    ]
    first, second = turn.tool_responses
    assert (first.id, first.name, first.error, second.id) == ("s0a0", "search", None, "s0a1")
    (result,) = first.response["output"]["results"]
    assert (
        result["chunkInfo"][0]["content"] == "Beschädigtes Gepäck wird bis 1.131 SZR je Fluggast erstattet."
    )
    assert "The user asks" not in msgspec.json.encode(sample.turns[0].agent_messages).decode()


@needs_shared
def test_citations_claims_and_references(sample):
    found = sample.turns[0].grounded
    assert found.citations == [Citation(0, 50, ["0"]), Citation(51, 95, ["0", "1"])]
    assert found.claims == [
        GroundedClaim(0, 50, 0.97, True, ["0"]),
        GroundedClaim(51, 95, 0.58, True, ["1"]),
        GroundedClaim(96, 116, None, False, []),
    ]
    assert (found.state, found.grounding_score, found.skipped_reasons) == ("SUCCEEDED", 0.83, [])
    assert [r.title for r in found.references] == ["Gepäck", "Schaden melden", "Haftungsgrenzen"]
    assert found.references[1].texts == ["Schäden sind innerhalb von 7 Tagen zu melden."]
    assert (found.references[2].texts, found.references[2].data) == ([], {"limitSzr": 1131.0})
    assert found.safety_ratings == [
        SafetyRating("HARM_CATEGORY_HARASSMENT", "NEGLIGIBLE", 0.02, "HARM_SEVERITY_NEGLIGIBLE", 0.01)
    ]
    assert found.query_classes == [] and found.problems == []


@needs_shared
@pytest.mark.parametrize("path", [SAMPLE, RAW, FLAT], ids=lambda path: path.name)
def test_shared_records_are_recognised_and_have_no_findings(path):
    lines = path.read_bytes().splitlines() if path.suffix == ".jsonl" else [path.read_bytes()]
    for position, line in enumerate(lines, 1):
        record = Record(path.name, position, line)
        assert recognise(json.loads(line)) == "discovery_engine"
        (conversation,) = LogReader().read(record)
        assert conversation.turns[0].agent and conversation.conversation_id
        assert record_findings(Sample(conversation, None, record)) == []


SESSION = {
    "name": f"{ENGINE}/sessions/7",
    "userPseudoId": "u1",
    "labels": ["vip"],
    "startTime": "2026-03-01T02:59:00Z",
    "turns": [
        {"query": {"text": "Grenze?"}, "answer": ANSWER["name"], "detailedAnswer": ANSWER},
        {
            "query": {"text": "Und nun?"},
            "detailedAnswer": {
                "answerText": "Dazu sage ich nichts.",
                "answerSkippedReasons": ["ADVERSARIAL_QUERY_IGNORED", "NO_RELEVANT_CONTENT"],
                "queryUnderstandingInfo": {
                    "queryClassificationInfo": [
                        {"type": "ADVERSARIAL_QUERY", "positive": True},
                        {"type": "JAIL_BREAKING_QUERY"},
                    ]
                },
            },
        },
    ],
}


SEARCH = {"searchAction": {"query": "q"}}
SEEN = {**SEARCH, "observation": {"searchResults": [{"title": "t"}]}}
STEPS = [
    ([{"state": "FAILED", "actions": [SEARCH]}], 1.0, None),
    ([{"state": "FAILED", "actions": [SEARCH]}, {"state": "SUCCEEDED", "actions": [SEEN]}], 0.5, None),
    ([{"state": "SUCCEEDED", "actions": [SEARCH]}], None, "the log lacks the results of 1 of 1 searches"),
    ([{"state": {}, "actions": [SEEN]}], None, "steps.state could not be read"),
]


@pytest.mark.parametrize(("steps", "value", "reason"), STEPS)
def test_the_searches_of_a_failed_step_are_failed(steps, value, reason):
    whole = read({**ANSWER, "steps": steps})
    sample = Sample(whole, None, Record("log", 1, b""))
    found = EmptySearches().score(sample, TurnPair(0, None, whole.turns[0]))
    assert (found.value, found.reason) == (value, reason)


def test_a_canonical_record_may_bring_it_along():
    made = read(SESSION)
    data = msgspec.json.encode(made)
    (again,) = LogReader().read(Record("f", 1, data))
    assert isinstance(again, Conversation) and again == made
