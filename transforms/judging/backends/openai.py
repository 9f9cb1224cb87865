"""Asks models by the APIs of OpenAI and Anthropic, through their clients, which nothing else loads."""

from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import anthropic
import openai
import orjson
from anthropic import AsyncAnthropic
from anthropic import DefaultAsyncHttpxClient as AnthropicDefaultAsyncHttpxClient
from openai import AsyncOpenAI, DefaultAsyncHttpxClient

from turnwise.schemas.config import ConfigError
from turnwise.schemas.jsonio import JsonObject
from turnwise.transforms.judging.backends.base import (
    Fault,
    OneCandidateError,
    RawReply,
    ReadAnswer,
    Request,
    TokenFigures,
    cut_off,
    failed,
    replies_of,
    withheld,
    without_thoughts,
)
from turnwise.transforms.judging.backends.calling import (
    ApiFailure,
    ClientErrors,
    OtherFormError,
    instructions_with_schema,
    strict_schema,
)
from turnwise.transforms.judging.backends.settings import (
    RESPONSES,
    anthropic_settings,
    openai_settings,
)
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
        body: dict[str, Any] = openai_settings(template.model, template.settings, limit)
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
        body: dict[str, Any] = openai_settings(template.model, template.settings)
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


# Asks models by Anthropic's Messages API.

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
                http_client=AnthropicDefaultAsyncHttpxClient(follow_redirects=False),
            )
        return self._client

    async def _create(self, request: Request, has_tool: bool) -> bytes:
        template = request.template
        settings = anthropic_settings(template.settings)
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


# Reads the answers of OpenAI's chat completions and Responses API.

_FINISHED = (None, "", "stop", "end_turn", "eos", "eos_token", "stop_sequence")
_BROKEN_OFF = ("abort", "error")


def read_chat(body: str | bytes, model: str, count: int) -> list[RawReply]:
    """Returns `count` replies of chat completions; missing choices are faults. See `replies_of`."""
    return replies_of(body, model, count, _completion)


def read_response(body: str | bytes, model: str) -> list[RawReply]:
    """Returns the reply of the Responses API. See `replies_of`."""
    return replies_of(body, model, 1, _response)


def _completion(answer: JsonObject) -> ReadAnswer:
    texts = [_choice(choice) for choice in answer.get("choices") or []]
    tokens = _tokens(answer, "prompt_tokens", "completion_tokens")
    if not texts and answer.get("error"):  # a gateway's, whose status is 200
        return ReadAnswer(
            [], tokens, answer.get("model"), failed(answer["error"], "an error in place of an answer")
        )
    return ReadAnswer(texts, tokens, answer.get("model"))


def _choice(choice: JsonObject) -> str | Fault:
    finish = choice.get("finish_reason")
    if finish == "length":
        return cut_off(finish)
    if finish in _BROKEN_OFF:
        return failed(choice.get("error"), finish)
    if finish not in _FINISHED:
        return withheld(finish)
    message = choice["message"]
    if message.get("refusal"):
        return withheld("refusal")
    return without_thoughts(_content(message.get("content") or ""))


def _content(content: str | list[dict[str, Any]]) -> str:
    """Returns the text of a message; some servers divide it into parts, thoughts among them."""
    if isinstance(content, str):
        return content
    return "".join(part["text"] for part in content if part["type"] == "text")


def _response(answer: JsonObject) -> ReadAnswer:
    return ReadAnswer(
        [_output(answer)], _tokens(answer, "input_tokens", "output_tokens"), answer.get("model")
    )


def _output(answer: JsonObject) -> str | Fault:
    status = answer["status"]
    if status == "incomplete":
        why = (answer.get("incomplete_details") or {}).get("reason")
        return cut_off(why) if why == "max_output_tokens" else withheld(str(why))
    if status != "completed":
        return failed(answer.get("error"), str(status))
    parts = _parts(answer)
    if any(part["type"] == "refusal" for part in parts):
        return withheld("refusal")
    return without_thoughts("".join(part["text"] for part in parts if part["type"] == "output_text"))


def _parts(answer: JsonObject) -> list[dict[str, Any]]:
    messages = [item for item in answer.get("output") or [] if item["type"] == "message"]
    return [part for message in messages for part in message["content"]]


def _tokens(answer: JsonObject, name_in: str, name_out: str) -> TokenFigures:
    usage = answer.get("usage") or {}
    tokens_in, tokens_out = usage.get(name_in), usage.get(name_out)
    return None if tokens_in is None or tokens_out is None else (int(tokens_in), int(tokens_out))


# Reads the answers of Anthropic's Messages API.

TOOL = "reply"
"""The tool whose input is the answer."""

_MESSAGE_FINISHED = (None, "end_turn", "stop_sequence", "tool_use")
_CUT_OFF = ("max_tokens", "model_context_window_exceeded")
_TOKENS_IN = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


def read_message(body: str | bytes, model: str) -> list[RawReply]:
    """Returns the reply of a message. See `replies_of`."""
    return replies_of(body, model, 1, _message)


def _message(answer: JsonObject) -> ReadAnswer:
    return ReadAnswer(
        [_message_text(answer)], _message_tokens(answer.get("usage") or {}), answer.get("model")
    )


def _message_text(answer: JsonObject) -> str | Fault:
    stop = answer.get("stop_reason")
    if stop in _CUT_OFF:
        return cut_off(stop)
    if stop not in _MESSAGE_FINISHED:
        return withheld(stop)
    blocks: list[dict[str, Any]] = answer["content"]
    for block in blocks:
        if block["type"] == "tool_use" and block["name"] == TOOL:
            return orjson.dumps(block["input"]).decode()
    return without_thoughts("".join(block["text"] for block in blocks if block["type"] == "text"))


def _message_tokens(usage: JsonObject) -> TokenFigures:
    if usage.get("input_tokens") is None or usage.get("output_tokens") is None:
        return None
    return sum(int(usage.get(name) or 0) for name in _TOKENS_IN), int(usage["output_tokens"])
