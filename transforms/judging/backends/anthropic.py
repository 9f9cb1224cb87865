"""Asks models by Anthropic's Messages API, through anthropic; nothing else loads anthropic."""

from typing import Any

import anthropic
from anthropic import AsyncAnthropic, DefaultAsyncHttpxClient

from turnwise.transforms.judging.backends.anthropic_reply import TOOL, read_message
from turnwise.transforms.judging.backends.anthropic_settings import settings_of
from turnwise.transforms.judging.backends.base import OneCandidateError, RawReply, Request
from turnwise.transforms.judging.backends.calling import ApiFailure, OtherFormError
from turnwise.transforms.judging.backends.clients import ClientErrors, instructions_with_schema
from turnwise.transforms.judging.judges_base import Access

_MOST_TOKENS = 8192
"""Limit of an answer where the settings name none: the API needs one."""


class AnthropicApi:
    """One client of Anthropic's API, for one event loop; made at the first call.

    The answer is the input of a tool that the model must call. A model or server that refuses the tool gets
    its schema in the instructions.
    """

    def __init__(self, access: Access):
        self._access = access
        self._errors = ClientErrors(anthropic.APIStatusError, anthropic.APIConnectionError, access.api_key)
        self._client: AsyncAnthropic | None = None
        self._without_tool: set[str] = set()

    @property
    def lists_models(self) -> bool:
        """Whether a model that it does not find does not exist."""
        return not self._access.base_url

    def open(self) -> None:
        """Makes the client, once."""
        self._opened()

    async def generate(self, request: Request, count: int) -> bytes:
        """Returns the body of the response; see Api."""
        if count > 1:
            raise OneCandidateError
        model = request.template.model
        has_tool = model not in self._without_tool
        try:
            return await self._create(request, has_tool)
        except anthropic.APIStatusError as error:
            if has_tool and self._errors.refuses(error, "tool"):
                self._without_tool.add(model)
                raise OtherFormError from None
            raise

    async def find(self, model: str) -> None:
        """Asks for a model."""
        await self._opened().models.with_raw_response.retrieve(model)

    def read(self, body: str | bytes, model: str, count: int) -> list[RawReply]:
        """Returns the reply out of the body of a response."""
        return read_message(body, model)

    def failure(self, error: Exception) -> ApiFailure:
        """Returns what an error means."""
        return self._errors.failure(error)

    async def aclose(self) -> None:
        """Closes the connections."""
        if self._client is not None:
            await self._client.close()

    def _opened(self) -> AsyncAnthropic:
        if self._client is None:
            self._client = AsyncAnthropic(
                api_key=self._access.api_key or "none",
                base_url=self._access.base_url or "https://api.anthropic.com",
                max_retries=0,
                timeout=None,
                # A redirect would take the key along, also to another origin.
                http_client=DefaultAsyncHttpxClient(follow_redirects=False),
            )
        return self._client

    async def _create(self, request: Request, has_tool: bool) -> bytes:
        template = request.template
        settings = settings_of(template.settings)
        body: dict[str, Any] = {"max_tokens": settings.pop("max_tokens", _MOST_TOKENS)}
        instructions = template.instructions if has_tool else instructions_with_schema(template)
        if has_tool:
            body["tools"] = [
                {"name": TOOL, "description": "Gives the answer.", "input_schema": template.schema}
            ]
            body["tool_choice"] = {"type": "tool", "name": TOOL, "disable_parallel_tool_use": True}
        response = await self._opened().messages.with_raw_response.create(
            model=template.model,
            system=instructions,
            messages=[{"role": "user", "content": request.evidence}],
            extra_body=settings,  # the client does not know the temperature, which older models have
            **body,
        )
        return response.http_response.content
