"""Asks models by OpenAI's chat completions and Responses API, through openai; nothing else loads openai."""

from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import openai
from openai import AsyncOpenAI, DefaultAsyncHttpxClient

from turnwise.schemas.config import ConfigError
from turnwise.schemas.jsonio import JsonObject
from turnwise.transforms.judging.backends.base import OneCandidateError, RawReply, Request
from turnwise.transforms.judging.backends.calling import ApiFailure, OtherFormError
from turnwise.transforms.judging.backends.clients import ClientErrors, instructions_with_schema
from turnwise.transforms.judging.backends.openai_reply import read_chat, read_response
from turnwise.transforms.judging.backends.settings import RESPONSES, settings_of
from turnwise.transforms.judging.backends.strict_schema import strict_schema
from turnwise.transforms.judging.judges_base import Access

_FORMAT_WORDS = (
    *("response_format", "json_schema", "json schema", "text.format", "structured output", "grammar"),
    *("guided decoding", "guided_json"),
)
_WRONG_SCHEMA = ("invalid schema", "features not supported", "schema conversion")
_COUNT_WORDS = ("'n'", '"n"', "choice", "best_of")


class OpenAiApi:
    """One client of OpenAI's API, for one event loop; made at the first call.

    A server of one's own is told the schema of the answer twice: as `response_format`, which not all enforce,
    and in the instructions, because not all show it to the model. A server that refuses `response_format` is
    asked without it.
    """

    def __init__(self, access: Access, is_newest: bool):
        """Takes how the API is reached, and whether OpenAI or Azure serves it."""
        self._access, self._is_newest = access, is_newest
        self._errors = ClientErrors(openai.APIStatusError, openai.APIConnectionError, access.api_key)
        self._client: AsyncOpenAI | None = None
        self._without_format: set[str | bytes] = set()

    @property
    def lists_models(self) -> bool:
        """Whether a model that it does not find does not exist."""
        return not self._access.base_url

    def open(self) -> None:
        """Makes the client, once."""
        self._opened()

    async def generate(self, request: Request, count: int) -> bytes:
        """Returns the body of the response; see Api."""
        model, kind = request.template.model, request.template.digest
        has_format = self._without_format.isdisjoint((model, kind))
        try:
            if model.startswith(RESPONSES):
                return await self._respond(request, count, has_format)
            return await self._complete(request, count, has_format)
        except openai.APIStatusError as error:
            if has_format and self._refuses_format(error):
                is_of_schema = self._errors.refuses(error, *_WRONG_SCHEMA)
                self._without_format.add(kind if is_of_schema else model)
                raise OtherFormError from None
            if count > 1 and self._errors.refuses(error, *_COUNT_WORDS):
                raise OneCandidateError from None
            raise

    async def find(self, model: str) -> None:
        """Asks for a model.

        Raises:
            ConfigError: The address lacks its path.
        """
        try:
            await self._opened().models.with_raw_response.retrieve(model.removeprefix(RESPONSES))
        except openai.NotFoundError:
            await self._check_path()
            raise

    async def _check_path(self) -> None:
        url = self._access.base_url or ""
        if urlsplit(url).path:
            return
        with suppress(openai.APIError):
            found = await self._opened().with_options(base_url=f"{url}/v1").models.with_raw_response.list()
            if "json" not in found.headers.get("content-type", ""):
                return
            raise ConfigError(f"judge: {url} has no models, but {url}/v1 has: name it with /v1")

    def _refuses_format(self, error: openai.APIStatusError) -> bool:
        if error.status_code == 500:  # as some versions of llama.cpp have it
            return "response_format" in error.response.text
        return self._errors.refuses(error, *_FORMAT_WORDS)

    def read(self, body: str | bytes, model: str, count: int) -> list[RawReply]:
        """Returns the replies out of the body of a response."""
        return read_response(body, model) if model.startswith(RESPONSES) else read_chat(body, model, count)

    def failure(self, error: Exception) -> ApiFailure:
        """Returns what an error means."""
        return self._errors.failure(error)

    async def aclose(self) -> None:
        """Closes the connections."""
        if self._client is not None:
            await self._client.close()

    def _opened(self) -> AsyncOpenAI:
        if self._client is None:
            self._client = AsyncOpenAI(
                api_key=self._access.api_key or "none",  # it must be given; servers without keys read none
                base_url=self._access.base_url or "https://api.openai.com/v1",
                max_retries=0,
                timeout=None,
                http_client=DefaultAsyncHttpxClient(follow_redirects=False),
            )
        return self._client

    async def _complete(self, request: Request, count: int, has_format: bool) -> bytes:
        template = request.template
        limit = "max_completion_tokens" if self._is_newest else "max_tokens"
        body: dict[str, Any] = settings_of(template.model, template.settings, limit)
        if has_format:
            body["response_format"] = {"type": "json_schema", "json_schema": _format(template.schema)}
        if count > 1:
            body["n"] = count
        messages = [
            {"role": "system", "content": self._instructions(request, has_format)},
            {"role": "user", "content": request.evidence},
        ]
        create = self._opened().chat.completions.with_raw_response.create
        return (await create(model=template.model, messages=messages, **body)).http_response.content  # type: ignore[arg-type]

    async def _respond(self, request: Request, count: int, has_format: bool) -> bytes:
        if count > 1:
            raise OneCandidateError
        template = request.template
        body: dict[str, Any] = settings_of(template.model, template.settings)
        if has_format:
            body["text"] = {"format": {"type": "json_schema", **_format(template.schema)}}
        create = self._opened().responses.with_raw_response.create
        response = await create(
            model=template.model.removeprefix(RESPONSES),
            instructions=self._instructions(request, has_format),
            input=request.evidence,
            store=False,
            **body,
        )
        return response.http_response.content

    def _instructions(self, request: Request, has_format: bool) -> str:
        if has_format and self._is_newest:
            return request.template.instructions
        return instructions_with_schema(request.template)


def _format(schema: JsonObject) -> JsonObject:
    strict = strict_schema(schema)
    return {"name": "reply", "schema": schema if strict is None else strict, "strict": strict is not None}
