from turnwise.pipeline.batch.build import aggregate_versions
from turnwise.pipeline.io.run_writer import kept_rows
from turnwise.schemas.jsonio import dump_json
from turnwise.transforms.metrics.rows import version_rows
from turnwise.transforms.metrics.state import MetricsState
from turnwise.transforms.metrics.tally import Tally


def test_kept_rows_are_small_and_come_back_as_they_were():
    state = MetricsState(3, 5, 1, 2, {(f"criterion_{i}", None): Tally(scored=i, passes=i) for i in range(20)})
    rows = version_rows(("v1", state), "run")
    kept = kept_rows("metrics_by_app_version", rows)
    assert (kept.row_count, kept.all_rows()) == (len(rows), rows)
    assert len(kept.packed) < len(dump_json(rows)) / 4


def test_aggregated_metrics_add_up_versions_of_one_name_and_leave_their_sums_alone():
    one = MetricsState(passes=1, ces={(None, "tool", "t"): [1, 2]})
    other = MetricsState(fails=2, ces={(None, "tool", "t"): [3, 4]})
    (entry,) = aggregate_versions([("a/v1", one), ("b/v1", other)])["metricsByAppVersion"]
    assert entry["toolMetrics"] == [{"tool": "t", "passCount": 4, "failCount": 6}]
    assert (entry["passCount"], entry["failCount"]) == (1, 2)
    assert (one.ces, other.ces) == ({(None, "tool", "t"): [1, 2]}, {(None, "tool", "t"): [3, 4]})
