from turnwise.pipeline.batch.build import aggregate_versions
from turnwise.transforms.metrics.state import MetricsState


def test_aggregated_metrics_add_up_versions_of_one_name_and_leave_their_sums_alone():
    one = MetricsState(passes=1, ces={(None, "tool", "t"): [1, 2]})
    other = MetricsState(fails=2, ces={(None, "tool", "t"): [3, 4]})
    (entry,) = aggregate_versions([("a/v1", one), ("b/v1", other)])["metricsByAppVersion"]
    assert entry["toolMetrics"] == [{"tool": "t", "passCount": 4, "failCount": 6}]
    assert (entry["passCount"], entry["failCount"]) == (1, 2)
    assert (one.ces, other.ces) == ({(None, "tool", "t"): [1, 2]}, {(None, "tool", "t"): [3, 4]})
