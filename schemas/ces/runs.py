"""Evaluation runs."""

from pydantic import Field

from turnwise.schemas.ces.result import EvaluationErrorInfo
from turnwise.schemas.ces.run import (
    EvaluationRunState,
    EvaluationRunSummary,
    EvaluationType,
    LatencyReport,
    OptimizationConfig,
    PersonaRunConfig,
    RunProgress,
)
from turnwise.schemas.ces.run_settings import EvaluationConfig, GoldenRunMethod
from turnwise.schemas.ces.status import Status
from turnwise.schemas.proto.fields import Implicit, Int32, Map, Repeated, Text, Timestamp
from turnwise.schemas.proto.message import Message
from turnwise.schemas.values import no_items


class EvaluationRun(Message):
    """One execution of many cases."""

    DEPRECATED = frozenset({"error"})

    name: Text = ""
    """`.../evaluationRuns/{run}`."""
    display_name: Text = ""
    """Name for people."""
    evaluation_results: Repeated[Text] = Field(default_factory=no_items)
    """Names of its results."""
    create_time: Timestamp | None = None
    """Start."""
    initiated_by: Text = ""
    """Who started it."""
    app_version: Text = ""
    """App version that was tested."""
    app_version_display_name: Text = ""
    """Its name for people."""
    changelog: Text = ""
    """Entry of the changelog, for the draft."""
    changelog_create_time: Timestamp | None = None
    """Its time."""
    evaluations: Repeated[Text] = Field(default_factory=no_items)
    """Names of the cases."""
    evaluation_dataset: Text = ""
    """Name of the dataset."""
    evaluation_type: Implicit[EvaluationType] = EvaluationType(0)
    """Kind of the cases."""
    state: Implicit[EvaluationRunState] = EvaluationRunState(0)
    """How it stands."""
    progress: RunProgress | None = None
    """Counts of results."""
    config: EvaluationConfig | None = None
    """Settings."""
    error: Status | None = None
    """Why it failed; older form of error_info."""
    error_info: EvaluationErrorInfo | None = None
    """Why it failed."""
    evaluation_run_summaries: Map[EvaluationRunSummary] = Field(default_factory=dict)
    """Name of a case -> its counts."""
    latency_report: LatencyReport | None = None
    """Latencies, if requested."""
    run_count: Int32 = 0
    """How often each case was run."""
    persona_run_configs: Repeated[PersonaRunConfig] = Field(default_factory=no_items)
    """Runs by persona."""
    optimization_config: OptimizationConfig | None = None
    """The report on losses."""
    scheduled_evaluation_run: Text = ""
    """Schedule that started it."""
    golden_run_method: Implicit[GoldenRunMethod] = GoldenRunMethod(0)
    """How goldens were replayed."""
    operation: Text = ""
    """Name of the operation."""


class GetEvaluationRunRequest(Message):
    """Read a run."""

    REQUIRED = ("name",)

    name: Text = ""
    """Name of the run."""


class ListEvaluationRunsResponse(Message):
    """A page of runs."""

    evaluation_runs: Repeated[EvaluationRun] = Field(default_factory=no_items)
    """The runs."""
    next_page_token: Text = ""
    """pageToken of the next page; absent: this is the last."""
