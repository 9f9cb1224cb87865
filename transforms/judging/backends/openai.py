"""The judges `openai`, `azure` and `anthropic`; a client is loaded when one is connected."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import orjson
from pydantic import Field

from turnwise.schemas.config import ConfigError, JudgeConfig
from turnwise.schemas.jsonio import JsonObject
from turnwise.transforms.judging.backends import base, calling
from turnwise.transforms.judging.judges import Access, Environ, OnRetry, keyed_access, needing, server_access
from turnwise.transforms.text.cleaning import without_thoughts

_NAME = "openai"
_RESPONSES = "responses/"
"""Start of the names of models that are asked by the Responses API."""
_FORMAT_WORDS = (
    *("response_format", "json_schema", "json schema", "text.format", "structured output", "grammar"),
    *("guided decoding", "guided_json"),
)
_WRONG_SCHEMA = ("invalid schema", "features not supported", "schema conversion")
_COUNT_WORDS = ("'n'", '"n"', "choice", "best_of")
_ENDED = ("completed", "failed", "expired", "cancelled")
_JOB_NAME = "turnwise"
"""Key of a job's metadata that holds its name."""
_FINISHED = (None, "", "stop", "end_turn", "eos", "eos_token", "stop_sequence")
_BROKEN_OFF = ("abort", "error")


class _ChatSettings(calling.ClientSettings):
    stop_sequences: list[str] = Field(default_factory=list, serialization_alias="stop")
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    seed: int = 0


def _settings(model: str, settings: JsonObject, limit: str = "max_completion_tokens") -> JsonObject:
    """Returns generation settings by OpenAI's names; raises ValidationError for those it does not have."""
    is_chat = not model.startswith(_RESPONSES)
    valid = (_ChatSettings if is_chat else calling.ClientSettings).model_validate(settings)
    named = valid.model_dump(by_alias=True, exclude_unset=True)
    if is_chat and "max_output_tokens" in named:
        named[limit] = named.pop("max_output_tokens")
    if not is_chat and "reasoning_effort" in named:
        named["reasoning"] = {"effort": named.pop("reasoning_effort")}
    return named


class OpenAiBackend(calling.ClientBackend, calling.BatchBackend):
    """OpenAI's API.

    A server of one's own is told the schema of the answer twice: as `response_format`, which not all enforce,
    and in the instructions, because not all show it to the model. A server that refuses `response_format` is
    asked without it.
    """

    batch_bytes = 40_000_000  # of 200 MB; a job is put together in memory
    client_name, usual_url = "AsyncOpenAI", "https://api.openai.com/v1"

    def __init__(self, config: JudgeConfig, access: Access, on_retry: OnRetry, is_azure: bool = False):
        with needing(_NAME):
            import openai
        super().__init__(config, access, on_retry)
        self.library = openai
        # OpenAI's own servers, and Azure's, know the newest names of settings; servers of one's own may not.
        host = urlsplit(access.base_url or "").hostname or ""
        is_known = host.endswith((".openai.com", ".openai.azure.com"))
        self._is_newest = is_azure or is_known or access.base_url is None
        self._without_format: set[str | bytes] = set()

    async def call(self, request: base.Request, count: int) -> bytes:
        model, kind = request.template.model, request.template.digest
        has_format = self._without_format.isdisjoint((model, kind))
        path, body = self._body(request, count, has_format)
        resource = self.client.responses if path == "/responses" else self.client.chat.completions
        try:
            return bytes((await resource.with_raw_response.create(**body)).http_response.content)
        except self.library.APIStatusError as error:
            if error.status_code == 500:  # as some versions of llama.cpp have it
                refuses_format = "response_format" in error.response.text
            else:
                refuses_format = self.refuses(error, *_FORMAT_WORDS)
            if has_format and refuses_format:
                self._without_format.add(kind if self.refuses(error, *_WRONG_SCHEMA) else model)
                raise calling.OtherFormError from None
            if count > 1 and self.refuses(error, *_COUNT_WORDS):
                raise base.OneCandidateError from None
            raise

    async def find(self, model: str) -> None:
        """Asks for a model; raises ConfigError if the address lacks its path."""
        try:
            await self.client.models.with_raw_response.retrieve(model.removeprefix(_RESPONSES))
        except self.library.NotFoundError:
            url = self.access.base_url or ""
            if not urlsplit(url).path:
                with suppress(self.library.APIError):
                    below = self.client.with_options(base_url=f"{url}/v1")
                    listed = await below.models.with_raw_response.list()
                    if "json" in listed.headers.get("content-type", ""):
                        why = f"{url} has no models, but {url}/v1 has: name it with /v1"
                        raise ConfigError(f"judge: {why}") from None
            raise

    def read(self, answer: JsonObject, model: str) -> base.ReadAnswer:
        if model.startswith(_RESPONSES):
            tokens = base.stated_tokens(answer.get("usage"), ["input_tokens"], ["output_tokens"])
            return base.ReadAnswer([_output(answer)], tokens, answer.get("model"))
        texts = [_choice(choice) for choice in answer.get("choices") or []]
        tokens = base.stated_tokens(answer.get("usage"), ["prompt_tokens"], ["completion_tokens"])
        error = answer.get("error")  # a gateway's, whose status is 200
        fault = base.failed(error, "an error in place of an answer") if error else base.EMPTY
        return base.ReadAnswer(texts, tokens, answer.get("model"), fault)

    async def submit(self, name: str, requests: Mapping[str, tuple[base.Request, int]]) -> str:
        """Uploads the requests as JSON Lines, and makes a job of them."""
        endpoint, lines = "", []
        for key, (request, count) in requests.items():
            endpoint, body = self._body(request, count, has_format=True)
            line = {"custom_id": key, "method": "POST", "url": f"/v1{endpoint}", "body": body}
            lines.append(orjson.dumps(line))
        content = (f"{name}.jsonl", b"\n".join(lines) + b"\n")
        file = await self.client.files.create(file=content, purpose="batch")
        job = await self.client.batches.create(
            input_file_id=file.id,
            endpoint=f"/v1{endpoint}",
            completion_window="24h",
            metadata={_JOB_NAME: name},
        )
        return str(job.id)

    async def find_job(self, name: str) -> str | None:
        listed = await self.client.batches.list(limit=100)
        return next((job.id for job in listed.data if (job.metadata or {}).get(_JOB_NAME) == name), None)

    async def job(self, job: str, ids: Sequence[str]) -> base.BatchState:
        """A job that expired may have answered some requests."""
        stated = await self.client.batches.retrieve(job)
        if stated.status not in _ENDED:
            return base.BatchState(stated.status, is_ended=False)
        answers: dict[str, str | bytes | base.Fault] = {}
        errors = (stated.errors.data or []) if stated.errors else []
        why = [error.message or "" for error in errors]
        for file in filter(None, (stated.output_file_id, stated.error_file_id)):
            try:
                content = (await self.client.files.content(file)).content
            except self.library.NotFoundError as error:  # what the other file holds is an answer
                why.append(self.failure(error).fault.reason)
                continue
            for number, line in enumerate(content.splitlines(), 1):
                try:
                    answers |= [_batch_line(line)] if line.strip() else []
                except (AttributeError, KeyError, TypeError, ValueError):
                    why.append(f"line {number} of its result cannot be read")
        return base.BatchState(stated.status, True, answers, "; ".join(why))

    async def discard(self, job: str) -> None:
        """Removes the files of a job; the job itself stays listed, without texts."""
        stated = await self.client.batches.retrieve(job)
        for file in filter(None, (stated.input_file_id, stated.output_file_id, stated.error_file_id)):
            with suppress(self.library.NotFoundError):
                await self.client.files.delete(file)

    def _body(self, request: base.Request, count: int, has_format: bool) -> tuple[str, dict[str, Any]]:
        template = request.template
        model = template.model.removeprefix(_RESPONSES)
        instructions = template.instructions
        if not (has_format and self._is_newest):
            instructions = calling.instructions_with_schema(template)
        strict = calling.strict_schema(template.schema)
        schema, is_strict = template.schema if strict is None else strict, strict is not None
        form = {"name": "reply", "schema": schema, "strict": is_strict}
        if model != template.model:
            if count > 1:
                raise base.OneCandidateError
            body: dict[str, Any] = dict(
                model=model,
                instructions=instructions,
                input=request.evidence,
                store=False,
                **_settings(template.model, template.settings),
            )
            if has_format:
                body["text"] = {"format": {"type": "json_schema", **form}}
            return "/responses", body
        limit = "max_completion_tokens" if self._is_newest else "max_tokens"
        body = {
            "model": model,
            "messages": [
                {"role": "system", "content": instructions},
                {"role": "user", "content": request.evidence},
            ],
            **_settings(model, template.settings, limit),
        }
        if has_format:
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        if count > 1:
            body["n"] = count
        return "/chat/completions", body


def _batch_line(line: bytes) -> tuple[str, str | bytes | base.Fault]:
    """Returns the id of a request of a job, and the body of its response or why there is none."""
    stated = orjson.loads(line)
    response, error = stated.get("response") or {}, stated.get("error")
    body, code = response.get("body"), response.get("status_code")
    if not error and code == 200:
        return str(stated["custom_id"]), orjson.dumps(body)
    error = error or (body.get("error") if isinstance(body, dict) else None) or {}
    words = " ".join(str(error[name]) for name in ("code", "message") if error.get(name))
    is_final = code in calling.FINAL_STATUSES and error.get("code") not in calling.NO_CREDIT
    reason = base.one_line((f"HTTP {code} " if code else "") + words or "the request failed")
    return str(stated["custom_id"]), base.Fault("http", reason, is_final)


def _choice(choice: JsonObject) -> str | base.Fault:
    finish = choice.get("finish_reason")
    if finish == "length":
        return base.cut_off(finish)
    if finish in _BROKEN_OFF:
        return base.failed(choice.get("error"), finish)
    if finish not in _FINISHED:
        return base.withheld(finish)
    message = choice["message"]
    if message.get("refusal"):
        return base.withheld("refusal")
    content: str | list[dict[str, Any]] = message.get("content") or ""
    if not isinstance(content, str):  # some servers divide it into parts, thoughts among them
        content = "".join(part["text"] for part in content if part["type"] == "text")
    return without_thoughts(content)


def _output(answer: JsonObject) -> str | base.Fault:
    status = answer["status"]
    if status == "incomplete":
        why = (answer.get("incomplete_details") or {}).get("reason")
        return base.cut_off(why) if why == "max_output_tokens" else base.withheld(str(why))
    if status != "completed":
        return base.failed(answer.get("error"), str(status))
    messages = [item for item in answer.get("output") or [] if item["type"] == "message"]
    parts: list[dict[str, Any]] = [part for message in messages for part in message["content"]]
    if any(part["type"] == "refusal" for part in parts):
        return base.withheld("refusal")
    return without_thoughts("".join(part["text"] for part in parts if part["type"] == "output_text"))


def _azure_access(config: JudgeConfig, environ: Environ) -> Access:
    host = config.base_url or environ.get("AZURE_OPENAI_ENDPOINT")
    if not host:
        raise ConfigError("judge: no address of azure; set AZURE_OPENAI_ENDPOINT, or judge.base_url")
    url = host.rstrip("/").removesuffix("/openai/v1") + "/openai/v1"
    access = keyed_access("azure", "AZURE_OPENAI_API_KEY", config, environ, url)
    if not (access.api_key or access.secret):
        raise ConfigError("judge: no credentials for azure; set AZURE_OPENAI_API_KEY")
    return access


calling.register_api(
    _NAME,
    "a model of OpenAI, or of any server with its API",
    partial(server_access, _NAME, "OPENAI", "api.openai.com", ("/chat/completions", "/responses")),
    OpenAiBackend,
    _settings,
    extra=_NAME,
    has_batches=True,
)
calling.register_api(
    "azure",
    "a model of OpenAI at Azure",
    _azure_access,
    partial(OpenAiBackend, is_azure=True),
    _settings,
    extra=_NAME,
    has_batches=True,
)


# The judge `anthropic`: Anthropic's Messages API. Its client is loaded when it is connected.

_ANTHROPIC_NAME = "anthropic"
_MOST_TOKENS = 8192
"""Limit of an answer where the settings name none: the API needs one."""
_TOOL = "reply"
"""The tool whose input is the answer."""
_ANTHROPIC_FINISHED = (None, "end_turn", "stop_sequence", "tool_use")
_CUT_OFF = ("max_tokens", "model_context_window_exceeded")
_TOKENS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"), ("output_tokens",)


class _Settings(calling.ClientSettings):
    temperature: float = Field(default=0.0, ge=0, le=1)
    top_k: int = Field(default=0, ge=0)
    stop_sequences: list[str] = Field(default_factory=list)
    max_output_tokens: int = Field(default=0, ge=1, serialization_alias="max_tokens")


def _settings_anthropic(model: str, settings: JsonObject) -> JsonObject:
    """Returns generation settings by Anthropic's names; raises ValidationError for those it does not have."""
    named = _Settings.model_validate(settings).model_dump(by_alias=True, exclude_unset=True)
    if "reasoning_effort" in named:
        named["output_config"] = {"effort": named.pop("reasoning_effort")}
    return named


class AnthropicBackend(calling.ClientBackend):
    """Anthropic's API. The answer is the input of a tool that the model must call.

    A model or server that refuses the tool gets its schema in the instructions.
    """

    client_name, usual_url = "AsyncAnthropic", "https://api.anthropic.com"

    def __init__(self, config: JudgeConfig, access: Access, on_retry: OnRetry):
        with needing(_ANTHROPIC_NAME):
            import anthropic
        super().__init__(config, access, on_retry)
        self.library = anthropic
        self._without_tool: set[str] = set()

    async def call(self, request: base.Request, count: int) -> bytes:
        if count > 1:
            raise base.OneCandidateError
        template = request.template
        has_tool = template.model not in self._without_tool
        settings = _settings_anthropic(template.model, template.settings)
        body: dict[str, Any] = {"max_tokens": settings.pop("max_tokens", _MOST_TOKENS)}
        if has_tool:
            tool = {"name": _TOOL, "description": "Gives the answer.", "input_schema": template.schema}
            body["tools"] = [tool]
            body["tool_choice"] = {"type": "tool", "name": _TOOL, "disable_parallel_tool_use": True}
        try:
            response = await self.client.messages.with_raw_response.create(
                model=template.model,
                system=template.instructions if has_tool else calling.instructions_with_schema(template),
                messages=[{"role": "user", "content": request.evidence}],
                extra_body=settings,  # the client does not know the temperature, which older models have
                **body,
            )
        except self.library.APIStatusError as error:
            if has_tool and self.refuses(error, "tool"):
                self._without_tool.add(template.model)
                raise calling.OtherFormError from None
            raise
        return response.http_response.content

    async def find(self, model: str) -> None:
        await self.client.models.with_raw_response.retrieve(model)

    def read(self, answer: JsonObject, model: str) -> base.ReadAnswer:
        stop = answer.get("stop_reason")
        if stop in _CUT_OFF:
            text: str | base.Fault = base.cut_off(stop)
        elif stop not in _ANTHROPIC_FINISHED:
            text = base.withheld(stop)
        else:
            blocks: list[dict[str, Any]] = answer["content"]
            used = (block for block in blocks if block["type"] == "tool_use" and block["name"] == _TOOL)
            if tool := next(used, None):
                text = orjson.dumps(tool["input"]).decode()
            else:
                spoken = "".join(block["text"] for block in blocks if block["type"] == "text")
                text = without_thoughts(spoken)
        return base.ReadAnswer([text], base.stated_tokens(answer.get("usage"), *_TOKENS), answer.get("model"))


calling.register_api(
    _ANTHROPIC_NAME,
    "a model of Anthropic",
    partial(server_access, _ANTHROPIC_NAME, "ANTHROPIC", "api.anthropic.com", ("/messages", "/v1")),
    AnthropicBackend,
    _settings_anthropic,
    extra=_ANTHROPIC_NAME,
)
