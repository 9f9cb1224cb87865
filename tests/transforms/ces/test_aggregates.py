import json
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ces_messages import MESSAGES
from tests.tables import rows_test
from turnwise.transforms.ces.judgements import VersionSums, aggregated_metrics
from turnwise.transforms.ces.result import result_parts
from turnwise.transforms.metrics.state import add_parts, add_sums

test_rows = rows_test(globals(), "aggregates")
SAMPLES = Path(__file__).parents[3] / "../shared/fixtures/ces/samples"
needs_samples = pytest.mark.skipif(not SAMPLES.is_dir(), reason="the shared fixtures are not here")


def sample(name):
    return json.loads((SAMPLES / f"{name}.json").read_text())


def version_sums(results):
    sums = {}
    for result in results:
        add_parts(sums, result_parts(result))
    statuses = [result.get("evaluationStatus") for result in results]
    return VersionSums(statuses.count("PASS"), statuses.count("FAIL"), sums)


def aggregate(*results):
    versions = {}
    for result in results:
        version = result.get("appVersion", "").rsplit("/", 1)[-1]
        versions.setdefault(version, []).append(result)
    return aggregated_metrics({version: version_sums(found) for version, found in versions.items()})


@needs_samples
def test_the_golden_read_back_is_reproduced():
    passed, failed = (sample(f"golden_{word}__EvaluationResult") for word in ("pass", "fail"))
    wanted = sample("golden_readback__Evaluation")["aggregatedMetrics"]
    assert aggregate(passed, failed) == wanted
    assert aggregate(failed, passed) == wanted
    MESSAGES["AggregatedMetrics"].from_value(wanted)


@needs_samples
def test_a_scenario_has_no_turn_latency_and_its_latencies_have_no_turn():
    (version,) = aggregate(sample("scenario_pass__EvaluationResult"))["metricsByAppVersion"]
    assert version["passCount"] == 1
    assert version["hallucinationMetrics"] == [{"score": 1.0}]
    assert [entry["averageLatency"] for entry in version["toolCallLatencyMetrics"]] == ["0.512s"]
    assert "turnLatencyMetrics" not in version
    assert version["metricsByTurn"] == [{"turnIndex": 1, "hallucinationMetrics": [{"score": 1.0}]}]


def golden(*turns, state="COMPLETED"):
    return {"executionState": state, "goldenResult": {"turnReplayResults": list(turns)}}


def semantic(score):
    return {"semanticSimilarityResult": {"score": score}}


def total(*results):
    return aggregated_metrics({"v": version_sums(list(results))})["metricsByAppVersion"][0]


def totals(name, turns, wanted):
    together, apart = total(golden(*turns)), total(*[golden(turn) for turn in turns])
    assert together.get(name) == wanted
    assert apart.get(name) == wanted
    assert apart.get("metricsByTurn", [{}])[0].get(name) == wanted


def test_a_mean_is_over_turns_not_over_results():
    found = total(golden(semantic(4), semantic(4), semantic(4)), golden(semantic(0)))
    assert found["semanticSimilarityMetrics"] == [{"score": 3.0}]
    assert [turn.get("turnIndex", 0) for turn in found["metricsByTurn"]] == [0, 1, 2]
    assert [turn["semanticSimilarityMetrics"] for turn in found["metricsByTurn"]] == [
        [{"score": 2.0}],
        [{"score": 4.0}],
        [{"score": 4.0}],
    ]


@pytest.mark.parametrize("state", ["ERROR", "RUNNING", "CANCELLED", None])
def test_only_completed_results_count(state):
    result = golden(semantic(4), state=state)
    assert result_parts(result) == []
    del result["executionState"]
    assert result_parts(result) == []


def test_versions_are_sorted_and_the_draft_has_no_id():
    sums = VersionSums(1, 0, {})
    found = aggregated_metrics({"v2": sums, "": sums, "v10": sums})["metricsByAppVersion"]
    assert found == [
        {"passCount": 1},
        {"appVersionId": "v10", "passCount": 1},
        {"appVersionId": "v2", "passCount": 1},
    ]
    assert aggregated_metrics({}) == {}


KEYS = st.tuples(
    st.none() | st.integers(0, 2), st.sampled_from(["tool", "semantic", "turn_latency"]), st.just("")
)
PARTS = st.lists(st.tuples(KEYS, st.integers(1, 5), st.integers(0, 10**12)), max_size=8)


@given(st.lists(PARTS, min_size=3, max_size=3))
def test_neither_order_nor_grouping_of_the_sums_matters(groups):
    whole = {}
    add_parts(whole, [part for group in groups for part in group])
    for order in permutations(groups):
        merged = {}
        for group in order:
            sums = {}
            add_parts(sums, group)
            add_sums(merged, sums)
        assert merged == whole
