"""Rows of conversations leave in lists, none twice and none missing, in order."""

from turnwise.schemas.conversation import Conversation, Record, Turn
from turnwise.schemas.rows import plain_rows
from turnwise.schemas.run import RunInfo
from turnwise.transforms.beam.steps import RESULTS, ROWS, SCORES, STATISTICS, BundleSums
from turnwise.transforms.criteria.base import CRITERIA
from turnwise.transforms.matching.sample import Sample
from turnwise.transforms.review.row import EvaluatedConversation, decide
from turnwise.transforms.scoring.evaluate import evaluate
from turnwise.transforms.scoring.selection import Criteria

RUN = RunInfo("r", "2026-01-01T00:00:00Z")


def evaluated(number: int, data: bytes = b"") -> EvaluatedConversation:
    turns = [Turn(agent="Hello", latency_ms=5)]
    sample = Sample(Conversation(conversation_id=f"c{number}", turns=turns), None, Record("f", number, data))
    return decide(evaluate(sample, Criteria([CRITERIA["turn_latency"](threshold=1)]))[0], RUN)


def names(rows: list) -> list[str]:
    return [row["conversation_id"] for row in plain_rows(rows)]


def test_rows_leave_in_lists_and_the_rest_at_the_end_of_the_bundle():
    sums = BundleSums()
    during = [output for i in range(22) for output in sums.give(evaluated(i), None)]
    after = [(output.tag, output.value.value) for output in sums.finish()]
    given = [(output.tag, output.value) for output in during] + after
    tables = [rows for tag, rows in given if tag == ROWS]
    results = [rows for table, rows in tables if table == RESULTS]
    assert [len(rows) for rows in results] == [16, 6]
    assert names([row for rows in results for row in rows]) == [f"c{i}" for i in range(22)]
    scores = [row for table, rows in tables if table == SCORES for row in rows]
    assert names(scores) == [f"c{i}" for i in range(22) for _ in ("turn", "whole")]
    ((_, state),) = [entry for tag, entry in given if tag == STATISTICS]
    assert state.conversations == 22


def test_rows_of_large_records_are_not_kept():
    sums = BundleSums()
    during = [sums.give(evaluated(i, b" " * 600_000), None) for i in range(4)]
    assert [names(o.value[1]) for outputs in during for o in outputs if o.value[0] == RESULTS] == [
        ["c0", "c1"],
        ["c2", "c3"],
    ]
    assert [o.tag for o in sums.finish()] == [STATISTICS]


def test_the_rows_of_an_aborted_bundle_are_discarded():
    sums = BundleSums()
    sums.give(evaluated(1), None)
    sums.start()
    sums.give(evaluated(2), None)
    assert [names(o.value.value[1]) for o in sums.finish() if o.value.value[0] == RESULTS] == [["c2"]]


def test_a_bundle_without_conversations_gives_nothing():
    assert BundleSums().finish() == []
