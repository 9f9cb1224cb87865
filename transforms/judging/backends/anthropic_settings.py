"""Generation settings of Anthropic's API, by google-genai's names."""

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from turnwise.schemas.config import ConfigError
from turnwise.schemas.jsonio import JsonObject
from turnwise.transforms.judging.backends.base import wrong_setting


class _MessageSettings(BaseModel):
    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True, allow_inf_nan=False)

    temperature: float = Field(default=0.0, ge=0, le=1)
    top_p: float = Field(default=0.0, ge=0, le=1)
    top_k: int = Field(default=0, ge=0)
    stop_sequences: list[str] = Field(default_factory=list)
    max_output_tokens: int = Field(default=0, ge=1, serialization_alias="max_tokens")
    reasoning_effort: str = ""


def settings_of(settings: JsonObject) -> JsonObject:
    """Returns generation settings by Anthropic's names; raises ValidationError for those it does not have."""
    named = _MessageSettings.model_validate(settings).model_dump(by_alias=True, exclude_unset=True)
    if "reasoning_effort" in named:
        named["output_config"] = {"effort": named.pop("reasoning_effort")}
    return named


def check_settings(model: str, settings: JsonObject) -> None:
    """Raises ConfigError if generation settings are none of the API's."""
    try:
        settings_of(settings)
    except ValidationError as error:
        raise ConfigError(f"judge: {wrong_setting(error)}") from None
