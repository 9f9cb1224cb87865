import json

from turnwise.pipeline.batch.build import aggregate_versions
from turnwise.pipeline.io.run_writer import BY_VERSION
from turnwise.transforms.metrics.state import MetricsState


def test_aggregated_metrics_add_up_versions_of_one_name_and_leave_their_sums_alone():
    one = MetricsState(passes=1, ces={(None, "tool", "t"): [1, 2]})
    other = MetricsState(fails=2, ces={(None, "tool", "t"): [3, 4]})
    (entry,) = aggregate_versions([("a/v1", one), ("b/v1", other)])["metricsByAppVersion"]
    assert entry["toolMetrics"] == [{"tool": "t", "passCount": 4, "failCount": 6}]
    assert (entry["passCount"], entry["failCount"]) == (1, 2)
    assert (one.ces, other.ces) == ({(None, "tool", "t"): [1, 2]}, {(None, "tool", "t"): [3, 4]})


VERSIONS = 600
"""More than a bundle keeps sums of, and more than are written together."""


def test_metrics_of_many_versions_are_those_of_all_their_conversations(turnwise, tmp_path):
    """Conversations of one version stand far apart."""
    turns = [{"user": "Hi", "agent": "Hello", "expected": {"response": "Hello"}}]
    names = [f"apps/{index:03}" for index in range(VERSIONS)]
    logs = [{"conversation_id": f"c{i}", "app_version": n, "turns": turns} for i, n in enumerate(2 * names)]
    (tmp_path / "logs.jsonl").write_text("".join(json.dumps(log) + "\n" for log in logs))
    (tmp_path / "config.json").write_text('{"criteria": {"response_match_score": 1.0}}')
    given = "--input", tmp_path / "logs.jsonl", "--config", tmp_path / "config.json"
    run = turnwise("run", *given, output=tmp_path / "out")
    assert f"{VERSIONS - 8} other app versions: {2 * VERSIONS - 16} conv" in run.out
    passed = {r["app_version"]: r["pass_count"] for r in run.rows(BY_VERSION) if r["criterion"] == "verdict"}
    assert passed == dict.fromkeys(names, 2)
    document = run.document("aggregated_metrics.json")
    entries = [(entry["appVersionId"], entry["passCount"]) for entry in document["metricsByAppVersion"]]
    assert entries == [(name.removeprefix("apps/"), 2) for name in names]
    (file,) = run.directory.glob("run-*/aggregated_metrics.json")
    assert file.read_text() == json.dumps(document, indent=2) + "\n"
