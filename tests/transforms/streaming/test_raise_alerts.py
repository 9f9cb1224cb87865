"""Alerts on panes that arrive one after the other."""

from itertools import count

import apache_beam as beam
from apache_beam.testing import test_stream
from apache_beam.transforms.window import FixedWindows, TimestampedValue

from tests.transforms.streaming.engines import arriving, new_pipeline
from turnwise.schemas.config import AlertRule
from turnwise.schemas.run import StreamRules
from turnwise.transforms.beam.alerts import RaiseAlerts
from turnwise.transforms.beam.windows import WindowMetrics
from turnwise.transforms.metrics.state import MetricsState

RULES = StreamRules(window=100.0, allowed_lateness=200.0, session_gap=10.0)
GIVEN = {}
RUNS = count()
LOW = AlertRule(name="low", criterion="verdict", measure="pass_rate", below=0.5)
DROP = AlertRule(name="drop", criterion="verdict", measure="pass_rate", drop={})


class _CollectFn(beam.DoFn):
    def __init__(self, run):
        self._run = run

    def process(self, alert):
        GIVEN[self._run].append(alert)


def pane(start, passes, fails, *, pane="ON_TIME", version="v1"):
    state = MetricsState(passes + fails, passes + fails, passes, fails)
    return WindowMetrics(float(start), start + 100.0, version, pane, 0, state)


def alerts(rules, *panes):
    run = next(RUNS)
    GIVEN[run] = []
    stream = test_stream.TestStream()
    for one in panes:
        stream = stream.add_elements([TimestampedValue(one, one.window_start)])
    with new_pipeline() as root:
        windows = arriving(root, stream) | beam.WindowInto(FixedWindows(100))
        _ = windows | RaiseAlerts(RULES, rules) | beam.ParDo(_CollectFn(run))
    return [(a.rule, a.window_start[14:19], a.app_version, a.count, a.baseline_count) for a in GIVEN.pop(run)]


def test_once_a_window_rule_and_version():
    given = alerts(
        [LOW],
        *(pane(0, 5, 25, pane="EARLY"), pane(0, 5, 35), pane(0, 5, 45, pane="LATE")),
        *(pane(0, 1, 39, version="v2"), pane(100, 9, 31)),
    )
    assert given == [
        ("low", "00:00", "v1", 30, None),
        ("low", "00:00", "v2", 40, None),
        ("low", "01:40", "v1", 40, None),
    ]


def test_a_window_that_gets_worse_is_said_when_it_is():
    given = alerts([LOW], pane(0, 20, 10, pane="EARLY"), pane(0, 20, 30))
    assert given == [("low", "00:00", "v1", 50, None)]


def test_a_drop_is_held_against_the_window_before_of_the_same_version():
    given = alerts(
        [DROP],
        *(pane(0, 90, 10), pane(100, 10, 90, version="v2"), pane(100, 88, 12)),
        *(pane(200, 50, 50), pane(300, 50, 50)),
    )
    assert given == [("drop", "03:20", "v1", 100, 100)]


def test_a_drop_is_held_against_the_latest_figures_of_several_windows():
    rule = DROP.model_copy(update={"drop": DROP.drop.model_copy(update={"baseline": 2})})
    given = alerts(
        [rule],
        *(pane(0, 0, 1000), pane(100, 40, 10), pane(100, 80, 20, pane="LATE"), pane(200, 0, 0)),
        *(pane(300, 82, 18), pane(400, 50, 50)),
    )
    assert given == [("drop", "06:40", "v1", 100, 200)]


def test_windows_that_can_change_no_more_are_forgotten():
    many = [pane(100 * i, 100, 0) for i in range(12)]
    assert alerts([LOW], pane(0, 0, 30), *many[1:], pane(0, 0, 31)) == [
        ("low", "00:00", "v1", 30, None),
        ("low", "00:00", "v1", 31, None),
    ]
    assert len(alerts([LOW], pane(900, 0, 30), *many[10:], pane(900, 0, 31))) == 1
