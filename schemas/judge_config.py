"""The `judge` section of the config file: model, calls, limits, cache and prices."""

from typing import Annotated, Literal, TypeAlias
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    model_validator,
)
from pydantic.alias_generators import to_camel

from turnwise.schemas.values import JsonObject

DEFAULT_MODEL = "gemini-2.5-flash"
PromptGeneration: TypeAlias = Literal["first", "second"]
"""The judge's prompts: `first` are those of the release before."""

_NOT_SETTINGS = {
    "automatic_function_calling",
    "cached_content",
    "candidate_count",
    "http_options",
    "response_json_schema",
    "response_mime_type",
    "response_modalities",
    "response_schema",
    "should_return_http_response",
    "system_instruction",
    "tool_config",
    "tools",
}


def generation_settings(value: JsonObject) -> JsonObject:
    """Returns generation settings with their names in snake_case.

    Raises:
        ValueError: A name is given in two spellings, or is a part of the request and not a setting, such as
            `response_schema`.
    """
    named = {snake_case(key): item for key, item in value.items()}
    if len(named) < len(value):
        raise ValueError("a setting is given in two spellings")
    for name in sorted(named.keys() & _NOT_SETTINGS):
        raise ValueError(f"{name} is not a setting")
    return named


def snake_case(key: str) -> str:
    """Returns a camelCase key in snake_case."""
    return "".join(f"_{char.lower()}" if char.isupper() else char for char in key)


def _plain_url(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("must be an http or https URL")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ValueError("must have no user, password, query or fragment; keys come from the environment")
    return value


_SECRET_FORM = r"^projects/[^/\s]+(/locations/[^/\s]+)?/secrets/[^/\s]+/versions/[^/\s]+$"


class TokenPrices(BaseModel):
    """Prices of a model, in any currency.

    Attributes:
        input_per_million: Price of a million prompt tokens.
        output_per_million: Price of a million answer tokens, including thoughts.
    """

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True, allow_inf_nan=False)

    input_per_million: float = Field(ge=0)
    output_per_million: float = Field(ge=0)


ModelName: TypeAlias = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
"""Name of a model, without spaces around it."""


def _named_one_by_one(models: object) -> object:
    if not isinstance(models, list | tuple):
        raise ValueError("must be a list of model names")
    return models


def _panel(models: tuple[str, ...]) -> tuple[str, ...]:
    if len(models) == 1:
        raise ValueError("a panel has at least two models")
    twice = next((model for model in models if models.count(model) > 1), None)
    if twice is not None:
        raise ValueError(f"{twice} is named twice")
    return models


Panel: TypeAlias = Annotated[
    tuple[ModelName, ...],
    BeforeValidator(_named_one_by_one),
    AfterValidator(_panel),
    Field(max_length=9),
]
"""Models that vote on each question, two to nine; (): there is no panel."""


class Cascade(BaseModel):
    """A cheap judge that is asked first; where it is unsure, the question goes on.

    It is unsure if it gives no verdict, if its answers are too few, cannot all be used or do not all have the
    same verdict, or if it states less confidence than is needed.

    Attributes:
        model: The model that is asked first.
        num_samples: Number of its samples per question.
        min_confidence: Lowest stated confidence, 1..100, with which its verdict stands; None: it is not asked
            to state one.
    """

    model_config = ConfigDict(
        defer_build=True, alias_generator=to_camel, populate_by_name=True, extra="forbid", frozen=True
    )

    model: ModelName
    num_samples: int = Field(default=3, ge=1, strict=True)
    min_confidence: int | None = Field(default=None, ge=1, le=100, strict=True)

    @model_validator(mode="after")
    def _can_be_unsure(self) -> "Cascade":
        if self.num_samples == 1 and self.min_confidence is None:
            raise ValueError("with num_samples 1 it is never unsure: give min_confidence, or more samples")
        return self


class JudgeConfig(BaseModel):
    """Settings of the judge. API keys come only from the environment, or from Secret Manager.

    Attributes:
        backend: Name of a judge; None: the first that has credentials, else `none`.
        model: Default model of all criteria.
        panel: Models that vote on each question, in place of `model`.
        cascade: A cheap judge that is asked first; None: there is none.
        project: Google Cloud project; makes the Gemini backend use Vertex AI.
        location: Vertex AI location; None: the environment's, else `global`.
        base_url: URL of the API; None: Google's.
        api_key_secret: Secret of Google's Secret Manager that holds the API key, read by every worker with
            its own identity: `projects/P/secrets/S/versions/V`. None: the key is in the environment.
        generation_config: Generation settings in google-genai's JSON, such as `{"temperature": 0}`.
        requests_per_minute: Rate of requests, retries included; None: no limit.
        timeout_s: Maximum seconds of a call, with retries, without the wait for the rate limit.
        max_attempts: Maximum number of attempts per request; None: until `timeout_s`.
        retry_delay_s: Approximate seconds between the first and second attempt; the delay doubles with every
            attempt, up to 10 s. A longer delay requested by the server is respected.
        max_calls: Maximum number of calls of a run; None: no limit.
        max_tokens: Maximum number of prompt and answer tokens of a run; None: no limit.
        max_cost: Maximum cost of a run, in the currency of `prices`; None: no limit.
        candidates: Whether to request several samples as candidates of one call, if the model supports it.
        prompts: Which prompts ask: `second`, or for this release still `first`.
        cache: SQLite file or PostgreSQL database for replies, shared between runs; None: no cache.
        prices: Model -> prices, for reporting costs.
    """

    model_config = ConfigDict(
        defer_build=True, extra="forbid", frozen=True, allow_inf_nan=False, protected_namespaces=()
    )

    backend: str | None = Field(default=None, min_length=1)
    model: ModelName = DEFAULT_MODEL
    panel: Panel = ()
    cascade: Cascade | None = None
    project: str | None = None
    location: str | None = None
    base_url: Annotated[str, AfterValidator(_plain_url)] | None = None
    api_key_secret: str | None = Field(default=None, pattern=_SECRET_FORM)
    generation_config: Annotated[JsonObject, AfterValidator(generation_settings)] = Field(
        default_factory=dict
    )
    requests_per_minute: float | None = Field(default=None, gt=0)
    timeout_s: float = Field(default=120.0, gt=0, le=86_400)
    max_attempts: int | None = Field(default=None, ge=1)
    retry_delay_s: float = Field(default=1.0, ge=0)
    max_calls: int | None = Field(default=None, ge=0)
    max_tokens: int | None = Field(default=None, ge=0)
    max_cost: float | None = Field(default=None, ge=0)
    candidates: bool = False
    prompts: PromptGeneration = "second"
    cache: str | None = Field(default=None, min_length=1, repr=False)
    prices: dict[str, TokenPrices] = Field(default_factory=dict)
