"""Runs of many cases, run requests and schedules."""

from pydantic import Field

from turnwise.schemas.ces.latency_reports import LatencyReport
from turnwise.schemas.ces.result_parts import EvaluationErrorInfo
from turnwise.schemas.ces.run_settings import EvaluationConfig, EvaluationRunCachingSettings, GoldenRunMethod
from turnwise.schemas.ces.status import Status
from turnwise.schemas.proto.fields import (
    Bool,
    Implicit,
    Int32,
    Map,
    OpenEnum,
    Repeated,
    Struct,
    Text,
    Timestamp,
)
from turnwise.schemas.proto.json import Message


class PersonaRunConfig(Message):
    """Runs for one persona."""

    persona: Text = ""
    task_count: Int32 = 0


class OptimizationStatus(OpenEnum):
    """State of a loss report."""

    OPTIMIZATION_STATUS_UNSPECIFIED = 0
    RUNNING = 1
    COMPLETED = 2
    ERROR = 3


class OptimizationConfig(Message):
    """The loss report that may follow a run."""

    generate_loss_report: Bool = False
    assistant_session: Text = ""
    report_summary: Text = ""
    should_suggest_fix: Bool = False
    status: Implicit[OptimizationStatus] = OptimizationStatus(0)
    error_message: Text = ""
    loss_report: Struct | None = None


class RunEvaluationType(OpenEnum):
    """Kinds of cases in a run."""

    EVALUATION_TYPE_UNSPECIFIED = 0
    GOLDEN = 1
    SCENARIO = 2
    MIXED = 3


class EvaluationRunState(OpenEnum):
    """Life cycle of a run."""

    EVALUATION_RUN_STATE_UNSPECIFIED = 0
    RUNNING = 1
    COMPLETED = 2
    ERROR = 3
    CANCELLED = 4
    QUEUED = 5


class RunProgress(Message):
    """Counters over the results of a run."""

    PROTO = "EvaluationRun.Progress"

    total_count: Int32 = 0
    failed_count: Int32 = 0
    error_count: Int32 = 0
    completed_count: Int32 = 0
    passed_count: Int32 = 0
    cancelled_count: Int32 = 0


class EvaluationRunSummary(Message):
    """Counters of one case in the run."""

    PROTO = "EvaluationRun.EvaluationRunSummary"

    passed_count: Int32 = 0
    failed_count: Int32 = 0
    error_count: Int32 = 0


class EvaluationRun(Message):
    """One execution of many cases."""

    name: Text = ""
    display_name: Text = ""
    evaluation_results: Repeated[Text] = Field(default_factory=list)
    create_time: Timestamp | None = None
    initiated_by: Text = ""
    app_version: Text = ""
    app_version_display_name: Text = ""
    changelog: Text = ""
    changelog_create_time: Timestamp | None = None
    evaluations: Repeated[Text] = Field(default_factory=list)
    evaluation_dataset: Text = ""
    evaluation_type: Implicit[RunEvaluationType] = RunEvaluationType(0)
    state: Implicit[EvaluationRunState] = EvaluationRunState(0)
    progress: RunProgress | None = None
    config: EvaluationConfig | None = None
    error: Status | None = None
    """Older form of `error_info`."""
    error_info: EvaluationErrorInfo | None = None
    evaluation_run_summaries: Map[EvaluationRunSummary] = Field(default_factory=dict)
    """By name of the evaluation."""
    latency_report: LatencyReport | None = None
    run_count: Int32 = 0
    persona_run_configs: Repeated[PersonaRunConfig] = Field(default_factory=list)
    optimization_config: OptimizationConfig | None = None
    scheduled_evaluation_run: Text = ""
    golden_run_method: Implicit[GoldenRunMethod] = GoldenRunMethod(0)
    operation: Text = ""


class RunEvaluationRequest(Message):
    """Start a run; also the payload of a schedule."""

    app: Text = ""
    evaluations: Repeated[Text] = Field(default_factory=list)
    evaluation_dataset: Text = ""
    display_name: Text = ""
    app_version: Text = ""
    """Absent: the draft."""
    config: EvaluationConfig | None = None
    run_count: Int32 | None = None
    """Absent: 1 for a golden, 5 for a scenario."""
    persona_run_configs: Repeated[PersonaRunConfig] = Field(default_factory=list)
    optimization_config: OptimizationConfig | None = None
    scheduled_evaluation_run: Text = ""
    golden_run_method: Implicit[GoldenRunMethod] = GoldenRunMethod(0)
    generate_latency_report: Bool = False
    evaluation_run_caching_settings: EvaluationRunCachingSettings | None = None


class ScheduleFrequency(OpenEnum):
    """Frequency of a scheduled run."""

    FREQUENCY_UNSPECIFIED = 0
    NONE = 1
    DAILY = 2
    WEEKLY = 3
    BIWEEKLY = 4


class SchedulingConfig(Message):
    """Schedule of a run."""

    PROTO = "ScheduledEvaluationRun.SchedulingConfig"

    frequency: Implicit[ScheduleFrequency] = ScheduleFrequency(0)
    start_time: Timestamp | None = None
    days_of_week: Repeated[Int32] = Field(default_factory=list)
    """1 Monday to 7 Sunday."""


class ScheduledEvaluationRun(Message):
    """A run that repeats."""

    name: Text = ""
    display_name: Text = ""
    request: RunEvaluationRequest | None = None
    description: Text = ""
    scheduling_config: SchedulingConfig | None = None
    active: Bool = False
    last_completed_run: Text = ""
    total_executions: Int32 = 0
    next_scheduled_execution_time: Timestamp | None = None
    create_time: Timestamp | None = None
    created_by: Text = ""
    update_time: Timestamp | None = None
    last_updated_by: Text = ""
    etag: Text = ""
