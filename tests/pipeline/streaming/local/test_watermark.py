"""The event time of a stream."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.pipeline.streaming.local.counts import Watermark

START = 1_800_000_000.0
SLACK = 5.0


class Times:
    """The present and a steady clock, set by hand."""

    def __init__(self):
        self.present, self.steady = START, 50.0

    def wait(self, seconds):
        self.present += seconds
        self.steady += seconds

    def watermark(self):
        return Watermark(lambda: self.present, lambda: self.steady)


@pytest.fixture
def times():
    return Times()


def test_it_follows_the_latest_event(times):
    watermark = times.watermark()
    watermark.see(START - 500)
    watermark.see(START - 700)
    assert watermark.advance() and watermark.value == START - 500 - SLACK
    assert not watermark.advance(), "nothing has changed"


def test_it_moves_on_with_time_while_nothing_comes(times):
    watermark = times.watermark()
    watermark.see(START - 500)
    times.wait(90)
    assert watermark.advance() and watermark.value == START - 500 + 90 - SLACK


@pytest.mark.parametrize("seen", [None, START + 10_000])
def test_what_has_no_time_or_one_of_the_future_counts_now_and_moves_nothing(times, seen):
    watermark = times.watermark()
    assert watermark.see(seen) == START
    times.wait(500)
    assert not watermark.advance()
    watermark.see(START - 9_000_000)
    times.wait(700)
    assert watermark.advance() and watermark.value == START - 9_000_000 + 700 - SLACK


@pytest.mark.parametrize("seen", [None, START + 10_000])
def test_if_no_others_come_it_moves_on_after_a_while(times, seen):
    watermark = times.watermark()
    watermark.see(seen)
    times.wait(601)
    assert watermark.advance() and watermark.value == START + 601 - SLACK


@pytest.mark.parametrize(("ahead", "moves"), [(60, True), (60.5, False)])
def test_a_time_up_to_a_minute_ahead_counts_as_a_time(times, ahead, moves):
    watermark = times.watermark()
    assert watermark.see(START + ahead) == START
    assert watermark.advance() == moves


def test_a_clock_that_is_set_back_does_not_take_it_back(times):
    watermark = times.watermark()
    watermark.see(START)
    watermark.advance()
    before, times.present = watermark.value, START - 3600
    times.steady += 10
    assert not watermark.advance() and watermark.value == before


def test_the_end_passes_over_a_silence_after_the_latest_event(times):
    watermark = times.watermark()
    watermark.see(START - 100)
    watermark.pass_over(600)
    assert watermark.value == START - 100 + 600
    assert not watermark.advance() and watermark.micros == int((START + 500) * 1e6)


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
