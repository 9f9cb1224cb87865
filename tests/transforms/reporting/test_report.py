"""Figures of a report: criteria, curves, tools, gaps, slices and what stands out.

Each line of `figures.jsonl` has `conversations` (verdict, columns, how many, further scores: criterion, turn,
value), `units` of criteria and `bounds` from the metrics. `says` are paths to what the report says: of a
criterion (`row` and `figure`), a slice (`language: de`), or the only tool -> value, or what it must be.
"""

import pytest

from tests.pipeline.report_html.made_run import conversation, score, scores
from tests.tables import is_as_wanted, lines_beside, stated, value_at
from turnwise.schemas.comparison import Bounds
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

LINES = lines_beside(__file__, "figures.jsonl")
V1 = VersionKey(0, "v1")
STATUS = "verdict"


def collected(line):
    """Returns the conversations of a line with the scores that fit their verdicts, and further ones."""
    entries = []
    for verdict, columns, *more in line["conversations"]:
        times, stated = more if more else (1, [])
        row = conversation("c", verdict, **columns)
        names = {"outcome": None, "threshold": None}
        extra = [score(row, turn, value, criterion=name, **names) for name, turn, value in stated]
        own = [{k: v for k, v in one.items() if v is not None} for one in (*scores(row), *extra)]
        entries += [Entry(V1, {**row, "conversation_id": f"c{len(entries) + i}"}, own) for i in range(times)]
    runs = CollectedRuns([V1], entries, [[]], line.get("units", {}), [0])
    for name, bounds in line.get("bounds", {}).items():
        runs.bounds[name, True, V1] = Bounds(*bounds)
    return runs


@pytest.mark.parametrize("name", LINES)
def test_figures(name):
    runs = collected(LINES[name])
    root = {one.name: {"row": one, "figure": one.figures[0]} for one in criterion_rows(runs)}
    root |= {f"{one.kind}: {one.value}": one.figures[STATUS][0] for one in slices(runs)}
    root["slices"] = [name for name in root if ": " in name]
    root["tool"] = next(tool_figures(runs))
    for path, wanted in LINES[name]["says"].items():
        assert is_as_wanted(value_at(root, path), wanted), (path, value_at(root, path), wanted)


@stated("pairs", "expected, actual, pairs")
def test_calls_are_paired_by_tool_and_arguments(expected, actual, pairs):
    wanted, made = ([{"name": name, "args": args} for name, args in side] for side in (expected, actual))
    assert [[*pair[:2], [*pair[2]]] for pair in call_pairs(wanted, made)] == pairs


def test_failures_are_grouped_and_their_records_cut_with_a_mark():
    row = {"stage": "parse", "error_type": "ValueError", "record": "x" * 5000, "turn_index": None}
    first, second = failure_groups([[{"stage": "check", "error_type": "odd"}, *[row] * 30]])
    assert (first.stage, first.count, len(first.rows)) == ("parse", 30, 25)
    assert len(first.rows[0]["record"]) == 4000 and first.rows[0]["record_cut"] == 1000
    assert "turn_index" not in first.rows[0] and second.stage == "check"


@stated("share", "share, text")
def test_only_all_is_100_percent_and_only_none_is_0(share, text):
    assert share_text(share) == text


PASSED, FAILED = {"value": 1.0, "outcome": "PASS"}, {"value": 0.0, "outcome": "FAIL"}


@stated("outcomes", "own, expected")
def test_outcomes_of_a_conversation(own, expected):
    made = Entry(V1, conversation("c"), [{"criterion": "x", **score} for score in own])
    assert outcomes(made) == {STATUS: "PASS", **expected}


def test_shrinking_moves_uncertain_differences_most():
    drawn = shrink([0.5, -0.5, 0.4], [0.001, 0.001, 0.5])
    assert drawn[0] == pytest.approx(0.5, abs=0.01) and drawn[1] == pytest.approx(-0.5, abs=0.01)
    assert abs(drawn[2]) < 0.3
    assert shrink([0.1, 0.1], [0.01, 0.01]) == pytest.approx([0.1, 0.1])
    assert shrink([0.3], [0.2]) == pytest.approx([0.3])
