from benchmarks.children import Cost
from benchmarks.growth import Growth
from tests.tables import rows_test

test_rows = rows_test(globals(), "growth")
SIZES = [1_000, 2_000, 4_000]


def time(cpu, holds):
    """Time that is not linear fails."""
    found = Growth(SIZES, [Cost(seconds, seconds, 100.0) for seconds in cpu], 100.0)
    assert [check.holds for check in found.checks("shape", is_streamed=False)] == [holds, True]


def memory(peaks, is_streamed, holds):
    """Memory that grows too much fails."""
    found = Growth(SIZES, [Cost(1.0, 1.0, peak) for peak in peaks], 100.0)
    assert [check.holds for check in found.checks("shape", is_streamed)] == [True, holds]
