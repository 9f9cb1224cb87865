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


def test_rows_leave_in_one_list_a_table_and_sums_at_the_end_of_the_bundle():
    sums = BundleSums()
    during = sums.give([evaluated(i) for i in range(22)], None)
    tables = dict(output.value for output in during if output.tag == ROWS)
    assert names(tables[RESULTS]) == [f"c{i}" for i in range(22)]
    assert names(tables[SCORES]) == [f"c{i}" for i in range(22) for _ in ("turn", "whole")]
    ((_, state),) = [output.value.value for output in sums.finish() if output.tag == STATISTICS]
    assert state.conversations == 22


def test_the_sums_of_an_aborted_bundle_are_discarded():
    sums = BundleSums()
    sums.give([evaluated(1)], None)
    sums.start()
    assert sums.finish() == []
