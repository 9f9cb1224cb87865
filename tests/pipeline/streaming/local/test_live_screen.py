"""The screen of a stream, and its counts under the names that every run reports."""

from tests.tables import stated
from turnwise.pipeline.report.terminal import balance_text
from turnwise.pipeline.streaming.local.counts import stream_counts
from turnwise.pipeline.streaming.local.run import first_lines, tables

MANY = stream_counts({"results": 98765, "failure score: KeyError": 5, "version v1": 3})
SHOTS = {
    "nothing": (0.0, (0.0, 0.0), stream_counts({}), (0, 0, None, 0)),
    "busy": (3725.9, (1234.56, 6172.0), MANY, (60, 43, 12_000_000, 7)),
}


def status_row(version, conversations):
    counts = {"conversations": conversations, "turns": 2 * conversations, "no_score": 1, "sampled_out": 0}
    return {
        **{"app_version": version, "criterion": "verdict", "level": "conversation", "unit": "score"},
        **counts,
        "repeats": None,
        **{"pass_rate": 0.5, "pass_count": 2, "scored": 4, "pass_rate_low": 0.2, "pass_rate_high": 0.8},
        **{"window_start": "2026-11-21T08:00:00Z", "window_end": "2026-11-21T09:00:00Z"},
    }


def criterion_row(version, mean):
    own = {"criterion": "response_match_score", "mean": mean, "stddev": 0.1, "no_score": 1}
    return {**status_row(version, 4), **own}


@stated("first lines", "shot, lines")
def test_the_first_lines(shot, lines):
    assert first_lines(*SHOTS[shot]) == lines
    assert tables([], [], [], ["response_match_score"], MANY, 80) == []


def test_below_stand_alerts_the_last_windows_and_the_totals_by_app_version():
    rows = [status_row("v1", 5), criterion_row("v1", 0.75), status_row("v2", 6), criterion_row("v2", None)]
    rows.append({**criterion_row("v2", None), "criterion": "safety_v1", "level": "turn", "no_score": 3})
    rows.append({**rows[-1], "level": "conversation", "no_score": 2})
    windows, criteria = (
        [*rows[:2], status_row(None, 1)],
        ["response_match_score", "safety_v1", "turn_latency"],
    )
    lines = tables(["many-fail: bad\x1b"], windows, rows, criteria, MANY, 80)
    window = "  2026-11-21 08:00"
    figures = "pass rate 50.0% (2 of 4, 20.0 to 80.0), no verdict 1"
    assert lines[:9] == [
        *("", "last alerts", "  many-fail: bad\\u001b", "", "last windows"),
        f"{window}  v1: {figures}",
        f"{window}  (no version): {figures}",
        *("", "all windows"),
    ]
    table = {line.split("  ")[0]: line.split() for line in lines[10:]}
    assert lines[9].split() == ["v1", "v2"]
    assert table["conversations"][1:] == ["5", "6"]
    assert table["pass rate"][2:] == ["50.0%", "(2", "of", "4,", "20.0", "to", "80.0)"] * 2
    assert table["response_match_score"][1:] == ["50.0%", "50.0%"]
    assert table["no score, conversations"][-2:] == ["1", "1"] and table["no score, turns"][-2:] == ["0", "3"]
    assert table["rejected conversations, errors"][-2:] == ["3", "0"]
    assert not any("turn_latency" in line for line in lines), "nothing was measured"


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
    assert [*counts["failures"]] == ["score: KeyError", "a: B", "parse: ValueError"], "most frequent first"


def test_what_is_not_shown_is_counted():
    numbers = {"A": 9, "B": 8, "C": 7, "D": 2, "E": 1}
    counts = {f"failure parse: {kind}": number for kind, number in numbers.items()}
    text = "27 records could not be read as a conversation (9 A, 8 B, 7 C, 3 others): see the table failures"
    examples = {"parse: B": "such as a.jsonl:1: no JSON"}
    assert f"{text}\n  such as a.jsonl:1: no JSON" in balance_text(stream_counts(counts), examples)
