"""The judge `anthropic`: Anthropic's Messages API. Its client is loaded when it is connected."""

from functools import partial
from typing import Any

import orjson
from pydantic import Field

from turnwise.schemas.jsonio import JsonObject
from turnwise.transforms.judging.backends.base import (
    Fault,
    OneCandidateError,
    RawReply,
    ReadAnswer,
    Request,
    cut_off,
    replies_of,
    stated_tokens,
    withheld,
    without_thoughts,
)
from turnwise.transforms.judging.backends.calling import (
    ClientApi,
    ClientSettings,
    OtherFormError,
    instructions_with_schema,
    register_api,
)
from turnwise.transforms.judging.judges import Access, needing, server_access

_NAME = "anthropic"
_MOST_TOKENS = 8192
"""Limit of an answer where the settings name none: the API needs one."""
_TOOL = "reply"
"""The tool whose input is the answer."""
_FINISHED = (None, "end_turn", "stop_sequence", "tool_use")
_CUT_OFF = ("max_tokens", "model_context_window_exceeded")
_TOKENS = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


class _Settings(ClientSettings):
    temperature: float = Field(default=0.0, ge=0, le=1)
    top_k: int = Field(default=0, ge=0)
    stop_sequences: list[str] = Field(default_factory=list)
    max_output_tokens: int = Field(default=0, ge=1, serialization_alias="max_tokens")


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

    def read(self, body: str | bytes, model: str, count: int) -> list[RawReply]:
        """Returns the reply out of the body of a response. See `replies_of`."""
        return replies_of(
            body,
            model,
            1,
            lambda answer: ReadAnswer([_text(answer)], stated_tokens(answer, *_TOKENS), answer.get("model")),
        )


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


register_api(
    _NAME,
    "a model of Anthropic",
    partial(server_access, _NAME, "ANTHROPIC", "api.anthropic.com", ("/messages", "/v1")),
    lambda config, access: AnthropicApi(access),
    _settings,
    extra=_NAME,
)
