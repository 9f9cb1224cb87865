"""Simulated users."""

from turnwise.schemas.proto.fields import Double, Implicit, OpenEnum, Text
from turnwise.schemas.proto.json import Message


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
    """1 is normal."""
    environment: Implicit[BackgroundEnvironment] = BackgroundEnvironment(0)
    voice_id: Text = ""


class EvaluationPersona(Message):
    """A simulated user."""

    name: Text = ""
    description: Text = ""
    display_name: Text = ""
    personality: Text = ""
    speech_config: SpeechConfig | None = None
