"""Discovery Engine's Answers, replies and sessions as conversations."""

import json
from pathlib import Path

import msgspec
import pytest

from tests.readings import read_value
from tests.tables import rows_test
from tests.transforms.formats.test_readings import READINGS
from turnwise.schemas.config import DiscoveryEngineConfig
from turnwise.schemas.conversation import Conversation, Record
from turnwise.transforms.criteria.answers import EmptySearches
from turnwise.transforms.formats.answers import answer_conversation
from turnwise.transforms.formats.mapped import recognise
from turnwise.transforms.formats.reading import LogReader
from turnwise.transforms.matching.sample import Sample, TurnPair
from turnwise.transforms.scoring.selection import record_findings

SHARED = Path(__file__).parents[3] / "../shared"
SAMPLE = SHARED / "fixtures/ces/samples/baggage_policy__Answer.json"
RAW = SHARED / "data/raw/answer_what_is_sql.json"
FLAT = SHARED / "data/discovery_engine.jsonl"
ANSWER = {
    "name": "engines/policies/sessions/7/answers/9",
    "state": "SUCCEEDED",
    "answerText": "Bis 1.131 SZR.",
    "createTime": "2026-03-01T03:00:00Z",
    "completeTime": "2026-03-01T03:00:01.500Z",
}
test_rows = rows_test(globals(), "discovery_engine")


@pytest.mark.skipif(not SAMPLE.exists(), reason="the shared data is not here")
@pytest.mark.parametrize("path", [SAMPLE, RAW, FLAT], ids=lambda path: path.name)
def test_shared_records_are_recognised_and_have_no_findings(path):
    lines = path.read_bytes().splitlines() if path.suffix == ".jsonl" else [path.read_bytes()]
    for position, line in enumerate(lines, 1):
        record = Record(path.name, position, line)
        assert recognise(json.loads(line)) == "discovery_engine"
        (conversation,) = LogReader().read(record)
        assert conversation.turns[0].agent and conversation.conversation_id
        assert record_findings(Sample(conversation, None, record)) == []


def failed_step(steps, value, reason):
    """The searches of a failed step are failed."""
    whole = answer_conversation({**ANSWER, "steps": steps}, DiscoveryEngineConfig())
    sample = Sample(whole, None, Record("log", 1, b""))
    found = EmptySearches().score(sample, TurnPair(0, None, whole.turns[0]))
    assert (found.value, found.reason) == (value, reason)


@pytest.mark.parametrize("name", [name for name in READINGS if name.startswith("records/answers: ")])
def test_a_canonical_record_may_bring_it_along(name):
    reading = READINGS[name]
    for made in read_value(*reading["records"], input_format=reading.get("format", "auto")).conversations:
        (again,) = LogReader().read(Record("f", 1, msgspec.json.encode(made)))
        assert isinstance(again, Conversation) and again == made
