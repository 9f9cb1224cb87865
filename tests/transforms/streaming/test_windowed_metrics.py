"""Contributions counted and put into windows, in event time: by Beam's driver and by the local loop.

A line of `windows.jsonl` has `events`: ["mark", watermark], ["wait", seconds], or a contribution by its name,
time and fields. `panes` are start, app version, timing, how many conversations a criterion scored, revision;
`first` is the first of them, `rest` what others have in any order, `last` the conversations at the end.
"""

from itertools import count

import apache_beam as beam
import pytest
from apache_beam.testing import test_stream
from apache_beam.transforms.window import TimestampedValue
from apache_beam.utils.timestamp import MAX_TIMESTAMP
from hypothesis import given
from hypothesis import strategies as st

from tests.tables import lines_beside
from tests.transforms.streaming.engines import arriving, new_pipeline
from turnwise.pipeline.streaming.local.loop import Windows
from turnwise.schemas.run import StreamRules
from turnwise.transforms.beam.windows import (
    Contribution,
    CountOnce,
    RecordOutcome,
    SumsChange,
    WindowedMetrics,
    revise,
)
from turnwise.transforms.metrics.state import MetricsState, Tally

RULES = StreamRules(session_gap=10.0, window=100.0, allowed_lateness=200.0, pane_every=60.0)
GIVEN = {}
RUNS = count()
LINES = lines_beside(__file__, "windows.jsonl")


class _CollectFn(beam.DoFn):
    def __init__(self, run):
        self._run = run

    def process(self, pane):
        GIVEN[self._run].append(pane)


def contribution(name, time, *, revision=0, digest=b"a", version="v1", criterion="c"):
    tally = Tally()
    tally.add(0.1, "PASS", True)
    state = MetricsState(conversations=1, turns=1, tallies={(criterion, None): tally, (criterion, 0): tally})
    return Contribution(name, revision, digest, time, version, state)


def loop_panes(*events, sums=()):
    """Runs contributions (one a bundle, or a list of them), ("mark", watermark) and ("wait", seconds)."""
    counted, windows = {}, Windows(RULES, sums)
    given, watermark, clock = [], -1e9, 0.0
    for event in (*events, mark(MAX_TIMESTAMP.micros / 1e6)):
        if isinstance(event, tuple) and event[0] == "mark":
            watermark = event[1]
        elif isinstance(event, tuple) and event[0] == "wait":
            clock += event[1]
        else:
            for one in event if isinstance(event, list) else [event]:
                counted[one.name], changes = revise(counted.get(one.name), one)
                windows.add(changes)
        left = watermark - RULES.window - RULES.window_lateness
        counted = {name: known for name, known in counted.items() if known.event_time // 100 * 100 >= left}
        given += windows.panes(watermark, clock)
    return given


def beam_panes(*events):
    run = next(RUNS)
    GIVEN[run] = []
    stream = test_stream.TestStream()
    for event in events:
        if isinstance(event, tuple) and event[0] == "mark":
            stream = stream.advance_watermark_to(event[1])
        elif isinstance(event, tuple) and event[0] == "wait":
            stream = stream.advance_processing_time(event[1])
        else:
            bundle = event if isinstance(event, list) else [event]
            outcomes = [(RecordOutcome(None, one, [], [], [], ()), one.event_time) for one in bundle]
            stream = stream.add_elements([TimestampedValue(*one) for one in outcomes])
    with new_pipeline() as root:
        outcomes = arriving(root, stream)
        changes = outcomes | "Once" >> CountOnce(RULES)
        _ = changes | "Metrics" >> WindowedMetrics(RULES) | beam.ParDo(_CollectFn(run))
    return GIVEN.pop(run)


def last(given):
    return {(p.window_start, p.app_version): p.state.conversations for p in given if p.state.conversations}


def mark(time):
    return ("mark", time)


def told(pane):
    tallies = {name: tally.scored for (name, turn), tally in pane.state.tallies.items() if turn is None}
    assert pane.window_end - pane.window_start == 100.0
    assert pane.state.conversations == sum(tallies.values())
    assert tallies or pane.state == MetricsState()
    assert tallies != {"c": 1} or pane.state == contribution("a", 5).statistics
    return [pane.window_start, pane.app_version, pane.pane, tallies, pane.revision]


@pytest.mark.parametrize("panes", [beam_panes, loop_panes])
@pytest.mark.parametrize("name", LINES)
def test_panes(panes, name):
    line, events = LINES[name], []
    for first, second, *fields in line["events"]:
        is_time = first in ("mark", "wait")
        events.append((first, second) if is_time else contribution(first, second, **dict(*fields)))
    given = panes(*events)
    today = {
        "panes": [told(pane) for pane in given],
        "first": told(given[0]),
        "rest": sorted((told(pane)[1:4:2] for pane in given[1:]), key=str),
        "last": [[*key, number] for key, number in last(given).items()],
    }
    for key in line.keys() & today.keys():
        assert today[key] == line[key], key


def test_early_panes_are_a_second_apart_at_least():
    windows = Windows(StreamRules(window=100.0, pane_every=0.1))
    windows.add(revise(None, contribution("a", 5))[1])
    timings = [[pane.pane for pane in windows.panes(-1e9, clock)] for clock in (0.0, 0.9, 1.0)]
    assert timings == [[], [], ["EARLY"]]


SAME_NAME = st.builds(
    lambda revision, digest, time: contribution(
        *("n", time), revision=revision, digest=digest.encode(), version=f"v{digest < 'c'}", criterion=digest
    ),
    st.integers(0, 2),
    st.sampled_from("abcd"),
    st.sampled_from([5.0, 150.0]),
)


@given(st.lists(SAME_NAME, min_size=1, max_size=6))
def test_of_all_that_comes_under_one_name_the_last_of_the_highest_revision_counts(contributions):
    highest = max(one.revision for one in contributions)
    counted = [one for one in contributions if one.revision == highest][-1]
    start = contributions[0].event_time // 100 * 100
    given = {(pane.window_start, pane.app_version): pane.state for pane in loop_panes(contributions)}
    left = {place: state for place, state in given.items() if state != MetricsState()}
    assert left == {(start, counted.app_version): counted.statistics}


def test_what_a_window_still_takes_is_known_to_be_counted():
    before, last_moment = contribution("a", 5), mark(200 + RULES.window_lateness)
    given = loop_panes(before, contribution("b", 105), last_moment, contribution("b", 105))
    assert last(given) == {(0.0, "v1"): 1, (100.0, "v1"): 1}


def test_restored_sums_count():
    old = SumsChange(1, 0.0, "v1", contribution("r", 5).statistics)
    given = loop_panes(contribution("a", 6, criterion="d"), sums=[old, old])
    (pane,) = (pane for pane in given if pane.pane == "ON_TIME")
    assert pane.state.conversations == 3
    assert told(pane)[3] == {"c": 2, "d": 1}
