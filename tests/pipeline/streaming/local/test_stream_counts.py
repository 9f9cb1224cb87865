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
    numbers = {"A": 9, "B": 8, "C": 7, "D": 2, "E": 1}
    counts = {f"failure parse: {kind}": number for kind, number in numbers.items()}
    text = "27 records could not be read as a conversation (9 A, 8 B, 7 C, 3 others): see the table failures"
    examples = {"parse: B": "such as a.jsonl:1: no JSON"}
    assert f"{text}\n  such as a.jsonl:1: no JSON" in balance_text(stream_counts(counts), examples)
