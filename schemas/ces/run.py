"""Evaluation runs of CES: their settings, parts and states."""

from turnwise.schemas.proto.message import (
    Double,
    Implicit,
    Int32,
    Message,
    OpenEnum,
    Text,
)


class AudioEncoding(OpenEnum):
    """Encoding of audio samples."""

    AUDIO_ENCODING_UNSPECIFIED = 0
    LINEAR16 = 1
    MULAW = 2
    ALAW = 3


class InputAudioConfig(Message):
    """Audio that the user's side sends."""

    audio_encoding: Implicit[AudioEncoding] = AudioEncoding(0)
    """Encoding."""
    sample_rate_hertz: Int32 = 0
    """Samples per second."""
    noise_suppression_level: Text = ""
    """`low`, `moderate`, `high` or `very_high`."""


class OutputAudioConfig(Message):
    """Audio that the agent's side produces."""

    audio_encoding: Implicit[AudioEncoding] = AudioEncoding(0)
    """Encoding."""
    sample_rate_hertz: Int32 = 0
    """Samples per second."""


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

    DEPRECATED = frozenset({"input_audio_config", "output_audio_config"})

    input_audio_config: InputAudioConfig | None = None
    """Audio of the user's side."""
    output_audio_config: OutputAudioConfig | None = None
    """Audio of the agent's side."""
    evaluation_channel: Implicit[EvaluationChannel] = EvaluationChannel(0)
    """Text or audio."""
    tool_call_behaviour: Implicit[EvaluationToolCallBehaviour] = EvaluationToolCallBehaviour(0)
    """Whether real tools are called."""


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


class BackgroundEnvironment(OpenEnum):
    """Background noise; 1 and 2 do not exist."""

    BACKGROUND_ENVIRONMENT_UNSPECIFIED = 0
    CALL_CENTER = 3
    TRAFFIC = 4
    KIDS_NOISE = 5
    CAFE = 6


class SpeechConfig(Message):
    """Voice of a persona."""

    PROTO = "EvaluationPersona.SpeechConfig"

    speaking_rate: Double = 0.0
    """Speed; 1 is normal."""
    environment: Implicit[BackgroundEnvironment] = BackgroundEnvironment(0)
    """Background noise."""
    voice_id: Text = ""
    """Id of the voice."""


class EvaluationPersona(Message):
    """A simulated user."""

    name: Text = ""
    """Name of the persona."""
    description: Text = ""
    """Free text."""
    display_name: Text = ""
    """Name for people."""
    personality: Text = ""
    """How the persona behaves."""
    speech_config: SpeechConfig | None = None
    """Voice."""


class GetEvaluationRunRequest(Message):
    """Read a run."""

    REQUIRED = ("name",)

    name: Text = ""
    """Name of the run."""
