import pytest

from benchmarks.children import Cost
from benchmarks.growth import Growth


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
def test_growth_that_is_not_linear_fails(cpu: list[float], holds: bool) -> None:
    found = Growth([1_000, 2_000, 4_000], [Cost(seconds, seconds, 100.0) for seconds in cpu])
    assert found.check("shape").holds == holds
