"""The judge `anthropic`: Anthropic's Messages API. Its client is loaded when it is connected."""

from typing import Any

import orjson
from pydantic import BaseModel, ConfigDict, Field

from turnwise.schemas.config import JudgeConfig
from turnwise.schemas.jsonio import JsonObject
from turnwise.transforms.judging.backends.base import (
    Fault,
    OneCandidateError,
    RawReply,
    ReadAnswer,
    Request,
    TokenFigures,
    cut_off,
    replies_of,
    withheld,
    without_thoughts,
)
from turnwise.transforms.judging.backends.calling import (
    ClientApi,
    OtherFormError,
    instructions_with_schema,
    register_api,
)
from turnwise.transforms.judging.judges import Access, Environ, api_url, keyed_access, needing

_NAME = "anthropic"
_MOST_TOKENS = 8192
"""Limit of an answer where the settings name none: the API needs one."""
_TOOL = "reply"
"""The tool whose input is the answer."""
_FINISHED = (None, "end_turn", "stop_sequence", "tool_use")
_CUT_OFF = ("max_tokens", "model_context_window_exceeded")
_TOKENS_IN = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


class _Settings(BaseModel):
    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True, allow_inf_nan=False)

    temperature: float = Field(default=0.0, ge=0, le=1)
    top_p: float = Field(default=0.0, ge=0, le=1)
    top_k: int = Field(default=0, ge=0)
    stop_sequences: list[str] = Field(default_factory=list)
    max_output_tokens: int = Field(default=0, ge=1, serialization_alias="max_tokens")
    reasoning_effort: str = ""


def _settings(model: str, settings: JsonObject) -> JsonObject:
    """Returns generation settings by Anthropic's names; raises ValidationError for those it does not have."""
    named = _Settings.model_validate(settings).model_dump(by_alias=True, exclude_unset=True)
    if "reasoning_effort" in named:
        named["output_config"] = {"effort": named.pop("reasoning_effort")}
    return named


class AnthropicApi(ClientApi):
    """Anthropic's API. The answer is the input of a tool that the model must call.

    A model or server that refuses the tool gets its schema in the instructions.
    """

    def __init__(self, access: Access):
        with needing(_NAME):
            import anthropic
        super().__init__(access, anthropic, anthropic.AsyncAnthropic, "https://api.anthropic.com")
        self._without_tool: set[str] = set()

    async def generate(self, request: Request, count: int) -> bytes:
        """Returns the body of the response; see Api."""
        if count > 1:
            raise OneCandidateError
        template = request.template
        has_tool = template.model not in self._without_tool
        settings = _settings(template.model, template.settings)
        body: dict[str, Any] = {"max_tokens": settings.pop("max_tokens", _MOST_TOKENS)}
        if has_tool:
            body["tools"] = [
                {"name": _TOOL, "description": "Gives the answer.", "input_schema": template.schema}
            ]
            body["tool_choice"] = {"type": "tool", "name": _TOOL, "disable_parallel_tool_use": True}
        try:
            response = await self.client.messages.with_raw_response.create(
                model=template.model,
                system=template.instructions if has_tool else instructions_with_schema(template),
                messages=[{"role": "user", "content": request.evidence}],
                extra_body=settings,  # the client does not know the temperature, which older models have
                **body,
            )
        except self.status_error as error:
            if has_tool and self.refuses(error, "tool"):
                self._without_tool.add(template.model)
                raise OtherFormError from None
            raise
        return response.http_response.content

    async def find(self, model: str) -> None:
        """Asks for a model."""
        await self.client.models.with_raw_response.retrieve(model)

    def read(self, body: str | bytes, model: str, count: int) -> list[RawReply]:
        """Returns the reply out of the body of a response. See `replies_of`."""
        return replies_of(body, model, 1, _message)


def _message(answer: JsonObject) -> ReadAnswer:
    usage = answer.get("usage") or {}
    tokens: TokenFigures = None
    if usage.get("input_tokens") is not None and usage.get("output_tokens") is not None:
        tokens = sum(int(usage.get(name) or 0) for name in _TOKENS_IN), int(usage["output_tokens"])
    return ReadAnswer([_text(answer)], tokens, answer.get("model"))


def _text(answer: JsonObject) -> str | Fault:
    stop = answer.get("stop_reason")
    if stop in _CUT_OFF:
        return cut_off(stop)
    if stop not in _FINISHED:
        return withheld(stop)
    blocks: list[dict[str, Any]] = answer["content"]
    for block in blocks:
        if block["type"] == "tool_use" and block["name"] == _TOOL:
            return orjson.dumps(block["input"]).decode()
    return without_thoughts("".join(block["text"] for block in blocks if block["type"] == "text"))


def _access(config: JudgeConfig, environ: Environ) -> Access:
    url = config.base_url or environ.get("ANTHROPIC_BASE_URL")
    server = api_url(url, "api.anthropic.com", "/messages", "/v1")
    return keyed_access(_NAME, "ANTHROPIC_API_KEY", config, environ, server)


register_api(
    _NAME,
    "a model of Anthropic",
    _access,
    lambda config, access: AnthropicApi(access),
    _settings,
    extra=_NAME,
)
