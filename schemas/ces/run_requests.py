"""Requests to score recorded conversations again, and to make evaluations of conversations."""

from pydantic import Field

from turnwise.schemas.ces.conversations import ConversationSource
from turnwise.schemas.ces.run_parts import OptimizationConfig, PersonaRunConfig
from turnwise.schemas.ces.run_settings import EvaluationConfig, GoldenRunMethod
from turnwise.schemas.ces.transfers import GeneratedType
from turnwise.schemas.proto.fields import Bool, Implicit, Int32, OpenEnum, Repeated, Text
from turnwise.schemas.proto.json import Message
from turnwise.schemas.values import no_items


class EvaluationRunCachingMode(OpenEnum):
    """Whether earlier results may stand in; unspecified: FORCE_RUN."""

    EVALUATION_RUN_CACHING_MODE_UNSPECIFIED = 0
    FORCE_RUN = 1
    SKIP_IF_UNCHANGED = 2


class EvaluationRunCachingSettings(Message):
    """Use of earlier results."""

    run_caching_mode: Implicit[EvaluationRunCachingMode] = EvaluationRunCachingMode(0)
    """Whether earlier results may stand in."""


class RunEvaluationRequest(Message):
    """Run evaluations; here: score their recorded conversations again."""

    REQUIRED = ("app",)

    app: Text = ""
    """The app: projects/P/locations/L/apps/A."""
    evaluations: Repeated[Text] = Field(default_factory=no_items)
    """Names of the evaluations."""
    evaluation_dataset: Text = ""
    """Name of a dataset of evaluations."""
    display_name: Text = ""
    """Id of the run; absent: made of the time."""
    app_version: Text = ""
    """Version of the app whose recordings are scored; absent: of all versions."""
    config: EvaluationConfig | None = None
    """Settings of the run."""
    run_count: Int32 | None = None
    """How often each evaluation is run."""
    persona_run_configs: Repeated[PersonaRunConfig] = Field(default_factory=no_items)
    """Simulated users."""
    optimization_config: OptimizationConfig | None = None
    """A report on losses."""
    scheduled_evaluation_run: Text = ""
    """Schedule that asks for the run."""
    golden_run_method: Implicit[GoldenRunMethod] = GoldenRunMethod(0)
    """How goldens are replayed."""
    generate_latency_report: Bool = False
    """Whether a report on latencies is made."""
    evaluation_run_caching_settings: EvaluationRunCachingSettings | None = None
    """Use of earlier results."""


class GenerateEvaluationRequest(Message):
    """Make an evaluation of a conversation."""

    REQUIRED = ("conversation",)
    DEPRECATED = frozenset({"source"})

    conversation: Text = ""
    """Name of the conversation."""
    source: Implicit[ConversationSource] = ConversationSource(0)
    """Where it came from."""
    evaluation_type: Implicit[GeneratedType] = GeneratedType(0)
    """Kind of the evaluation."""
