"""The `judge` section of the config file: which model judges, how it is called, and what that may cost."""

from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from turnwise.schemas.values import JsonObject

DEFAULT_MODEL = "gemini-2.5-flash"
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
        ValueError: A name is given in two spellings, or is none of a setting but part of a request, such as
            `response_schema`.
    """
    named = {_snake(key): item for key, item in value.items()}
    if len(named) < len(value):
        raise ValueError("a setting is given in two spellings")
    for name in sorted(named.keys() & _NOT_SETTINGS):
        raise ValueError(f"{name} is not a setting")
    return named


def _snake(key: str) -> str:
    return "".join(f"_{char.lower()}" if char.isupper() else char for char in key)


def _plain_url(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("must be an http or https URL")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ValueError("must have no user, password, query or fragment; keys come from the environment")
    return value


class TokenPrices(BaseModel):
    """What a model costs, in any currency.

    Attributes:
        input_per_million: Price of a million tokens of prompts.
        output_per_million: Price of a million tokens of answers, thoughts included.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    input_per_million: float = Field(ge=0)
    output_per_million: float = Field(ge=0)


class JudgeConfig(BaseModel):
    """Who judges, and how. It holds no secret: API keys come from the environment only.

    Attributes:
        backend: Name of a judge; None: the first that has credentials, else `none`.
        model: Name of the model, where a criterion names none.
        project: Google Cloud project; it makes the Gemini backend use Vertex AI.
        location: Vertex AI location; None: the environment's, else `global`.
        base_url: Where the API is served, if not at Google's.
        generation_config: Generation settings in google-genai's JSON, such as `{"temperature": 0}`.
        requests_per_minute: Rate of requests, retries included, per worker process; None: no limit.
        timeout_s: Longest time of a call in seconds, retries included, waiting for its turn not.
        max_attempts: How often a request is sent at most, the first time included; None: until `timeout_s`.
        retry_delay_s: About how many seconds after the first attempt the second one is made; the wait
            doubles from attempt to attempt, up to 10 s. A server that names a longer one is obeyed.
        max_calls: Calls that may be made, per worker process and run; None: any number.
        max_tokens: Tokens that may be paid, of prompts and answers, per worker process and run; None: any
            number.
        candidates: Ask for several samples as candidates of one call, where the model can do that.
        cache: SQLite file in which replies are kept from run to run; None: nothing is kept.
        prices: Model -> its prices, by which costs are told as money.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, protected_namespaces=())

    backend: str | None = Field(default=None, min_length=1)
    model: str = Field(default=DEFAULT_MODEL, min_length=1)
    project: str | None = None
    location: str | None = None
    base_url: Annotated[str, AfterValidator(_plain_url)] | None = None
    generation_config: Annotated[JsonObject, AfterValidator(generation_settings)] = Field(
        default_factory=dict
    )
    requests_per_minute: float | None = Field(default=None, gt=0)
    timeout_s: float = Field(default=120.0, gt=0, le=86_400)
    max_attempts: int | None = Field(default=None, ge=1)
    retry_delay_s: float = Field(default=1.0, ge=0)
    max_calls: int | None = Field(default=None, ge=0)
    max_tokens: int | None = Field(default=None, ge=0)
    candidates: bool = False
    cache: str | None = Field(default=None, min_length=1)
    prices: dict[str, TokenPrices] = Field(default_factory=dict)
