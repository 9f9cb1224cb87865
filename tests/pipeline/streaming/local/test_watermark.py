"""The event time of a stream."""

from hypothesis import given
from hypothesis import strategies as st

from tests.tables import stated
from turnwise.pipeline.streaming.local.counts import Watermark

START = 1_800_000_000.0


class Times:
    """The present and a steady clock, set by hand."""

    def __init__(self):
        self.present, self.steady = START, 50.0

    def wait(self, seconds):
        self.present += seconds
        self.steady += seconds

    def watermark(self):
        return Watermark(lambda: self.present, lambda: self.steady)


@stated("steps", "why, steps")
def test_steps(why, steps):
    """Of each step: what is done, a number, and what comes of it; times are seconds after START.

    A record that is published has no time of its own.
    """
    times = Times()
    watermark = times.watermark()
    for what, *numbers in steps:
        if what == "see":
            seen, *counts_at = numbers
            counted = watermark.see(None if seen is None else START + seen)
            assert [counted - START][: len(counts_at)] == counts_at
        elif what == "published":
            assert watermark.see(None, START + numbers[0]) == START + numbers[0], why
        elif what == "wait":
            times.wait(numbers[0])
        elif what == "set back":
            times.present, times.steady = times.present - numbers[0], times.steady + 10
        elif what == "pass over":
            watermark.pass_over(numbers[0])
        elif what == "advance":
            before = watermark.value
            assert watermark.advance() == bool(numbers), why
            assert watermark.value == (START + numbers[0] if numbers else before), why
        else:
            assert watermark.value == START + numbers[0]


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("see"), st.floats(-1e6, 1e6)),
        st.tuples(st.just("wait"), st.floats(0, 1e4)),
        st.tuples(st.just("advance"), st.none()),
    )
)


@given(STEPS)
def test_it_goes_forward_only_and_stays_behind_the_present(steps):
    times = Times()
    watermark = times.watermark()
    for step, number in steps:
        before = watermark.value
        if step == "see":
            watermark.see(START + number)
        elif step == "wait":
            times.wait(number)
        else:
            assert watermark.advance() == (watermark.value > before)
        assert before <= watermark.value <= times.present
