"""Alerts on the windows of a stream.

A line of `alerts.jsonl` holds a `rule` against a `window` beside its `baseline`, or `rules` against `panes`
(start, conversations that pass and that fail, which pane, app version) one after the other. A tally, of whole
conversations or of a turn, holds values so many times. `says` is what the alert says (null: there is none);
of panes: rule, start, app version, count and count of the baseline of each alert.
"""

from itertools import count
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.testing.test_stream import TestStream
from apache_beam.transforms.window import FixedWindows, TimestampedValue

from tests.tables import lines_beside
from tests.transforms.streaming.engines import arriving, new_pipeline
from turnwise.schemas.config import AlertRule
from turnwise.schemas.run import StreamRules
from turnwise.transforms.beam.windows import RaiseAlerts, WindowMetrics, evaluate_rule
from turnwise.transforms.metrics.state import MetricsState, Tally

LINES = lines_beside(__file__, "alerts.jsonl")
RULES = StreamRules(window=100.0, allowed_lateness=200.0, session_gap=10.0)
GIVEN: dict[int, list[Any]] = {}
RUNS = count()
NEAR = {"p_value": 0.01, "p50": 0.002, "p99": 0.002}
VERDICTS = {"passes": 15, "fails": 5, "conversations": 25}


class _CollectFn(beam.DoFn):
    def __init__(self, run):
        self._run = run

    def process(self, alert):
        GIVEN[self._run].append(alert)


def state(passes=0, fails=0, conversations=None, tallies=None):
    keyed = {}
    for key, stated in (tallies or {}).items():
        name, _, turn = key.partition(" ")
        tally = keyed[name, int(turn) if turn else None] = Tally()
        values, number = stated["values"]
        for value in values * number:
            tally.add(value, None, stated.get("timed", False))
        tally.passes, tally.fails, tally.no_score = (
            stated.get(of, 0) for of in ("passes", "fails", "no_score")
        )
    total = (passes + fails or len(keyed)) if conversations is None else conversations
    return MetricsState(total, total, passes, fails, keyed)


def window(stated, pane="ON_TIME", version="v1", start=3600.0, length=3600.0):
    return WindowMetrics(start, start + length, version, pane, 0, state(**stated))


@pytest.mark.parametrize("name", [name for name, line in LINES.items() if "rule" in line])
def test_a_rule(name):
    line = LINES[name]
    rule = AlertRule(**{"name": "mine", **line["rule"]})
    baseline = state(**line["baseline"]) if line.get("baseline") else None
    seen = window(line["window"], line.get("pane", "ON_TIME"), line.get("version", "v1"))
    alert, says = evaluate_rule(rule, seen, baseline), line["says"]
    assert isinstance(alert, str) is (says is None)
    for field, value in (says or {}).items():
        if isinstance(value, float):
            value = pytest.approx(value, rel=NEAR.get(field, NEAR.get(rule.measure)))
        assert getattr(alert, field) == value
    if says is not None:
        assert all(part in alert.message for part in line.get("message", [])) and "\n" not in alert.message
    if rule.drop:
        assert evaluate_rule(rule, seen._replace(pane="EARLY"), baseline) == alert, "valid at every pane"
        # A later window needs more.
        later = evaluate_rule(rule, seen, baseline, 10)
        assert isinstance(later, str) or later.p_value == pytest.approx(alert.p_value * 55), (
            "a later window needs more"
        )


@pytest.mark.parametrize("name", [name for name, line in LINES.items() if "panes" in line])
def test_panes_that_arrive_one_after_the_other(name):
    line, run = LINES[name], next(RUNS)
    GIVEN[run] = []
    stream = TestStream()
    for start, passes, fails, pane, version in line["panes"]:
        made = window({"passes": passes, "fails": fails}, pane, version, float(start), 100.0)
        stream = stream.add_elements([TimestampedValue(made, made.window_start)])
    with new_pipeline() as root:
        windows = arriving(root, stream) | beam.WindowInto(FixedWindows(100))
        rules = [AlertRule(**rule) for rule in line["rules"]]
        _ = windows | RaiseAlerts(RULES, rules) | beam.ParDo(_CollectFn(run))
    said = [[a.rule, a.window_start[14:19], a.app_version, a.count, a.baseline_count] for a in GIVEN.pop(run)]
    assert said == line["says"]


def test_names_tell_rules_windows_and_versions_apart():
    asked = AlertRule(name="mine", criterion="verdict", measure="count", above=1)
    made = [
        evaluate_rule(asked, window(VERDICTS), None),
        evaluate_rule(asked.model_copy(update={"name": "other"}), window(VERDICTS), None),
        evaluate_rule(asked, window(VERDICTS, version="v2"), None),
        evaluate_rule(asked, window(VERDICTS)._replace(window_start=0.0), None),
    ]
    assert len({alert.name for alert in made}) == 4
    assert evaluate_rule(asked, window({"passes": 99}, "LATE"), None).name == made[0].name
