"""What is wrong with the record of an answer although it can be scored."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.samples import score_conversation
from turnwise.schemas.conversation import Citation, Conversation, GroundedAnswer, Record, Turn
from turnwise.transforms.criteria.base import CRITERIA
from turnwise.transforms.formats.reading import LogReader
from turnwise.transforms.matching.sample import Sample
from turnwise.transforms.scoring.selection import record_findings

TEXT = "Gepäck 🧳 bis 1.131."  # bytes: "Gepäck" 0-7, the suitcase 8-12, "bis" 13-16
MEASURES = "grounding_score citation_validity citation_precision citation_recall safety_ratings skipped_rate"
MEASURED = [CRITERIA[name]() for name in [*MEASURES.split(), "turn_latency"]]


def case_of(*turns):
    conversation = Conversation(conversation_id="c", app_version="v", turns=list(turns))
    return Sample(conversation, None, Record("f.jsonl", 7, b"{}"))


def test_there_is_one_finding_a_turn_and_kind():
    answer = GroundedAnswer(citations=[Citation(0, 99, ["5"])] * 1000)
    first, second = Turn(agent=TEXT, grounded=answer), Turn(agent=TEXT)
    rows = record_findings(case_of(second, first))
    assert [row.error_type for row in rows] == ["OffsetOutsideText", "UnknownReference"]
    assert rows[0].message.endswith("citations[2]: bytes 0 to 99 of 23; and 997 more")
    place = (rows[0].stage, rows[0].source, rows[0].position, rows[0].conversation_id, rows[0].turn_index)
    assert place == ("check", "f.jsonl", 7, "c", 1)
    assert (rows[0].app_version, rows[0].record) == ("v", None)


def test_a_finding_of_a_reader_is_a_row_with_its_place():
    turn = {"user": "q", "agent": "a", "toolCalls": [{"name": "f"}]}
    record = Record("f.jsonl", 7, json.dumps({"conversation_id": "c", "turns": [turn]}).encode())
    (conversation,) = LogReader().read(record)
    (row,) = score_conversation(Sample(conversation, None, record), []).failures
    assert (row.stage, row.error_type, row.source, row.position) == ("check", "UnreadPart", "f.jsonl", 7)
    assert (row.conversation_id, row.turn_index) == ("c", 0)


PIECES = ["Gepäck. ", "한국어 ", "\u1112\u1161\u11ab", "🧳", "e\u0301", "\u0308", "Bis 1.131 SZR. "]
OFFSETS = st.integers(-2, 60).map(str) | st.sampled_from([None, "x", 2**70, 1.5, [], True])
NAMES = st.sampled_from(["0", "1", "2", "-1", "a", "", None, 0])
MARKS = st.lists(
    st.fixed_dictionaries(
        {
            "startIndex": OFFSETS,
            "endIndex": OFFSETS,
            "sources": st.lists(st.fixed_dictionaries({"referenceId": NAMES}), max_size=3),
        },
        optional={
            "groundingScore": st.sampled_from([0.4, 1.5, "NaN", None, "x"]),
            "groundingCheckRequired": st.sampled_from([True, False, None, 1]),
        },
    ),
    max_size=4,
)


@settings(deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=5).map("".join), MARKS, MARKS)
def test_no_record_crashes_and_all_of_it_is_scored(text, citations, claims):
    reference = {"chunkInfo": {"content": "Gepäck bis 1.131 SZR."}}
    record = {
        "name": "answers/1",
        "answerText": text,
        "citations": citations,
        "groundingSupports": claims,
        "references": [reference, reference],
        "createTime": "2026-03-01T03:00:00Z",
        "completeTime": "2026-03-01T03:00:01Z",
    }
    data = json.dumps(record).encode()
    (conversation,) = LogReader().read(Record("f", 1, data))
    assert isinstance(conversation, Conversation)
    scored = score_conversation(Sample(conversation, None, Record("f", 1, data)), MEASURED)
    assert {failure.stage for failure in scored.failures} <= {"check"}
    latency = next(entry for entry in scored.scores if entry.criterion.name == "turn_latency")
    assert latency.turns[0][1].value == 1.0
    validity = next(entry for entry in scored.scores if entry.criterion.name == "citation_validity")
    for _, score in validity.turns:
        for details in score.details["citations"]:
            assert (details["start"] is None) == bool(
                {"OffsetOutsideText", "OffsetInsideCharacter", "EmptyRange"} & set(details["problems"])
            )
            if details["start"] is not None:
                marked = text.encode()[details["start_byte"] : details["end_byte"]].decode()
                assert text[details["start"] : details["end"]] == marked
