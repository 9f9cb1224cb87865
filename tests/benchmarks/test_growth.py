import pytest

from benchmarks.children import Cost
from benchmarks.growth import Growth

SIZES = [1_000, 2_000, 4_000]


@pytest.mark.parametrize(
    ("cpu", "holds"),
    [
        ([1.0, 2.0, 4.0], True),
        ([1.0, 2.4, 5.8], True),
        ([1.0, 4.0, 16.0], False),
        ([0.0, 0.0, 0.05], True),
        ([0.0, 0.0, 0.9], True),
        ([0.0, 0.0, 8.0], False),
    ],
)
def test_time_that_is_not_linear_fails(cpu, holds):
    found = Growth(SIZES, [Cost(seconds, seconds, 100.0) for seconds in cpu], 100.0)
    assert [check.holds for check in found.checks("shape", is_streamed=False)] == [holds, True]


@pytest.mark.parametrize(
    ("peaks", "is_streamed", "holds"),
    [
        ([200.0, 300.0, 500.0], False, True),
        ([130.0, 220.0, 580.0], False, False),
        ([100.0, 110.0, 150.0], False, True),
        ([100.0, 110.0, 400.0], False, False),
        ([200.0, 210.0, 230.0], True, True),
        ([200.0, 300.0, 500.0], True, False),
    ],
)
def test_memory_that_grows_too_much_fails(peaks, is_streamed, holds):
    found = Growth(SIZES, [Cost(1.0, 1.0, peak) for peak in peaks], 100.0)
    assert [check.holds for check in found.checks("shape", is_streamed)] == [True, holds]
