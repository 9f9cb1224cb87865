"""Tests that are valid however often they are made."""

import math

import pytest

from benchmarks.false_alarms import alarmed_streams
from turnwise.transforms.statistics.tests import SampleMoments, always_valid_p, mean_evidence, share_evidence


@pytest.mark.parametrize("measure, rate", [("pass_rate", 0.97), ("mean", 0.8)])
def test_looking_often_alarms_falsely_in_few_streams(measure, rate):
    found = alarmed_streams(measure, rate, streams=100, windows=12)
    assert found.sequential <= 5 < 30 < found.fixed, "of 100 streams without any change"


def test_a_drop_is_found():
    lower, same = share_evidence(140, 200, 180, 200), share_evidence(180, 200, 180, 200)
    assert always_valid_p(lower, 10) < 0.01 and always_valid_p(same, 1) == 1.0
    assert always_valid_p(lower, 10) == pytest.approx(always_valid_p(lower, 1) * 55)
    assert share_evidence(200, 200, 180, 200) < 0 == max(0.0, same)
    base, below = SampleMoments(200, 0.9, 0.04), SampleMoments(200, 0.8, 0.04)
    assert always_valid_p(mean_evidence(below, base), 10) < 0.01
    assert mean_evidence(base, below) < 0


def test_groups_that_do_not_vary_are_compared_as_shares():
    none, every = SampleMoments(9, 0.2, 0.0), SampleMoments(9, 0.8, 0.0)
    assert mean_evidence(none, every) == share_evidence(0, 9, 9, 9) > 0
    assert mean_evidence(every, none) == share_evidence(9, 9, 9, 9) < 0
    assert math.isfinite(mean_evidence(SampleMoments(3, -1e9, 1e-9), SampleMoments(3, 1e9, 1e-9)))
