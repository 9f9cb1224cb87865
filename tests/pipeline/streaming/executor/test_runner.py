"""The runner of streams in this process: order, time, state, and what it refuses."""

from itertools import count

import apache_beam as beam
import pytest
from apache_beam.coders import VarIntCoder
from apache_beam.transforms.combiners import CountCombineFn
from apache_beam.transforms.timeutil import TimeDomain
from apache_beam.transforms.userstate import (
    CombiningValueStateSpec,
    ReadModifyWriteStateSpec,
    TimerSpec,
    on_timer,
)
from apache_beam.transforms.window import FixedWindows, Sessions, TimestampedValue

from turnwise.pipeline.streaming.executor import (
    AdvanceClock,
    AdvanceWatermark,
    Elements,
    Events,
    StreamRunner,
)

SEEN = {}
RUNS = count()


class _See(beam.DoFn):
    def __init__(self, run):
        self._run = run

    def process(self, element):
        SEEN[self._run].append(element)


def run(steps, *events):
    """Runs steps on events; returns what they give, in order."""
    number = next(RUNS)
    SEEN[number] = []
    with beam.Pipeline(runner=StreamRunner()) as root:
        _ = steps(root | Events(lambda: events)) | "See" >> beam.ParDo(_See(number))
    return SEEN.pop(number)


def bundle(*values, at=0):
    return Elements([TimestampedValue(value, at) for value in values])


class _Bundles(beam.DoFn):
    """Gives how often it was made ready, and the size of each bundle."""

    def setup(self):
        self._made = getattr(self, "_made", 0) + 1

    def start_bundle(self):
        self._size = 0

    def process(self, element):
        self._size += 1
        yield (self._made, self._size)


def test_a_step_is_made_once_and_begins_every_bundle_anew():
    given = run(lambda root: root | beam.ParDo(_Bundles()), bundle("a", "b"), bundle("c"))
    assert given == [(1, 1), (1, 2), (1, 1)]


def test_what_follows_a_flatten_sees_all_of_its_inputs_in_order():
    def steps(root):
        doubled = root | "Double" >> beam.Map(lambda one: one * 2)
        return (root, doubled) | beam.Flatten() | "Tell" >> beam.Map(str)

    assert sorted(run(steps, bundle(1, 2))) == ["1", "2", "2", "4"]


class _Wait(beam.DoFn):
    """Gives the number of a key's elements a while after the first of them, twice."""

    NUMBER = ReadModifyWriteStateSpec("number", VarIntCoder())
    DUE = TimerSpec("due", TimeDomain.WATERMARK)
    SOON = TimerSpec("soon", TimeDomain.REAL_TIME)

    def process(
        self,
        element,
        time=beam.DoFn.TimestampParam,
        number=beam.DoFn.StateParam(NUMBER),
        due=beam.DoFn.TimerParam(DUE),
        soon=beam.DoFn.TimerParam(SOON),
    ):
        if element[0] == "mark":
            yield element[1]
            return
        number.write((number.read() or 0) + 1)
        due.set(time + 10)
        soon.set(3)
        if element[1] == "never mind":
            due.clear()
            number.clear()

    @on_timer(DUE)
    def tell(self, key=beam.DoFn.KeyParam, number=beam.DoFn.StateParam(NUMBER)):
        yield key, number.read()
        number.clear()

    @on_timer(SOON)
    def tell_soon(self, key=beam.DoFn.KeyParam, number=beam.DoFn.StateParam(NUMBER)):
        yield key, "soon", number.read()


WAITING = [
    (
        "the last time counts",
        [bundle(("a", 1)), bundle(("a", 2), at=5), AdvanceWatermark(14)],
        ["|", ("a", 2)],
    ),
    (
        "both times",
        [bundle(("a", 1)), AdvanceClock(3.0), AdvanceWatermark(10)],
        [("a", "soon", 1), ("a", 1), "|"],
    ),
    (
        "the earliest first",
        [bundle(("b", 1), at=1), bundle(("a", 1)), AdvanceWatermark(11)],
        [("a", 1), ("b", 1), "|"],
    ),
    ("at once, if it is over", [AdvanceWatermark(90), bundle(("a", 1))], [("a", 1), "|"]),
    ("cleared", [bundle(("a", "never mind")), AdvanceWatermark(50)], ["|"]),
    ("no way back", [AdvanceWatermark(90), AdvanceWatermark(1), bundle(("a", 1))], [("a", 1), "|"]),
    ("not yet", [AdvanceClock(2.9), bundle(("a", 1)), AdvanceWatermark(9)], ["|", ("a", 1)]),
]


@pytest.mark.parametrize("events, wanted", [case[1:] for case in WAITING], ids=[case[0] for case in WAITING])
def test_timers_fire_when_their_time_has_come(events, wanted):
    """The mark stands for all that is given before the end of the stream."""
    assert run(lambda root: root | beam.ParDo(_Wait()), *events, bundle(("mark", "|"))) == wanted


def test_a_group_is_forgotten_when_its_window_accepts_nothing_more():
    def steps(root):
        return root | beam.WindowInto(FixedWindows(10), allowed_lateness=5) | beam.GroupByKey()

    early, late, lost = bundle(("k", 1), at=3), bundle(("k", 2), at=4), bundle(("k", 3), at=5)
    given = run(steps, early, AdvanceWatermark(12), late, AdvanceWatermark(16), lost)
    assert [(key, list(values)) for key, values in given] == [("k", [1]), ("k", [2])]


class _Fail(beam.DoFn):
    def process(self, element):
        raise OSError("the disk is full")


def test_an_error_of_a_step_ends_the_stream():
    with pytest.raises(OSError, match="the disk is full"):
        run(lambda root: root | "Break" >> beam.ParDo(_Fail()), bundle(1), bundle(2))


class _Sum(beam.DoFn):
    SUM = CombiningValueStateSpec("sum", VarIntCoder(), CountCombineFn())

    def process(self, element, total=beam.DoFn.StateParam(SUM)):
        total.add(element[1])


REFUSED = [
    ("windows that merge", lambda root: root | beam.WindowInto(Sessions(5)) | beam.GroupByKey()),
    ("state of the kind CombiningValueStateSpec", lambda root: root | beam.ParDo(_Sum())),
    (
        "side inputs",
        lambda root: root | beam.Map(lambda one, side: one, beam.pvalue.AsList(root | beam.Map(str))),
    ),
]


@pytest.mark.parametrize("message, steps", REFUSED, ids=[case[0] for case in REFUSED])
def test_what_the_runner_does_not_have_is_refused(message, steps):
    with pytest.raises(NotImplementedError, match=message):
        run(steps, bundle(("k", 1)))
