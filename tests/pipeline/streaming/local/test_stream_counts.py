"""The counts of a store under the names that every run reports."""

from turnwise.pipeline.report.terminal import balance_text
from turnwise.pipeline.streaming.local.counts import stream_counts

COUNTS = {
    **{"records": 10, "rejected_records": 2, "results": 6, "rejected_conversations": 1, "rejected_cases": 3},
    **{"replaced": 4, "repeated": 5},
    **{"failure parse: ValueError": 2, "failure score: KeyError": 7, "failure a: B": 2},
    **{"version v1": 7, "version ": 1, "finding OffsetError": 3},
}


def test_counts_by_name():
    counts = stream_counts(COUNTS)
    assert counts == {
        **{name: COUNTS[name] for name in list(COUNTS)[:7]},
        **{"parsed_records": 8, "conversations": 7, "cases": None, "unused_cases": None},
        "failures": {"score: KeyError": 7, "a: B": 2, "parse: ValueError": 2},
        "findings": {"OffsetError": 3},
        "failures_by_version": {"v1": 7, "": 1},
    }
    assert list(counts["failures"]) == ["score: KeyError", "a: B", "parse: ValueError"], (
        "the most frequent first"
    )


def test_what_is_not_shown_is_counted():
    counts = {"failure a: A": 9, "failure b: B": 8, "failure c: C": 7, "failure d: D": 2, "failure e: E": 1}
    assert "failures: 9 a: A, 8 b: B, 7 c: C, 3 others" in balance_text(stream_counts(counts))
