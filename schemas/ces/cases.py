"""Evaluations (eval cases) and their updates."""

from typing import ClassVar

from pydantic import Field

from turnwise.schemas.ces.aggregates import AggregatedMetrics
from turnwise.schemas.ces.case_parts import Golden, Scenario
from turnwise.schemas.ces.metric_settings import EvaluationMetricsConfig, EvaluationMetricsThresholds
from turnwise.schemas.ces.results import EvaluationResult
from turnwise.schemas.proto.fields import Bool, Repeated, Text, Timestamp
from turnwise.schemas.proto.json import Message
from turnwise.schemas.proto.masks import parse_mask, update_fields
from turnwise.schemas.values import JsonObject, no_items


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


def written_fields(evaluation: Evaluation) -> JsonObject:
    """Returns the writable fields of an evaluation, in canonical proto3 JSON."""
    value = evaluation.to_value()
    return {name: item for name, item in value.items() if name not in Evaluation.OUTPUT_ONLY}


def updated_content(old: JsonObject, evaluation: Evaluation, update_mask: str | None) -> JsonObject:
    """Returns the content of an evaluation after an update; the name is kept, output-only fields are omitted.

    Args:
        old: The content before, in canonical proto3 JSON.
        evaluation: The new values.
        update_mask: The fields to change; None, "" or "*": all of them.

    Raises:
        MaskError: The mask names an unknown field, or leads through a list.
    """
    new = written_fields(evaluation)
    paths = parse_mask(Evaluation, update_mask or "")
    if paths is None:
        return {**new, "name": old["name"]}
    kept = [path for path in paths if path[0] != "name" and path[0] not in Evaluation.OUTPUT_ONLY]
    return update_fields(Evaluation, old, new, kept)
