"""Evaluations (eval cases)."""

from pydantic import Field

from turnwise.schemas.ces.aggregates import AggregatedMetrics
from turnwise.schemas.ces.case_content import CaseContent
from turnwise.schemas.ces.results import EvaluationResult
from turnwise.schemas.proto.fields import Repeated
from turnwise.schemas.values import no_items


class Evaluation(CaseContent):
    """A test case of an app: a golden (a script) or a scenario (a task for a simulated user)."""

    aggregated_metrics: AggregatedMetrics | None = None
    """Averages and counts over all its results, by app version."""
    last_completed_result: EvaluationResult | None = None
    """The newest completed result."""
    last_ten_results: Repeated[EvaluationResult] = Field(default_factory=no_items)
    """The ten newest results; only if requested."""
