"""Evaluations (eval cases) and their updates."""

from typing import ClassVar

from pydantic import Field

from turnwise.schemas.ces.aggregates import AggregatedMetrics
from turnwise.schemas.ces.case_parts import Golden, Scenario
from turnwise.schemas.ces.metric_settings import EvaluationMetricsConfig, EvaluationMetricsThresholds
from turnwise.schemas.ces.results import EvaluationResult
from turnwise.schemas.proto.fields import Bool, Map, Repeated, Text, Timestamp
from turnwise.schemas.proto.json import Message
from turnwise.schemas.values import no_items


class Evaluation(Message):
    """A test case of an app: a golden (a script) or a scenario (a task for a simulated user)."""

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
    """JSON names of the fields that only the service sets."""

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
    aggregated_metrics: AggregatedMetrics | None = None
    """Averages and counts over all its results, by app version."""
    last_completed_result: EvaluationResult | None = None
    """The newest completed result."""
    invalid: Bool = False
    """Whether it refers to a deleted tool, toolset or agent."""
    last_ten_results: Repeated[EvaluationResult] = Field(default_factory=no_items)
    """The ten newest results; only if requested."""
    evaluation_metrics_threshold_override: EvaluationMetricsThresholds | None = None
    """Thresholds of this evaluation in place of the app's."""
    evaluation_metrics_config_override: EvaluationMetricsConfig | None = None
    """Metrics of this evaluation in place of the app's."""


class CaseWithTexts(Evaluation):
    """A case with the texts of the expectations that it names, as it is read from a store."""

    PROTO = "Evaluation"
    PACKAGE = "turnwise"

    expectation_texts: Map[Text] = Field(default_factory=dict)
    """Name of an expectation -> its text."""
