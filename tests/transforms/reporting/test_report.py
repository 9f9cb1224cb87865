"""Figures of a report: criteria, curves, tools, gaps, slices and what stands out."""

import pytest

from tests.pipeline.report_html.made_run import Row, conversation, score, scores, turn
from turnwise.schemas.comparison import Bounds
from turnwise.schemas.report import Slice
from turnwise.transforms.decisions.comparison.words import share_text
from turnwise.transforms.decisions.report.document import call_pairs, tool_figures
from turnwise.transforms.decisions.report.figures import (
    CollectedRuns,
    Entry,
    VersionKey,
    criterion_rows,
    failure_groups,
    outcomes,
    slices,
)
from turnwise.transforms.statistics.tests import shrink

V1 = VersionKey(0, "v1")


def entry(row: Row, *extra: Row) -> Entry:
    return Entry(V1, row, [{k: v for k, v in one.items() if v is not None} for one in (*scores(row), *extra)])


def collected(*entries: Entry, **units: str) -> CollectedRuns:
    return CollectedRuns([V1], list(entries), [[]], units, [0])


def test_a_criterion_without_a_value_has_no_figure():
    rows = {row.name: row for row in criterion_rows(collected(entry(conversation("a", None))))}
    (figure,) = rows["verdict"].figures
    assert figure is not None
    assert (figure.count, figure.scored, figure.no_score, figure.share, figure.mean) == (1, 0, 1, None, None)
    (figure,) = rows["tool_trajectory_avg_score"].figures
    assert figure is not None and (figure.no_score, figure.share, figure.low) == (1, None, None)


def test_shares_have_intervals_and_turns():
    rows = criterion_rows(collected(entry(conversation("a")), entry(conversation("b", "FAIL"))))
    (figure,) = rows[1].figures
    assert rows[1].name == "tool_trajectory_avg_score" and figure is not None
    assert (figure.share, figure.passed, figure.failed) == (0.5, 1, 1)
    assert figure.low == pytest.approx(0.0945, abs=1e-3) and figure.high == pytest.approx(0.9055, abs=1e-3)
    assert figure.by_turn == [(1.0, 2), (0.5, 2)]


def test_equal_shares_have_equal_intervals():
    names = {"criterion": "recorded_reward", "outcome": None, "threshold": None}
    entries = [
        entry(
            row := conversation(str(i), "PASS" if i < 13 else "FAIL"),
            score(row, None, float(i < 13), **names),
        )
        for i in range(20)
    ]
    shown = {row.name: row.figures[0] for row in criterion_rows(collected(*entries))}
    reward, verdict = shown["recorded_reward"], shown["verdict"]
    assert reward and verdict and (reward.low, reward.high) == (verdict.low, verdict.high)
    of_copies = collected(*entries)
    of_copies.bounds["tool_trajectory_avg_score", True, V1] = Bounds(0.1, 0.9)
    (figure,) = criterion_rows(of_copies)[1].figures
    assert figure and (figure.low, figure.high) == (0.1, 0.9), "of independent trials, as the metrics have it"


def latency(name: str, *seconds: float) -> Entry:
    row = conversation(name)
    names = {"criterion": "turn_latency", "outcome": None, "threshold": None}
    return entry(row, *(score(row, i, value, **names) for i, value in enumerate(seconds)))


def test_latencies_are_means_over_turns_with_an_interval_over_conversations():
    own = collected(latency("a", 1.0, 1.0), latency("b", 2.0), latency("c", 3.0, 3.0), turn_latency="seconds")
    found = next(one for one in criterion_rows(own) if one.name == "turn_latency")
    (figure,) = found.figures
    assert figure is not None and (found.unit, found.level, found.high) == ("seconds", "turn", None)
    assert (figure.mean, figure.share, figure.scored) == (2.0, None, 5)
    # Squares of the sums of deviations: 4 + 0 + 4; 8 * 3 / 2 / 5**2 = 0.48; t of 2 degrees: 4.3027.
    assert figure.low == 0.0 and figure.high == pytest.approx(2 + 4.3027 * 0.48**0.5, abs=1e-3)


def test_values_that_say_that_nothing_was_claimed_are_in_no_mean():
    row = conversation("a")
    extra = [score(row, i, value, criterion="hallucination", outcome=None) for i, value in enumerate([1, -1])]
    found = next(one for one in criterion_rows(collected(entry(row, *extra))) if one.name == "hallucination")
    assert found.figures[0] is not None and found.figures[0].mean == 1.0


BOTH = {"x": 1, "y": 1}
CONTAINS = {"$matchType": "contains", "$matchValue": "ab"}
IGNORE = {"$matchType": "ignore"}
BROKEN = {"$matchType": "regexp", "$matchValue": "("}


@pytest.mark.parametrize(
    ("expected", "actual", "pairs"),
    [
        ([("a", {"x": 1})], [("a", {"x": 2})], [(0, 0, ("x",))]),
        ([("a", {"x": 1})], [("a", {"x": 2}), ("a", {"x": 1})], [(0, 1, ()), (None, 0, ())]),
        ([("a", {"x": 1}), ("a", BOTH)], [("a", BOTH), ("a", {"x": 1})], [(0, 1, ()), (1, 0, ())]),
        ([("a", {})], [("b", {})], [(0, None, ()), (None, 0, ())]),
        ([("a", {"x": 1})], [("a", '{"x": 1… [9 characters left out]')], [(0, 0, ())]),
        ([("a", {"x": CONTAINS})], [("a", {"x": "cabd"})], [(0, 0, ())]),
        ([("a", {"x": IGNORE})], [("a", {})], [(0, 0, ())]),
        ([("a", {"x": BROKEN})], [("a", {"x": "y"})], [(0, 0, ())]),
    ],
)
def test_calls_are_paired_by_tool_and_arguments(expected, actual, pairs):
    wanted, made = ([{"name": name, "args": args} for name, args in side] for side in (expected, actual))
    assert [tuple(pair) for pair in call_pairs(wanted, made)] == pairs


def test_tools_count_errors_and_wrong_arguments():
    call = {"name": "book_slot", "args": {"date": "x"}, "effect": "write", "error": "closed", "seconds": None}
    transcript = {"turns": [turn(0, tool_calls=[call]), turn(1)], "expected": None}
    (found,) = tool_figures(collected(entry(conversation("a", transcript=transcript))))
    assert (found.calls, found.errors, found.p50) == (2, 1, 0.5)
    assert found.wrong == [("date", 1), ("time", 1)] and found.effects == {"write": 2}


def test_failures_are_grouped_and_their_records_cut_with_a_mark():
    row = {"stage": "parse", "error_type": "ValueError", "record": "x" * 5000, "turn_index": None}
    first, second = failure_groups([[{"stage": "check", "error_type": "odd"}, *[row] * 30]])
    assert (first.stage, first.count, len(first.rows)) == ("parse", 30, 25)
    assert len(first.rows[0]["record"]) == 4000 and first.rows[0]["record_cut"] == 1000
    assert "turn_index" not in first.rows[0] and second.stage == "check"


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (1.0, "100.0%"),
        (0.9994, "99.9%"),
        (0.9995, ">99.9%"),
        (0.0, "0.0%"),
        (0.0005, "0.1%"),
        (0.0001, "<0.1%"),
        (13 / 16, "81.2%"),
    ],
)
def test_only_all_is_100_percent_and_only_none_is_0(share, text):
    assert share_text(share) == text


V1, V2 = VersionKey(0, "v1"), VersionKey(0, "v2")
STATUS = "verdict"


def sliced(verdict: str | None, version: VersionKey = V1, **columns: object) -> Entry:
    row = conversation("c", verdict, **columns)
    return Entry(version, row, [{k: v for k, v in one.items() if v is not None} for one in scores(row)])


def slices_of(entries: list[Entry], versions: list[VersionKey]) -> dict[tuple[str, str], Slice]:
    collected = CollectedRuns(versions, entries, [[]], {}, [0])
    return {(one.kind, one.value): one for one in slices(collected)}


def test_a_slice_that_is_worse_stands_out_and_so_does_the_rest():
    entries = [sliced("PASS", language="en") for _ in range(40)]
    entries += [sliced("FAIL" if i < 30 else "PASS", language="de") for i in range(40)]
    rows = slices_of(entries, [V1])
    (german,) = rows["language", "de"].figures[STATUS]
    assert german is not None
    assert (german.passed, german.failed, german.no_score, german.stands_out) == (10, 30, 0, True)
    assert german.difference == pytest.approx(-0.75)
    (english,) = rows["language", "en"].figures[STATUS]
    assert english is not None and english.stands_out and english.difference == pytest.approx(0.75)


def test_chance_does_not_stand_out_and_what_would_is_stated():
    entries = [sliced("FAIL" if i % 3 == 0 else "PASS", language="de" if i < 6 else "en") for i in range(30)]
    (figure,) = slices_of(entries, [V1])["language", "de"].figures[STATUS]
    assert figure is not None and not figure.stands_out
    assert figure.detectable == pytest.approx(0.614, abs=0.001)


def test_a_slice_of_everything_says_nothing():
    assert ("language", "en") not in slices_of([sliced("PASS"), sliced("FAIL")], [V1])


def test_what_is_not_decided_is_no_failure_and_no_pass():
    entries = [sliced(None, tags=["x"]), sliced("PASS", tags=["x"]), sliced("PASS")]
    (figure,) = slices_of(entries, [V1])["tag", "x"].figures[STATUS]
    assert figure is not None
    assert (figure.passed, figure.failed, figure.no_score) == (1, 0, 1)
    only = slices_of([sliced(None, tags=["x"]), sliced("PASS")], [V1])["tag", "x"].figures[STATUS]
    assert only[0] is not None and only[0].difference is None and only[0].detectable is None


@pytest.mark.parametrize(("turns", "name"), [(1, "1"), (6, "4 to 6"), (11, "over 10")])
def test_lengths(turns, name):
    other = sliced("PASS", turns=20 if turns < 11 else 1)
    assert ("turns", name) in slices_of([sliced("PASS", turns=turns), other], [V1])


PASSED, FAILED = {"value": 1.0, "outcome": "PASS"}, {"value": 0.0, "outcome": "FAIL"}


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        ([{"turn_index": 0, **PASSED}, {"turn_index": 1, **FAILED}], {"x": "FAIL"}),
        ([{"turn_index": 0, **FAILED}, PASSED], {"x": "PASS"}),
        ([{"turn_index": 0, **PASSED}, {"turn_index": 1}], {"x": None}),
        ([{"turn_index": 0, **PASSED}], {"x": "PASS"}),
        ([{"value": 3.0}], {}),
        ([{"reason": "no answer"}], {"x": None}),
    ],
)
def test_outcomes_of_a_conversation(own, expected):
    made = Entry(V1, conversation("c"), [{"criterion": "x", **score} for score in own])
    assert outcomes(made) == {STATUS: "PASS", **expected}


def test_shrinking_moves_uncertain_differences_most():
    drawn = shrink([0.5, -0.5, 0.4], [0.001, 0.001, 0.5])
    assert drawn[0] == pytest.approx(0.5, abs=0.01) and drawn[1] == pytest.approx(-0.5, abs=0.01)
    assert abs(drawn[2]) < 0.3
    assert shrink([0.1, 0.1], [0.01, 0.01]) == pytest.approx([0.1, 0.1])
    assert shrink([0.3], [0.2]) == pytest.approx([0.3])
