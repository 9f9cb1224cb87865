"""Evaluates conversations in this process, by the functions that the pipeline's steps call."""

import asyncio
import json
import os
import re
from collections import Counter, deque
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from threading import Thread
from typing import Any, NamedTuple, TypeAlias, TypeVar

from msgspec import convert
from msgspec.structs import replace

from turnwise.pipeline.python import inputs as arguments
from turnwise.pipeline.python.inputs import CaseInput, ConversationInput, Inputs, RunResult, sort_inputs
from turnwise.pipeline.report.ending import end_run, report_text
from turnwise.pipeline.report.run_counts import failure_counters
from turnwise.pipeline.report.terminal import UsageByModel
from turnwise.pipeline.settings import run as run_settings
from turnwise.pipeline.settings.options import RawJudgeOptions
from turnwise.pipeline.settings.run import MAX_RECORD_BYTES, RunSettings
from turnwise.schemas.case import CaseKey, EvalCase
from turnwise.schemas.config import STATUS, ConfigError, EvalConfig, JudgeConfig
from turnwise.schemas.conversation import Conversation
from turnwise.schemas.jsonio import JsonObject, short_repr
from turnwise.schemas.registry import error_text
from turnwise.schemas.rows import FailureRow, plain_rows
from turnwise.schemas.run import RunDocument
from turnwise.schemas.score import RAISED, Failure, record_failure
from turnwise.transforms.criteria.base import Criterion
from turnwise.transforms.decisions.run import Run
from turnwise.transforms.formats.reading import LogReader
from turnwise.transforms.formats.registry import check_log_format
from turnwise.transforms.judging.backends.base import Backend, backend_fault
from turnwise.transforms.judging.judges import NONE, JudgeKind
from turnwise.transforms.judging.limits import JudgeCounts
from turnwise.transforms.judging.setup import JudgeSettings, build_judge, cancel_others, close_judge, run_loop
from turnwise.transforms.matching.sample import USED_CASE, Sample, match_case
from turnwise.transforms.metrics import state
from turnwise.transforms.review.problems import to_read
from turnwise.transforms.review.row import decide
from turnwise.transforms.scoring.config import judged_counts, parse_config
from turnwise.transforms.scoring.evaluate import GuessCounts, ScoredConversation, redacted_counts
from turnwise.transforms.scoring.evaluate import evaluate as evaluate_sample

Config: TypeAlias = EvalConfig | Mapping[str, Any] | str | os.PathLike[str]
Redact: TypeAlias = str | Sequence[str] | Mapping[str, Any]

_OPTION = re.compile(r"(?<![\w-])(?<!turnwise inspect )--(?=[a-z])")
_IN_PYTHON = re.compile(r" \(in Python: \w+\)")
_NONE = type(None)
_TYPES: tuple[tuple[str, Any, str], ...] = (
    ("criteria", (Mapping, _NONE), "dict of names and thresholds"),
    ("config", (EvalConfig, Mapping, str, os.PathLike, _NONE), "EvalConfig, dict or path"),
    ("judge_concurrency", int, "int"),
    ("sample_rate", int | float, "number"),
    ("input_format", str, "name of a format"),
    ("run_id", (str, _NONE), "str"),
    ("redact", (str, Sequence, Mapping, _NONE), "kind, list of kinds, or dict"),
)


class Options(NamedTuple):
    """The keywords of an evaluation."""

    criteria: Mapping[str, Any] | None = None
    config: Config | None = None
    judge: str | Backend | JudgeKind | None = None
    judge_concurrency: int = 64
    sample_rate: float = 1.0
    input_format: str = "auto"
    run_id: str | None = None
    redact: Redact | None = None


def settings_of(options: Options, has_cases: bool) -> RunSettings:
    """Returns the settings of the keywords; raises ConfigError or TypeError for the first wrong value."""
    for name, kinds, wanted in _TYPES:
        value = getattr(options, name)
        if not isinstance(value, kinds) or isinstance(value, bool):
            raise TypeError(f"{name}: {type(value).__name__} is no {wanted}")
    redact = options.redact
    try:
        config = read_any_config(options.config)
        if options.criteria is not None:
            if "criteria" in config.model_fields_set:
                raise ConfigError("criteria: given twice, as `criteria` and in the config")
            config = _with_section(config, "config", criteria=dict(options.criteria))
        if isinstance(redact, Mapping):
            config = _with_section(config, "redact", redact=dict(redact))
        elif redact is not None and not redact:
            raise ConfigError('redact: names no kind; "default" or {} takes all')
        else:
            kinds = [redact] if isinstance(redact, str) else redact or ()
            config = run_settings.with_redaction(config, kinds)
        config, criteria = run_settings.checked_criteria(config, options.input_format, has_cases, (STATUS,))
        run = run_settings.run_info(options.run_id, config)
        judge = _judge(options, config.judge, run.run_id, criteria)
    except ConfigError as error:
        raise ConfigError(in_python(str(error))) from None
    return RunSettings(
        run=run_settings.judged_by(run, judge),
        config=config,
        criteria=criteria,
        judge=judge,
        sample_rate=options.sample_rate,
        input_format=options.input_format,
        input=("conversations",),
        eval_cases=("cases",) if has_cases else (),
    )


def in_python(message: str) -> str:
    """Returns a message about options of the command in the names of the keywords."""
    return _OPTION.sub("", _IN_PYTHON.sub("", message.replace("--eval_cases", "cases")))


def _with_section(config: EvalConfig, name: str, **section: JsonObject) -> EvalConfig:
    """Returns a config with a section in place of its own; `name` is what errors call it by."""
    return parse_config(_json(config.model_dump(mode="json", exclude_unset=True) | section), name)


def _judge(
    options: Options, config: JudgeConfig, run_id: str, criteria: Sequence[Criterion]
) -> JudgeSettings:
    given = options.judge
    raw = RawJudgeOptions(judge_concurrency=options.judge_concurrency, sample_rate=options.sample_rate)
    if given is None or isinstance(given, str):
        return run_settings.judge_settings(replace(raw, judge=given), config, run_id, criteria)
    if isinstance(given, JudgeKind):
        kind = given
    elif fault := backend_fault(given):
        raise TypeError(f"judge: neither a name nor a Backend: {fault}")
    else:
        backend, name = given, f"{type(given).__module__}.{type(given).__qualname__}"
        kind = JudgeKind(name=name, help="", connect=lambda config, environ, note_retry: backend)
    # An object may answer otherwise in the next run, so its replies are kept only where the config says so.
    settings = run_settings.judge_settings(replace(raw, judge=NONE.name), config, run_id)
    model = config.model if "model" in config.model_fields_set else kind.model or config.model
    stated = {"backend": kind.name, "model": model, "cache": settings.config.cache if config.cache else None}
    stated_config = settings.config.model_copy(update=stated)
    run_settings.check_several(kind, stated_config, criteria)
    return replace(settings, config=stated_config, given_judge=kind)


def read_any_config(config: Config | None) -> EvalConfig:
    """Returns a config that is given as an object, a dict, a path, or not at all; raises ConfigError."""
    if isinstance(config, EvalConfig):
        return config
    if isinstance(config, Mapping):
        return parse_config(_json(dict(config)))
    return run_settings.read_config(None if config is None else os.fspath(config))


def _json(value: Mapping[str, Any]) -> str:
    def plain(value: object) -> object:
        if hasattr(value, "tolist"):  # numpy's
            return value.tolist()
        raise TypeError(
            f"{short_repr(value)} is a {type(value).__name__}; needed is a number, text, list or dict"
        )

    try:
        return json.dumps(value, default=plain)
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigError(f"config: {error}") from None


OnFailure: TypeAlias = Callable[[FailureRow], object]


class ReadError(ValueError):
    """Something could not be read.

    Attributes:
        failures: What, and why.

    >>> import turnwise
    >>> try:
    ...     turnwise.read_conversations({"conversation_id": "c1", "turns": []})
    ... except turnwise.ReadError as error:
    ...     print(error, len(error.failures))
    conversations:1: conversation c1 has no turn 1
    """

    def __init__(self, failures: list[FailureRow]) -> None:
        first = failures[0]
        more = f" (and {len(failures) - 1} more)" if len(failures) > 1 else ""
        where = f"{first['source']}:{first['position']}" if first["position"] else first["source"]
        super().__init__(f"{where}: {first['message']}{more}")
        self.failures = failures


def read_conversations(
    conversations: ConversationInput | Iterable[ConversationInput],
    *,
    input_format: str = "auto",
    config: Config | None = None,
    on_failure: OnFailure | None = None,
) -> list[Conversation]:
    """Reads conversation logs of every format that `turnwise run` reads.

    Args:
        conversations: Paths (files, directories, globs; gzipped or not), or dicts.
        input_format: Format of every record; `auto`: recognised by its keys.
        config: Its section `discovery_engine` says how the answers of a search engine are read,
            `traces` how spans are, and `mapping` how records of any form are.
        on_failure: Called with every failure, a dict as in the table `failures`, such as a list's `append`.
            None: the first failure raises ReadError, when all is read.

    Returns:
        The conversations: of files by name, then of dicts in order, then those that were joined of events.

    Raises:
        ConfigError: A path names nothing, or the format is unknown.
        ReadError: Something could not be read, and there is no `on_failure`.

    >>> import turnwise
    >>> failures = []
    >>> logs = [{"conversation_id": "c1", "turns": [{"user": "Hi", "agent": "Hello"}]}, {"no": "log"}]
    >>> [one.turns[0].agent for one in turnwise.read_conversations(logs, on_failure=failures.append)]
    ['Hello']
    >>> [row["position"] for row in failures]
    [2]
    """
    check_log_format(input_format)
    reader = LogReader(input_format, read_any_config(config))
    inputs = sort_inputs("conversations", conversations, Conversation)
    read = list(arguments.logged_conversations(inputs, reader, MAX_RECORD_BYTES, Counter()))
    _report([item for item in read if isinstance(item, Failure)], on_failure)
    return [item.conversation for item in read if not isinstance(item, Failure)]


def read_cases(
    cases: CaseInput | Iterable[CaseInput],
    *,
    config: Config | None = None,
    on_failure: OnFailure | None = None,
) -> list[EvalCase]:
    """Reads eval cases of every format that `turnwise run` reads.

    Args:
        cases: Paths (files, directories, globs), addresses of stores, or dicts.
        config: Its section `ces` says how CES cases are judged where they do not say.
        on_failure: As for `read_conversations`. Of equal cases with one name the first is returned, of
            different ones none; each of the others is a failure.

    Returns:
        The eval cases.

    Raises:
        ConfigError: A path names nothing, or a store cannot be opened.
        ReadError: Something could not be read, and there is no `on_failure`.

    >>> import turnwise
    >>> case = {"eval_id": "greeting", "turns": [{"user": "Hi", "response": "Hello"}]}
    >>> [case.eval_id for case in turnwise.read_cases([case])]
    ['greeting']
    """
    inputs = sort_inputs("cases", cases, EvalCase)
    index, failures = arguments.eval_cases(inputs, read_any_config(config), MAX_RECORD_BYTES, Counter())
    _report(failures, on_failure)
    return [case.unpacked()[1] for case in index]


def _report(failures: list[Failure], on_failure: OnFailure | None) -> None:
    rows = [row for failure in failures for row in state.failure_rows(failure, "")]
    if on_failure is None:
        if rows:
            raise ReadError(rows)
        return
    for row in rows:
        on_failure(row)


Add: TypeAlias = Callable[[ScoredConversation], None]
"""Takes a scored conversation."""
Reject: TypeAlias = Callable[[Sample, BaseException], None]
"""Takes a sample whose scoring raised an exception."""


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
    redact: Redact | None = None,
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
        redact: `default` (all kinds), kinds, or a dict as the config's section `redact`, which it replaces:
            what the result and the judge's prompts hold as markers. None: as the config says.
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
    return finished(evaluate_async(**locals()))  # it has the same parameters


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
    redact: Redact | None = None,
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
    options = Options(criteria, config, judge, judge_concurrency, sample_rate, input_format, run_id, redact)
    try:
        settings = settings_of(options, cases is not None)
        logs = sort_inputs("conversations", conversations, Conversation)
        given = None if cases is None else sort_inputs("cases", cases, EvalCase)
    except (SystemExit, GeneratorExit, asyncio.CancelledError) as error:
        raise _no_end(error) from error
    collected = Collected(settings)
    usage = await score_with_judge(collected.samples(logs, given), settings, collected.add, collected.reject)
    return collected.result(usage)


async def score_with_judge(
    samples: Iterable[Sample], settings: RunSettings, add: Add, reject: Reject
) -> UsageByModel:
    """Scores samples by the settings, passes them on in order, and returns the judge's usage.

    Raises ConfigError if the judge cannot work (nothing was scored), AuthenticationError if its credentials
    are refused.
    """
    counts = JudgeCounts()
    try:
        await asyncio.to_thread(run_settings.try_judge, settings)
    except ConfigError as error:
        raise type(error)(in_python(str(error))) from error
    judge = build_judge(settings.judge, os.environ, counts)
    selection, most = settings.selection, settings.judge.most_waiting
    waiting: deque[tuple[ScoredConversation, asyncio.Task[None]]] = deque()

    async def hand_over() -> None:
        await waiting[0][1]
        add(waiting.popleft()[0])

    try:
        for sample in samples:
            try:
                scored, asking = evaluate_sample(sample, selection.of(sample), judge)
            except RAISED as error:
                reject(sample, error)
                continue
            waiting.append((scored, asyncio.create_task(asking or _nothing())))
            await asyncio.sleep(0)
            while waiting and (len(waiting) > most or waiting[0][1].done()):
                await hand_over()
        while waiting:
            await hand_over()
    finally:
        tasks = [task for _, task in waiting]
        for task in tasks:
            task.cancel()
        try:
            await asyncio.gather(*tasks, return_exceptions=True)
        finally:  # also where it is cancelled once more
            await close_judge(judge)
    return counts.take()


async def _nothing() -> None:
    """Stands for the judge of a conversation about which nobody is asked; it ends in one turn of the loop."""


def _no_end(error: BaseException) -> RuntimeError:
    """Returns the error for an object that was handed in and raised what would end the process."""
    return RuntimeError(f"an object that was handed in raised {error_text(error)}")


def finished(coroutine: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine to its end, whether or not an event loop is running in this thread."""
    loop = None
    with suppress(RuntimeError):
        asyncio.get_running_loop()
        loop = asyncio.new_event_loop()
    try:
        if loop is None:
            return asyncio.run(coroutine)
        thread = Thread(target=run_loop, args=(loop,), name="turnwise-evaluate", daemon=True)
        thread.start()
        future = asyncio.run_coroutine_threadsafe(coroutine, loop)
        try:
            return future.result()
        finally:
            future.cancel()
            for end in (cancel_others, loop.shutdown_default_executor):
                asyncio.run_coroutine_threadsafe(end(), loop).result()
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()
    except SystemExit as error:
        raise _no_end(error) from error


_METRICS: dict[str, Callable[..., Iterable[Any]]] = {
    "metrics_by_app_version": state.version_rows,
    "metrics_by_turn": state.turn_rows,
    "metrics_by_slice": state.slice_rows,
}


class Collected:
    """The rows, sums and counts of one evaluation."""

    def __init__(self, settings: RunSettings) -> None:
        self._settings = settings
        self._counts: Counter[str] = Counter()
        self._guesses = GuessCounts()
        self._sums: dict[str, state.MetricsState] = {}
        names = "scores", "results", "conversations", "failures"
        self._tables: dict[str, list[Any]] = {name: [] for name in names}
        self._unused: list[str] = []

    def samples(self, logs: Inputs[Conversation], given: Inputs[EvalCase] | None) -> Iterator[Sample]:
        """Yields the conversations beside their cases; raises ConfigError if a path names nothing."""
        config, limit = self._settings.config, self._settings.max_record_bytes
        index, failures = arguments.eval_cases(given, config, limit, self._counts) if given else (None, [])
        self.fail(failures)
        keys: set[CaseKey] = {case.key for case in index or ()}
        used: set[CaseKey] = set()
        reader = LogReader(self._settings.input_format, config)
        for logged in arguments.logged_conversations(logs, reader, limit, self._counts):
            matched = logged if isinstance(logged, Failure) else match_case(index, *logged, self._counts)
            if isinstance(matched, Failure):
                self.fail([matched])
                continue
            if matched.eval_case is not None:
                used.add(matched.eval_case.key)
            yield matched
        self._unused = sorted(key.eval_id for key in keys - used)
        self._counts.update(f"{USED_CASE}{key.text}" for key in keys & used)

    def add(self, scored: ScoredConversation) -> None:
        """Computes the verdict of a scored conversation and adds its rows."""
        try:
            evaluated = decide(scored, self._settings.run)
        except RAISED as error:
            self.reject(scored.sample, error)
            return
        self._counts["results"] += 1
        self._guesses.add(scored)
        self.fail(scored.failures)
        self._counts.update(judged_counts(scored, evaluated.verdict.status))
        self._counts.update(redacted_counts(scored))
        self._tables["scores"] += plain_rows(evaluated.scores)
        self._tables["results"] += evaluated.results
        self._tables["conversations"] += evaluated.conversations
        state.add_conversation(self._sums, scored, evaluated.verdict, evaluated.parts)

    def reject(self, sample: Sample, error: BaseException) -> None:
        """Adds the failure of a conversation that could not be scored."""
        self._counts["rejected_conversations"] += 1
        self.fail([record_failure("score", error, sample.record, sample.conversation.conversation_id)])

    def result(self, usage: UsageByModel) -> RunResult:
        """Returns everything; `usage` is the judge's usage."""
        run_id, sums, tables = self._settings.run.run_id, sorted(self._sums.items()), {**self._tables}
        for name, rows_of in _METRICS.items():
            tables[name] = [row for entry in sums for row in rows_of(entry, run_id)]
        counted = self._counts | self._guesses
        rows = tables["metrics_by_app_version"]

        def read(document: JsonObject) -> Run:
            return Run("", convert(document, RunDocument), tables.__getitem__)

        files: JsonObject = {"files": {}}
        made, chosen = (counted, usage, rows, files, read), to_read(tables["conversations"])
        document = end_run(self._settings, *made, unused=self._unused, to_read=chosen)
        problems = document["problems"] = [*map(in_python, document["problems"])]
        has_failed = any(row["verdict"] == "FAIL" for row in tables["results"])
        return RunResult(
            run_id=run_id,
            status="FAIL" if has_failed else None if problems else "PASS",
            problems=tuple(problems),
            **{name: arguments.Table(name, rows) for name, rows in tables.items()},
            counts=dict(document["counts"]),
            judge=document["judge"],
            summary=report_text(self._settings, rows, document, read(document)),
            document=document,
        )

    def fail(self, failures: list[Failure]) -> None:
        """Adds failures."""
        for failure in failures:
            run = self._settings.run
            for row in state.failure_rows(failure, run.run_id, run.redact, self._counts):
                self._tables["failures"].append(row)
                self._counts.update(failure_counters(row))
