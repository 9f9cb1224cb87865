"""Contributions through CountOnce and WindowedMetrics, in event time."""

from itertools import count

import apache_beam as beam
import pytest
from apache_beam.testing import test_stream
from apache_beam.transforms.window import TimestampedValue
from msgspec.structs import replace

from tests.transforms.streaming.engines import arriving, new_pipeline
from turnwise.schemas.run import StreamRules
from turnwise.transforms.beam.windows import (
    HORIZON,
    Contribution,
    CountOnce,
    RecordOutcome,
    WindowedMetrics,
    none_counted,
    revise,
)
from turnwise.transforms.metrics.state import MetricsState, Tally

pytestmark = pytest.mark.usefixtures("engine")
RULES = StreamRules(session_gap=10.0, window=100.0, allowed_lateness=200.0, pane_every=60.0, slots=4)
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


def panes(*events, earlier=none_counted, sums=(), rules=RULES):
    """Runs contributions (one a bundle, or a list of them), ("mark", watermark) and ("wait", seconds)."""
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
        old = None
        if sums:
            old = root | "Sums" >> beam.Create(list(sums)) | "SumTimes" >> beam.MapTuple(TimestampedValue)
        changes = outcomes | "Once" >> CountOnce(rules, earlier)
        _ = changes | "Metrics" >> WindowedMetrics(rules, old) | beam.ParDo(_CollectFn(run))
    return GIVEN.pop(run)


def brief(given):
    return [(p.window_start, p.app_version, p.pane, p.state.conversations) for p in given]


def last(given):
    return {(p.window_start, p.app_version): p.state.conversations for p in given if p.state.conversations}


def mark(time):
    return ("mark", time)


def wait(seconds):
    return ("wait", seconds)


def test_early_on_time_and_late_panes_hold_everything_so_far():
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


TWICE = [
    ("in two", [contribution("a", 5), contribution("a", 5)]),
    ("after the end of the window", [contribution("a", 5), mark(150), contribution("a", 5)]),
]


@pytest.mark.parametrize("events", [case[1] for case in TWICE], ids=[case[0] for case in TWICE])
@pytest.mark.parametrize("slots", [None, 4])
def test_what_comes_twice_counts_once(events, slots):
    given = panes(*events, rules=replace(RULES, slots=slots))
    assert [pane.state for pane in given] == [contribution("a", 5).statistics]


def test_a_revision_takes_back_what_it_revises():
    given = panes(
        *(contribution("a", 5), contribution("b", 5), mark(150)),
        contribution("a", 160, revision=1, criterion="d"),
    )
    assert brief(given) == [(0.0, "v1", "ON_TIME", 2), (0.0, "v1", "LATE", 2)]
    before, after = (pane.state for pane in given)
    assert {name: t.scored for (name, turn), t in before.tallies.items() if turn is None} == {"c": 2}
    assert {name: t.scored for (name, turn), t in after.tallies.items() if turn is None} == {"c": 1, "d": 1}


def test_a_revision_may_change_the_app_version():
    given = panes(contribution("a", 5), mark(150), contribution("a", 5, revision=1, version="v2"))
    assert last(given[:1]) == {(0.0, "v1"): 1}
    assert {(p.app_version, p.state == MetricsState()) for p in given[1:]} == {("v1", True), ("v2", False)}


def test_a_window_takes_conversations_until_its_lateness_and_two_waits_are_over():
    given = panes(
        *(contribution("a", 5), mark(120), mark(319), contribution("b", 6)),
        *(mark(322), contribution("c", 7)),
    )
    assert [pane.state.conversations for pane in given] == [1, 2]


def test_conversations_are_forgotten_with_their_window():
    given = panes(
        *(contribution("a", 5), contribution("b", 250), mark(322)),
        *(contribution("a", 260), contribution("b", 250)),
    )
    assert last(given) == {(0.0, "v1"): 1, (200.0, "v1"): 2}


def find_earlier(name):
    return revise(None, contribution(name, 5))[0] if name in "rs" else None


def test_restored_sums_count_and_conversations_that_were_counted_do_not():
    old = contribution("r", 5)
    given = panes(
        *(contribution("a", 6), contribution("r", 5), contribution("s", 5, revision=1, criterion="d")),
        earlier=find_earlier,
        sums=[(("v1", old.statistics), 5), (("v1", old.statistics), 5)],
    )
    (pane,) = (pane for pane in given if pane.pane == "ON_TIME")
    assert pane.state.conversations == 3
    assert {name: t.scored for (name, turn), t in pane.state.tallies.items() if turn is None} == {
        "c": 2,
        "d": 1,
    }


def test_the_number_of_conversations_that_are_remembered_is_bounded():
    rules = replace(RULES, slots=8000)
    key = rules.key("a")
    names = [name for name in map(str, range(100_000)) if rules.key(name) == key][: HORIZON // 8000 + 1]
    contributions = [contribution(name, 5) for name in names]
    given = panes(contributions, [contributions[-1]], [contributions[0]], rules=rules)
    assert last(given) == {(0.0, "v1"): len(names) + 1}
