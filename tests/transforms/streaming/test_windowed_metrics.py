"""Contributions through CountOnce and WindowedMetrics, in event time, on the local streaming engine."""

from itertools import count

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.testing.test_stream import TestStream
from apache_beam.transforms.window import TimestampedValue

from transforms.metrics import MetricsState
from transforms.streaming.latest import CountOnce
from transforms.streaming.outcome import Contribution
from transforms.streaming.rules import StreamRules
from transforms.streaming.windowed import WindowedMetrics

OPTIONS = PipelineOptions(["--runner=BundleBasedDirectRunner", "--streaming"])
RULES = StreamRules(session_gap=10, window=100, allowed_lateness=200, pane_every=60, slots=4)
GIVEN = {}
RUNS = count()


class _CollectFn(beam.DoFn):
    def __init__(self, run):
        self._run = run

    def process(self, pane):
        state = pane.state
        criteria = sorted({name for name, _ in state.tallies})
        GIVEN[self._run].append(
            (pane.window_start, pane.app_version, pane.pane, state.conversations, criteria)
        )


def contribution(name, time, *, revision=0, digest=b"a", version="v1", criterion="c", is_restored=False):
    state = MetricsState(conversations=1, turns=1)
    state._tally(criterion, None).add(0.1, "PASS")
    return Contribution(name, revision, digest, time, version, state, is_restored)


def panes(*events, restored=(), sums=(), rules=RULES):
    """Runs events (contributions, or ("mark", watermark) or ("wait", seconds)) and returns the panes."""
    run = next(RUNS)
    GIVEN[run] = []
    stream = TestStream()
    for event in events:
        if isinstance(event, Contribution):
            stream = stream.add_elements([TimestampedValue(event, event.event_time)])
        elif event[0] == "mark":
            stream = stream.advance_watermark_to(event[1])
        elif event[0] == "wait":
            stream = stream.advance_processing_time(event[1])
        else:
            stream = stream.add_elements([TimestampedValue(one, one.event_time) for one in event[1]])
    with beam.Pipeline(options=OPTIONS) as root:
        arriving = root | "Stream" >> stream.advance_watermark_to_infinity()
        if restored:
            known = root | "Restored" >> beam.Create(list(restored))
            arriving = (arriving, known) | "All" >> beam.Flatten()
        old = None
        if sums:
            old = root | "Sums" >> beam.Create(list(sums)) | "SumTimes" >> beam.MapTuple(TimestampedValue)
        changes = arriving | "Once" >> CountOnce(rules)
        _ = changes | "Metrics" >> WindowedMetrics(rules, old) | beam.ParDo(_CollectFn(run))
    return GIVEN.pop(run)


def test_x():
    got = panes(
        contribution("a", 5),
        ("wait", 61),
        contribution("b", 6),
        ("mark", 50),
        contribution("b", 7),
        ("mark", 120),
        contribution("c", 9),
        contribution("d", 130),
        contribution("c", 9, revision=1, criterion="d"),
        ("mark", 315),
        contribution("e", 7),
        ("mark", 600),
        contribution("f", 5),
    )
    for g in got:
        print(g)
    assert 0


def test_y():
    s = contribution("r", 5).statistics
    got = panes(
        contribution("a", 5),
        ("wait", 61),
        contribution("r", 6, revision=3),
        ("mark", 50),
        restored=[contribution("r", 5, is_restored=True)],
        sums=[(("v1", s), 5)],
    )
    for g in got:
        print(g)
    assert 0
