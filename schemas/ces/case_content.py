"""Eval cases as they are read for scoring, without their results."""

from typing import ClassVar

from pydantic import Field

from turnwise.schemas.ces.evaluation import Golden, Scenario
from turnwise.schemas.ces.metric_settings import EvaluationMetricsConfig, EvaluationMetricsThresholds
from turnwise.schemas.proto.fields import Bool, Repeated, Text, Timestamp
from turnwise.schemas.proto.message import Message
from turnwise.schemas.values import JsonObject, no_items


class CaseContent(Message):
    """An evaluation without what is computed of its results."""

    PACKAGE = Message.PACKAGE
    ONEOFS = (("golden", "scenario"),)
    NEEDS_ONE = True
    REQUIRED = ("display_name",)
    IDENTIFIER = "name"
    RANGES = (("tags", 0, 100),)
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
    """JSON names of the fields of an Evaluation that only the service sets."""

    golden: Golden | None = None
    """A script of user inputs and of what is expected after each."""
    scenario: Scenario | None = None
    """A task that a simulated user pursues."""
    name: Text = ""
    """projects/P/locations/L/apps/A/evaluations/E. It never changes."""
    display_name: Text = ""
    """Name for people, unique in the app."""
    description: Text = ""
    """Free text."""
    tags: Repeated[Text] = Field(default_factory=no_items)
    """Labels to select evaluations by."""
    evaluation_datasets: Repeated[Text] = Field(default_factory=no_items)
    """Names of the datasets that hold the evaluation."""
    create_time: Timestamp | None = None
    """When it was created."""
    created_by: Text = ""
    """Who created it."""
    update_time: Timestamp | None = None
    """When it was last changed."""
    last_updated_by: Text = ""
    """Who last changed it."""
    evaluation_runs: Repeated[Text] = Field(default_factory=no_items)
    """Names of the runs that have a result of it."""
    etag: Text = ""
    """Version of the content. An update that sends an older one is refused."""
    invalid: Bool = False
    """Whether it refers to a deleted tool, toolset or agent."""
    evaluation_metrics_threshold_override: EvaluationMetricsThresholds | None = None
    """Thresholds of this evaluation in place of the app's."""
    evaluation_metrics_config_override: EvaluationMetricsConfig | None = None
    """Metrics of this evaluation in place of the app's."""


class CaseToScore(CaseContent):
    """A case as it is read for scoring: its results are not."""

    PROTO = "Evaluation"
    PACKAGE = "turnwise"

    aggregated_metrics: JsonObject | None = None
    """AggregatedMetrics in JSON."""
    last_completed_result: JsonObject | None = None
    """An EvaluationResult in JSON."""
    last_ten_results: Repeated[JsonObject] = Field(default_factory=no_items)
    """EvaluationResults in JSON."""
