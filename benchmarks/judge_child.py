"""Makes judge calls against a server and prints what they took, as one JSON object.

Usage: python -m benchmarks.judge_child KIND PORT CALLS CONCURRENCY CACHE

KIND is `turnwise`, `cached` (the same with a cache in the file CACHE), `client` (google-genai alone, in one
session without proxies, with HTTP responses as they come) or `plain_client` (google-genai alone, called as
its documentation shows).
"""

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Literal

import aiohttp
from google import genai
from google.genai import types
from pydantic import BaseModel

from turnwise.schemas.config import DEFAULT_MODEL, JudgeConfig
from turnwise.transforms.judging.ask import JudgeModelOptions, Prompt, Question
from turnwise.transforms.judging.setup import JudgeSettings, JudgeWorker

_KEY = "loopback"
_INSTRUCTIONS = (
    "Say whether the answer means what the expected answer means. Quote the words you rely on. " * 6
)
_OPTIONS = JudgeModelOptions(num_samples=1)
_EVIDENCE = "<answer>The order was sent on Monday and will be there by Thursday.</answer> " * 35
_TIMEOUT_S = 60
_TOGETHER = 4


class Verdict(BaseModel):
    """The scripted answer of the judge."""

    quote: str
    verdict: Literal["valid", "invalid"]


def evidence(number: int) -> str:
    return f"{_EVIDENCE}<case>{number}</case>"


def turnwise(port: int, calls: int, concurrency: int, cache: str | None) -> dict[str, float]:
    config = JudgeConfig(
        backend="gemini", base_url=f"http://127.0.0.1:{port}", timeout_s=_TIMEOUT_S, cache=cache
    )
    worker = JudgeWorker(JudgeSettings(config, concurrency), {"GOOGLE_API_KEY": _KEY})

    async def ask(number: int) -> None:
        prompt = Prompt("benchmark/1", _INSTRUCTIONS, evidence(number))
        (sample,) = await worker.ask(Question(prompt, Verdict, _OPTIONS), range(1))
        if sample.reply is None:
            raise RuntimeError(sample.reason)

    async def judge(first: int) -> None:
        await asyncio.gather(*(ask(number) for number in range(first, min(first + _TOGETHER, calls))))

    worker.submit(ask(-1)).result()
    start = Clock()
    for future in [worker.submit(judge(first)) for first in range(0, calls, _TOGETHER)]:
        future.result()
    report = start.report(calls)
    worker.close()
    return report


def client(port: int, calls: int, concurrency: int, is_plain: bool) -> dict[str, float]:
    return asyncio.run(_client(port, calls, concurrency, is_plain))


async def _client(port: int, calls: int, concurrency: int, is_plain: bool) -> dict[str, float]:
    session = None if is_plain else aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))
    options = types.HttpOptions(
        base_url=f"http://127.0.0.1:{port}",
        timeout=_TIMEOUT_S * 1000,
        retry_options=types.HttpRetryOptions(attempts=5),
        aiohttp_client=session,
    )
    api = genai.Client(api_key=_KEY, vertexai=False, http_options=options)
    config = types.GenerateContentConfig(
        system_instruction=_INSTRUCTIONS,
        response_mime_type="application/json",
        response_json_schema=Verdict.model_json_schema(),
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
        should_return_http_response=None if is_plain else True,
    )

    async def ask(number: int) -> None:
        await api.aio.models.generate_content(model=DEFAULT_MODEL, contents=evidence(number), config=config)

    await ask(-1)
    start = Clock()
    await each(ask, calls, concurrency)
    report = start.report(calls)
    if session:
        await session.close()
    await api.aio.aclose()
    return report


async def each(ask: Callable[[int], Awaitable[None]], calls: int, concurrency: int) -> None:
    limit = asyncio.Semaphore(concurrency)

    async def limited(number: int) -> None:
        async with limit:
            await ask(number)

    await asyncio.gather(*(limited(number) for number in range(calls)))


class Clock:
    """Seconds on the clock and of the CPU since it was made."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def report(self, calls: int) -> dict[str, float]:
        """Returns the figures of so many calls."""
        wall, cpu = time.perf_counter() - self._wall, time.process_time() - self._cpu
        return {"calls_per_s": calls / wall, "cpu_ms": cpu / calls * 1000}


def main(argv: Sequence[str]) -> None:
    """Prints one report."""
    kind, port, calls, concurrency, cache = argv[0], int(argv[1]), int(argv[2]), int(argv[3]), argv[4]
    if kind in ("turnwise", "cached"):
        report = turnwise(port, calls, concurrency, cache if kind == "cached" else None)
    else:
        report = client(port, calls, concurrency, kind == "plain_client")
    print(json.dumps(report))


if __name__ == "__main__":
    main(sys.argv[1:])
