"""Evaluations: the test cases of an app."""

from typing import ClassVar

from pydantic import Field

from turnwise.schemas.ces.aggregates import AggregatedMetrics
from turnwise.schemas.ces.case_parts import Golden, Scenario
from turnwise.schemas.ces.metric_settings import EvaluationMetricsConfig, EvaluationMetricsThresholds
from turnwise.schemas.ces.results import EvaluationResult
from turnwise.schemas.proto.fields import Bool, Repeated, Text, Timestamp
from turnwise.schemas.proto.json import Message


class Evaluation(Message):
    """A test case of an app: a golden (a script) or a scenario (a task for a simulated user)."""

    ONEOFS = (("golden", "scenario"),)
    OUTPUT_ONLY: ClassVar[frozenset[str]] = frozenset(
        {
            "aggregatedMetrics",
            "createTime",
            "createdBy",
            "etag",
            "evaluationDatasets",
            "evaluationRuns",
            "invalid",
            "lastCompletedResult",
            "lastTenResults",
            "lastUpdatedBy",
            "updateTime",
        }
    )
    """JSON names of the fields that only the service sets."""

    golden: Golden | None = None
    scenario: Scenario | None = None
    name: Text = ""
    display_name: Text = ""
    description: Text = ""
    tags: Repeated[Text] = Field(default_factory=list)
    evaluation_datasets: Repeated[Text] = Field(default_factory=list)
    create_time: Timestamp | None = None
    created_by: Text = ""
    update_time: Timestamp | None = None
    last_updated_by: Text = ""
    evaluation_runs: Repeated[Text] = Field(default_factory=list)
    etag: Text = ""
    aggregated_metrics: AggregatedMetrics | None = None
    last_completed_result: EvaluationResult | None = None
    invalid: Bool = False
    """It refers to a deleted tool, toolset or agent."""
    last_ten_results: Repeated[EvaluationResult] = Field(default_factory=list)
    """Filled only when the request asks for them."""
    evaluation_metrics_threshold_override: EvaluationMetricsThresholds | None = None
    evaluation_metrics_config_override: EvaluationMetricsConfig | None = None
