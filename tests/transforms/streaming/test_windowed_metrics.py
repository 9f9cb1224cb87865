"""Contributions counted and put into windows, in event time: by Beam's driver and by the local loop."""

from itertools import count

import apache_beam as beam
import pytest
from apache_beam.testing import test_stream
from apache_beam.transforms.window import TimestampedValue
from apache_beam.utils.timestamp import MAX_TIMESTAMP
from hypothesis import given
from hypothesis import strategies as st

from tests.transforms.streaming.engines import arriving, new_pipeline
from turnwise.pipeline.streaming.changes import WindowSum
from turnwise.pipeline.streaming.local.loop import HORIZON, CountedOnce, Windows
from turnwise.schemas.run import StreamRules
from turnwise.transforms.beam.windows import Contribution, CountOnce, RecordOutcome, WindowedMetrics, revise
from turnwise.transforms.metrics.state import MetricsState, Tally

RULES = StreamRules(session_gap=10.0, window=100.0, allowed_lateness=200.0, pane_every=60.0)
GIVEN = {}
RUNS = count()


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


def outcome(contribution):
    return RecordOutcome(None, contribution, [], [], [], ())


DRIVERS = ["beam", "loop"]


@pytest.fixture(params=DRIVERS)
def panes(request):
    """Runs contributions (one a bundle, or a list of them), ("mark", watermark) and ("wait", seconds)."""
    return beam_panes if request.param == "beam" else loop_panes


def loop_panes(*events, earlier=lambda name: None, sums=()):
    counted, windows = CountedOnce(RULES, earlier), Windows(RULES, sums)
    given, watermark, clock = [], -1e9, 0.0
    for event in (*events, mark(MAX_TIMESTAMP.micros / 1e6)):
        if isinstance(event, tuple) and event[0] == "mark":
            watermark = event[1]
        elif isinstance(event, tuple) and event[0] == "wait":
            clock += event[1]
        else:
            for one in event if isinstance(event, list) else [event]:
                windows.add(counted.add(one))
        counted.forget(watermark)
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
            stream = stream.add_elements([TimestampedValue(outcome(one), one.event_time) for one in bundle])
    with new_pipeline() as root:
        outcomes = arriving(root, stream)
        changes = outcomes | "Once" >> CountOnce(RULES)
        _ = changes | "Metrics" >> WindowedMetrics(RULES) | beam.ParDo(_CollectFn(run))
    return GIVEN.pop(run)


def brief(given):
    return [(p.window_start, p.app_version, p.pane, p.state.conversations) for p in given]


def last(given):
    return {(p.window_start, p.app_version): p.state.conversations for p in given if p.state.conversations}


def mark(time):
    return ("mark", time)


def wait(seconds):
    return ("wait", seconds)


def test_early_on_time_and_late_panes_hold_everything_so_far(panes):
    given = panes(
        *(contribution("a", 5), wait(61), contribution("b", 6), mark(50)),
        *(mark(120), contribution("c", 9), contribution("d", 130)),
    )
    assert [(start, pane, n) for start, _, pane, n in brief(given)] == [
        (0.0, "EARLY", 1),
        (0.0, "ON_TIME", 2),
        (0.0, "LATE", 3),
        (100.0, "ON_TIME", 1),
    ]
    assert [pane.revision for pane in given] == [0, 1, 2, 0]
    assert {pane.window_end - pane.window_start for pane in given} == {100.0}


@pytest.mark.parametrize(
    ("events", "timings"),
    [
        ([contribution("a", 5), wait(61), mark(150)], ["EARLY", "ON_TIME"]),
        ([mark(150), contribution("a", 5)], ["LATE"]),
    ],
    ids=["nothing new at its end", "nothing before its end"],
)
def test_panes_without_changes_before_or_at_the_end_of_a_window(panes, events, timings):
    given = panes(*events)
    assert [(pane.pane, pane.state.conversations) for pane in given] == [(timing, 1) for timing in timings]


def test_early_panes_are_a_second_apart_at_least():
    windows = Windows(StreamRules(window=100.0, pane_every=0.1))
    windows.add(CountedOnce(RULES, lambda name: None).add(contribution("a", 5)))
    timings = [[pane.pane for pane in windows.panes(-1e9, clock)] for clock in (0.0, 0.9, 1.0)]
    assert timings == [[], [], ["EARLY"]]


TWICE = [
    ("in two", [contribution("a", 5), contribution("a", 5)]),
    ("after the end of the window", [contribution("a", 5), mark(150), contribution("a", 5)]),
]


@pytest.mark.parametrize("events", [case[1] for case in TWICE], ids=[case[0] for case in TWICE])
def test_what_comes_twice_counts_once(panes, events):
    given = panes(*events)
    assert [pane.state for pane in given] == [contribution("a", 5).statistics]


def test_a_revision_takes_back_what_it_revises(panes):
    given = panes(
        *(contribution("a", 5), contribution("b", 5), mark(150)),
        contribution("a", 160, revision=1, criterion="d"),
    )
    assert brief(given) == [(0.0, "v1", "ON_TIME", 2), (0.0, "v1", "LATE", 2)]
    before, after = (pane.state for pane in given)
    assert {name: t.scored for (name, turn), t in before.tallies.items() if turn is None} == {"c": 2}
    assert {name: t.scored for (name, turn), t in after.tallies.items() if turn is None} == {"c": 1, "d": 1}


def test_a_revision_may_change_the_app_version(panes):
    given = panes(contribution("a", 5), mark(150), contribution("a", 5, revision=1, version="v2"))
    assert last(given[:1]) == {(0.0, "v1"): 1}
    assert {(p.app_version, p.state == MetricsState()) for p in given[1:]} == {("v1", True), ("v2", False)}


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


def test_a_window_takes_conversations_until_its_lateness_and_two_waits_are_over(panes):
    given = panes(
        *(contribution("a", 5), mark(120), mark(319), contribution("b", 6)),
        *(mark(322), contribution("c", 7)),
    )
    assert [pane.state.conversations for pane in given] == [1, 2]


def test_conversations_are_forgotten_with_their_window(panes):
    given = panes(
        *(contribution("a", 5), contribution("b", 250), mark(322)),
        *(contribution("a", 260), contribution("b", 250)),
    )
    assert last(given) == {(0.0, "v1"): 1, (200.0, "v1"): 2}


def test_what_a_window_still_takes_is_known_to_be_counted():
    before, last_moment = contribution("a", 5), mark(200 + RULES.window_lateness)
    given = loop_panes(before, contribution("b", 105), last_moment, contribution("b", 105))
    assert last(given) == {(0.0, "v1"): 1, (100.0, "v1"): 1}


def find_earlier(name):
    return revise(None, contribution(name, 5))[0] if name in "rs" else None


def test_restored_sums_count_and_conversations_that_were_counted_do_not():
    old = contribution("r", 5)
    given = loop_panes(
        *(contribution("a", 6), contribution("r", 5), contribution("s", 5, revision=1, criterion="d")),
        earlier=find_earlier,
        sums=[WindowSum(0.0, "v1", old.statistics), WindowSum(0.0, "v1", old.statistics)],
    )
    (pane,) = (pane for pane in given if pane.pane == "ON_TIME")
    assert pane.state.conversations == 3
    assert {name: t.scored for (name, turn), t in pane.state.tallies.items() if turn is None} == {
        "c": 2,
        "d": 1,
    }


def test_the_number_of_conversations_that_are_remembered_is_bounded():
    contributions = [contribution(str(number), 5) for number in range(HORIZON + 1)]
    given = loop_panes(contributions, [contributions[-1]], [contributions[0]])
    assert last(given) == {(0.0, "v1"): len(contributions) + 1}
