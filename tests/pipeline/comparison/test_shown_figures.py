"""Figures of a comparison and of a run as they are shown."""

import pytest

from turnwise.pipeline.report.comparison import criteria_table
from turnwise.pipeline.report.terminal import _mean
from turnwise.schemas.conversation import Conversation
from turnwise.transforms.decisions.comparison.collect import ComparedConversation, Observed
from turnwise.transforms.decisions.comparison.differences import CompareOptions, compare
from turnwise.transforms.decisions.comparison.sentences import amount
from turnwise.transforms.decisions.comparison.sides import ComparedSide, columns_of


def side(name, criterion, found):
    made = [
        ComparedConversation(f"{name}{i}", name, f"e{i}", criteria={criterion: own})
        for i, own in enumerate(found)
    ]
    return ComparedSide(name, "out", columns_of(made), ["run"])


def compared(criterion, a, b):
    return compare(side("v1", criterion, a), side("v2", criterion, b), CompareOptions())


def test_a_difference_of_milliseconds_is_not_shown_as_0():
    a = [Observed(0.002 + i / 1e5) for i in range(20)]
    b = [Observed(own.value + 0.0012 + i % 3 / 1e5) for i, own in enumerate(a)]
    found = compared("turn_latency", a, b)
    shown = criteria_table(found, 120)[1].split()
    assert shown[:5] == ["turn_latency", "0.0021", "s", "0.0033", "s"] and shown[5:7] == ["+0.0012", "s"]
    assert "+0.0012 s (+0.0012 to +0.0012 s)" in found.criteria[0].sentence


@pytest.mark.parametrize(
    "value, measure, unit, shown",
    [
        (0.004, "mean", "seconds", "0.0040 s"),
        (1.234, "mean", "seconds", "1.23 s"),
        (1e-17, "mean", "seconds", "0.000000 s"),
        (-0.0002, "mean", "score", "-0.00020"),
        (0.0002, "pass_rate", "score", "0.020 points"),
    ],
)
def test_as_many_decimals_as_a_figure_needs(value, measure, unit, shown):
    assert amount(value, measure, unit) == shown


def test_latencies_of_milliseconds_at_the_end_of_a_run():
    row = {
        "unit": "seconds",
        "criterion": "turn_latency",
        "mean": 0.0031,
        "p50": 0.003,
        "p90": 0.0,
        "p99": 1.5,
    }
    assert _mean(row) == "0.0031 s (p50 0.0030, p90 0.00, p99 1.50)"


def test_rates_of_the_pairs_that_both_sides_decide_say_so():
    passed, open_one = Observed(1.0, "PASS"), Observed(None, why="no judge")
    a, b = [passed] * 30, [passed] * 25 + [open_one] * 5
    assert "100.0% of 25  100.0% of 25" in criteria_table(compared("evaluation_status", a, b), 120)[1]
    assert " of " not in criteria_table(compared("evaluation_status", a, a), 120)[1]


@pytest.mark.parametrize("stated", ["", "  ", None])
def test_an_empty_app_version_is_none(stated):
    assert Conversation(conversation_id="c", app_version=stated).app_version is None
