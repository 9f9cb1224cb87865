"""Settings of runs."""

from turnwise.schemas.ces.metric_settings import EvaluationMetricsConfig
from turnwise.schemas.proto.fields import Implicit, Int32, OpenEnum, Text
from turnwise.schemas.proto.json import Message


class AudioEncoding(OpenEnum):
    """Encoding of audio samples."""

    AUDIO_ENCODING_UNSPECIFIED = 0
    LINEAR16 = 1
    MULAW = 2
    ALAW = 3


class InputAudioConfig(Message):
    """Audio that the user's side sends."""

    audio_encoding: Implicit[AudioEncoding] = AudioEncoding(0)
    sample_rate_hertz: Int32 = 0
    noise_suppression_level: Text = ""
    """"low", "moderate", "high" or "very_high"."""


class OutputAudioConfig(Message):
    """Audio that the agent's side produces."""

    audio_encoding: Implicit[AudioEncoding] = AudioEncoding(0)
    sample_rate_hertz: Int32 = 0


class EvaluationChannel(OpenEnum):
    """Channel of a run."""

    EVALUATION_CHANNEL_UNSPECIFIED = 0
    TEXT = 1
    AUDIO = 2


class EvaluationToolCallBehaviour(OpenEnum):
    """Whether a run calls real tools; unspecified: REAL."""

    EVALUATION_TOOL_CALL_BEHAVIOUR_UNSPECIFIED = 0
    REAL = 1
    FAKE = 2


class EvaluationConfig(Message):
    """Settings of a run."""

    input_audio_config: InputAudioConfig | None = None
    """Deprecated."""
    output_audio_config: OutputAudioConfig | None = None
    """Deprecated."""
    evaluation_channel: Implicit[EvaluationChannel] = EvaluationChannel(0)
    tool_call_behaviour: Implicit[EvaluationToolCallBehaviour] = EvaluationToolCallBehaviour(0)


class EvaluationRunCachingMode(OpenEnum):
    """Whether earlier results are used again; unspecified: FORCE_RUN."""

    EVALUATION_RUN_CACHING_MODE_UNSPECIFIED = 0
    FORCE_RUN = 1
    SKIP_IF_UNCHANGED = 2


class EvaluationRunCachingSettings(Message):
    """Whether earlier results are used again."""

    run_caching_mode: Implicit[EvaluationRunCachingMode] = EvaluationRunCachingMode(0)


class ScenarioConversationInitiator(OpenEnum):
    """First speaker; unspecified: USER."""

    SCENARIO_CONVERSATION_INITIATOR_UNSPECIFIED = 0
    USER = 1
    AGENT = 2


class GoldenRunMethod(OpenEnum):
    """Replay method of a golden; unspecified: STABLE."""

    GOLDEN_RUN_METHOD_UNSPECIFIED = 0
    STABLE = 1
    NAIVE = 2


class ScenarioExecutionMode(OpenEnum):
    """Mode of a simulation; unspecified: QUALITY_OPTIMIZED."""

    SCENARIO_EXECUTION_MODE_UNSPECIFIED = 0
    QUALITY_OPTIMIZED = 1
    SPEED_OPTIMIZED = 2


class EvaluationSettings(Message):
    """Defaults of an app."""

    scenario_conversation_initiator: Implicit[ScenarioConversationInitiator] = ScenarioConversationInitiator(
        0
    )
    golden_run_method: Implicit[GoldenRunMethod] = GoldenRunMethod(0)
    golden_evaluation_tool_call_behaviour: Implicit[EvaluationToolCallBehaviour] = (
        EvaluationToolCallBehaviour(0)
    )
    scenario_evaluation_tool_call_behaviour: Implicit[EvaluationToolCallBehaviour] = (
        EvaluationToolCallBehaviour(0)
    )
    metrics_config: EvaluationMetricsConfig | None = None
    scenario_execution_mode: Implicit[ScenarioExecutionMode] = ScenarioExecutionMode(0)
    evaluation_run_caching_settings: EvaluationRunCachingSettings | None = None
