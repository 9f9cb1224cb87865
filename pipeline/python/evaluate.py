"""Evaluates conversations in this process, by the functions that the pipeline's steps call."""

import asyncio
import contextlib
import os
from collections.abc import Coroutine, Iterable, Mapping
from threading import Thread
from typing import Any, TypeVar

from turnwise.pipeline.api.collected import Collected
from turnwise.pipeline.api.result import RunResult
from turnwise.pipeline.api.scoring import Receiver, score_all
from turnwise.pipeline.api.settings import Config, Options, in_python, run_settings
from turnwise.pipeline.python.inputs import CaseInput, ConversationInput, sort_inputs
from turnwise.pipeline.report.judge import UsageByModel
from turnwise.pipeline.settings.run import RunSettings, try_judge
from turnwise.schemas.case import EvalCase
from turnwise.schemas.config import ConfigError
from turnwise.schemas.conversation import Conversation
from turnwise.schemas.registry import error_text
from turnwise.transforms.judging.backends.base import Backend
from turnwise.transforms.judging.judges_base import JudgeKind
from turnwise.transforms.judging.limits import JudgeCounts
from turnwise.transforms.judging.setup import build_judge, run_loop
from turnwise.transforms.matching.sample import Sample

T = TypeVar("T")


def evaluate(
    conversations: ConversationInput | Iterable[ConversationInput],
    *,
    cases: CaseInput | Iterable[CaseInput] | None = None,
    criteria: Mapping[str, Any] | None = None,
    config: Config | None = None,
    judge: str | Backend | JudgeKind | None = None,
    judge_concurrency: int = 64,
    sample_rate: float = 1.0,
    input_format: str = "auto",
    run_id: str | None = None,
) -> RunResult:
    """Scores conversations and returns what `turnwise run` would write.

    It works in a notebook, too, where an event loop is running; it waits there until all is scored.

    Args:
        conversations: Paths (files, directories, globs), dicts in any known log format, `Conversation`
            objects, or several of these. A string is always a path.
        cases: Eval cases: paths, addresses of stores, dicts in any known format, `EvalCase` objects. None:
            conversations stand alone or bring their expectations along.
        criteria: Name -> threshold, or a dict of the criterion's fields. None: those of the config.
        config: `EvalConfig`, a dict like it, or the path of a config file. None: the default config.
        judge: `gemini`, `local`, `none`, another registered name, or a `Backend` object. None: the
            config's, or else `gemini` where the environment has credentials.
        judge_concurrency: Calls in flight at most.
        sample_rate: Share of the conversations that are judged, 0..1.
        input_format: Format of every record of a conversation; `auto`: recognised by its keys.
        run_id: Id of the run; None: made of the time.

    Returns:
        Scores, results, metrics and failures. What could not be read, parsed, matched or scored is in
        `failures`, and the status is not PASS then.

    Raises:
        ConfigError: The config, a criterion, a path or the judge is wrong; nothing was scored.
        TypeError: An argument is unknown or of the wrong type.

    >>> import turnwise
    >>> turn = {
    ...     "user": "Where is my order?",
    ...     "agent": "It arrives on Monday.",
    ...     "tool_calls": [{"name": "track", "args": {"order": 7}}],
    ...     "expected": {"tool_calls": [{"name": "track", "args": {"order": 8}}]},
    ... }
    >>> log = {"conversation_id": "c1", "app_version": "v1", "turns": [turn]}
    >>> result = turnwise.evaluate([log], criteria={"tool_trajectory_avg_score": 1.0})
    >>> result.status
    'FAIL'
    >>> [(row["criterion"], row["turn_index"], row["value"]) for row in result.scores]
    [('tool_trajectory_avg_score', 0, 0.0), ('tool_trajectory_avg_score', None, 0.0)]
    >>> result.failures
    []
    """
    return finished(
        evaluate_async(
            conversations,
            cases=cases,
            criteria=criteria,
            config=config,
            judge=judge,
            judge_concurrency=judge_concurrency,
            sample_rate=sample_rate,
            input_format=input_format,
            run_id=run_id,
        )
    )


async def evaluate_async(
    conversations: ConversationInput | Iterable[ConversationInput],
    *,
    cases: CaseInput | Iterable[CaseInput] | None = None,
    criteria: Mapping[str, Any] | None = None,
    config: Config | None = None,
    judge: str | Backend | JudgeKind | None = None,
    judge_concurrency: int = 64,
    sample_rate: float = 1.0,
    input_format: str = "auto",
    run_id: str | None = None,
) -> RunResult:
    """Does what `evaluate` does in the running event loop, where the calls of the judge are concurrent.

    See `evaluate` for the arguments, the result and the errors. Cancelling it cancels the calls.

    >>> import asyncio, turnwise
    >>> turn = {"user": "Hi", "agent": "Hello", "expected": {"response": "Hello"}}
    >>> log = {"conversation_id": "c1", "turns": [turn]}
    >>> async def main():
    ...     return await turnwise.evaluate_async(log, criteria={"response_match_score": 0.8})
    >>> asyncio.run(main()).status
    'PASS'
    """
    options = Options(criteria, config, judge, judge_concurrency, sample_rate, input_format, run_id)
    try:
        settings = run_settings(options, cases is not None)
        logs = sort_inputs("conversations", conversations, Conversation)
        given = None if cases is None else sort_inputs("cases", cases, EvalCase)
    except (SystemExit, GeneratorExit) as error:
        raise _no_end(error) from error
    collected = Collected(settings)
    usage = await score_with_judge(collected.samples(logs, given), settings, collected)
    return collected.result(usage)


async def score_with_judge(
    samples: Iterable[Sample], settings: RunSettings, receiver: Receiver
) -> UsageByModel:
    """Scores samples by the criteria and the judge of the settings, and returns the judge's usage.

    Raises:
        ConfigError: The judge cannot work; nothing was scored.
        AuthenticationError: The judge's credentials are refused.
    """
    counts = JudgeCounts()
    try:
        await asyncio.to_thread(try_judge, settings)
    except ConfigError as error:
        raise type(error)(in_python(str(error))) from error
    built = build_judge(settings.judge, os.environ, counts)
    try:
        await score_all(samples, settings.selection, built.ask, settings.judge.most_waiting, receiver)
    finally:
        await built.aclose()
    return counts.take()


def _no_end(error: BaseException) -> RuntimeError:
    """Returns the error for an object that was handed in and raised what would end the process."""
    return RuntimeError(f"an object that was handed in raised {error_text(error)}")


def finished(coroutine: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine to its end, whether or not an event loop is running in this thread."""
    try:
        return _finished_beside(coroutine) if _is_loop_running() else asyncio.run(coroutine)
    except SystemExit as error:
        raise _no_end(error) from error


def _is_loop_running() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _finished_beside(coroutine: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine to its end in a thread of its own."""
    loop = asyncio.new_event_loop()
    thread = Thread(target=run_loop, args=(loop,), name="turnwise-evaluate", daemon=True)
    thread.start()
    future = asyncio.run_coroutine_threadsafe(coroutine, loop)
    try:
        return future.result()
    finally:
        future.cancel()
        asyncio.run_coroutine_threadsafe(_cancel_all(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _cancel_all() -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.gather(*tasks, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_default_executor()
