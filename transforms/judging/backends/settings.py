"""Generation settings of OpenAI's and Anthropic's APIs, by google-genai's names."""

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from turnwise.schemas.config import ConfigError
from turnwise.schemas.jsonio import JsonObject
from turnwise.transforms.judging.backends.base import wrong_setting

RESPONSES = "responses/"
"""Start of the names of models that are asked by the Responses API."""


class _SharedSettings(BaseModel):
    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True, allow_inf_nan=False)

    temperature: float = Field(default=0.0, ge=0)
    top_p: float = Field(default=0.0, ge=0, le=1)
    max_output_tokens: int = Field(default=0, ge=1)
    reasoning_effort: str = ""


class _ChatSettings(_SharedSettings):
    stop_sequences: list[str] = Field(default_factory=list, serialization_alias="stop")
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    seed: int = 0


def openai_settings(model: str, settings: JsonObject, limit: str = "max_completion_tokens") -> JsonObject:
    """Returns generation settings by OpenAI's names.

    Args:
        model: The model; its name says which API is asked.
        settings: The settings.
        limit: How chat completions call the limit of tokens; servers of one's own know `max_tokens`.

    Raises:
        ValidationError: The API does not have one of them.
    """
    is_chat = not model.startswith(RESPONSES)
    found = (_ChatSettings if is_chat else _SharedSettings).model_validate(settings)
    named = found.model_dump(by_alias=True, exclude_unset=True)
    if is_chat and "max_output_tokens" in named:
        named[limit] = named.pop("max_output_tokens")
    if not is_chat and "reasoning_effort" in named:
        named["reasoning"] = {"effort": named.pop("reasoning_effort")}
    return named


def check_openai_settings(model: str, settings: JsonObject) -> None:
    """Raises ConfigError if generation settings are none of the API's."""
    try:
        openai_settings(model, settings)
    except ValidationError as error:
        raise ConfigError(f"judge: {wrong_setting(error)}") from None


class _MessageSettings(BaseModel):
    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True, allow_inf_nan=False)

    temperature: float = Field(default=0.0, ge=0, le=1)
    top_p: float = Field(default=0.0, ge=0, le=1)
    top_k: int = Field(default=0, ge=0)
    stop_sequences: list[str] = Field(default_factory=list)
    max_output_tokens: int = Field(default=0, ge=1, serialization_alias="max_tokens")
    reasoning_effort: str = ""


def anthropic_settings(settings: JsonObject) -> JsonObject:
    """Returns generation settings by Anthropic's names; raises ValidationError for those it does not have."""
    named = _MessageSettings.model_validate(settings).model_dump(by_alias=True, exclude_unset=True)
    if "reasoning_effort" in named:
        named["output_config"] = {"effort": named.pop("reasoning_effort")}
    return named


def check_anthropic_settings(settings: JsonObject) -> None:
    """Raises ConfigError if generation settings are none of the API's."""
    try:
        anthropic_settings(settings)
    except ValidationError as error:
        raise ConfigError(f"judge: {wrong_setting(error)}") from None
