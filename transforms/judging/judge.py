"""The judge of a model: within the limits, with a cache of replies, and sharing equal questions."""

import asyncio
import logging
import threading
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from turnwise.schemas.config import JudgeConfig
from turnwise.schemas.registry import error_text
from turnwise.schemas.score import RAISED
from turnwise.transforms.judging import limits
from turnwise.transforms.judging.ask import Ask, JudgeSample, Question, R, known_sum, read_reply
from turnwise.transforms.judging.backends import base
from turnwise.transforms.judging.judges import JUDGING, Requests
from turnwise.transforms.judging.shared_places import REFUSED, PlaceError, ReplyPlace, ReplyRow

_LARGEST_BATCH = 500
_GATHER_S = 0.005
_LOG = logging.getLogger(__name__)


_Replies = dict[int, base.RawReply]
_Lookup = tuple[bytes, "asyncio.Future[_Replies]"]


class ReplyCache:
    """Replies by question and number of the sample, for one event loop.

    One thread reads and writes in batches of a few milliseconds, so that the event loop does not wait for a
    disk or network. A killed process loses only the replies of the last milliseconds. If the place fails
    later, a warning is logged once. Then replies of a file are requested again; those of a place that is
    needed cannot be had.
    """

    def __init__(self, reply_place: ReplyPlace):
        """Takes the place of the replies, and starts the thread."""
        self._reply_place = reply_place
        self._queue: SimpleQueue[ReplyRow | _Lookup | None] = SimpleQueue()
        self._has_failed = False
        self._thread = threading.Thread(target=self._work, name="turnwise-judge-cache", daemon=True)
        self._thread.start()

    async def get(self, question: bytes) -> _Replies:
        """Returns the replies to a question that are there, by number.

        Raises PlaceError if the place is needed and does not answer.
        """
        answer: asyncio.Future[_Replies] = asyncio.get_running_loop().create_future()
        self._queue.put((question, answer))
        return await answer

    def put(self, question: bytes, number: int, reply: base.RawReply) -> None:
        """Adds a usable reply; later calls of `get` return it."""
        tokens = reply.tokens_in or 0, reply.tokens_out or 0
        self._queue.put((question, number, reply.text or "", reply.model, *tokens))

    def close(self) -> None:
        """Writes pending replies and closes the place."""
        self._queue.put(None)
        self._thread.join()

    def _work(self) -> None:
        is_open = True
        while is_open:
            batch = [self._queue.get()]
            time.sleep(_GATHER_S)
            with suppress(Empty):
                while len(batch) < _LARGEST_BATCH:
                    batch.append(self._queue.get_nowait())
            is_open = None not in batch
            if puts := [item for item in batch if item and len(item) == 6]:
                try:
                    self._reply_place.write(puts)
                except PlaceError as error:
                    self._warn(error)
            if looks := [item for item in batch if item and len(item) == 2]:
                self._answer(looks)
        self._reply_place.close()

    def _answer(self, looks: Sequence[_Lookup]) -> None:
        known: dict[bytes, _Replies] = {}
        failure: PlaceError | None = None
        try:
            for row in self._reply_place.read(list({question for question, _ in looks})):
                known.setdefault(row[0], {})[row[1]] = base.RawReply(row[2], None, *row[3:])
        except PlaceError as error:
            self._warn(error)
            failure = error if self._reply_place.is_needed else None

        def answer() -> None:
            for question, waiting in looks:
                if not waiting.done() and failure is not None:
                    waiting.set_exception(failure)
                elif not waiting.done():
                    waiting.set_result(known.get(question, {}))

        with suppress(RuntimeError):  # the loop is closed
            looks[0][1].get_loop().call_soon_threadsafe(answer)

    def _warn(self, error: Exception) -> None:
        if not self._has_failed:
            self._has_failed = True
            needed, asked_anew = "what it cannot answer has no score", "replies may be asked for anew"
            _LOG.warning("%s; %s", error, needed if self._reply_place.is_needed else asked_anew)


_BROKEN_OFF = base.RawReply(None, tokens_in=None, tokens_out=None)
_ASKED_AGAIN: frozenset[base.FaultKind | None] = frozenset(("json", "schema", "empty"))


class _Sampled(Struct):
    sample: JudgeSample[Any]
    fault: base.FaultKind | None
    saved: int


_PendingSamples = asyncio.Task[dict[int, _Sampled]]


@dataclass(eq=False, repr=False)
class Judge:
    """Asks a model with cache and limits, for one event loop.

    A question is sent as one call per sample, in parallel; with `candidates`, as one call for all samples.
    Equal concurrent questions share their answers. A reply that is empty, no JSON or outside its schema is
    requested once more; both calls are billed.

    Attributes:
        owed: Keys of requests that batch jobs do not make, with the reason; None: there are no jobs.
    """

    config: JudgeConfig
    backend: base.Backend
    requests: Requests
    counts: limits.JudgeCounts
    pace: limits.Pace
    budget: limits.Budget
    in_flight: asyncio.Semaphore
    cache: ReplyCache | None
    owed: dict[bytes, str] | None
    _pending: dict[tuple[bytes, int, type], _PendingSamples] = field(default_factory=dict)
    _one_each: set[str] = field(default_factory=set)
    _refused: str | None = None
    _asking: Counter[bytes] = field(default_factory=Counter)
    _is_ending: bool = False

    async def __call__(self, question: Question[R], samples: range) -> list[JudgeSample[R]]:
        """Asks; see Ask. Raises AuthenticationError if the credentials are refused, now or before."""
        self._stop_if_refused()
        model = self.requests.model(question.options)
        try:
            request = self.requests.make(question)
        except (TypeError, ValueError) as error:
            unusable = _Sampled(JudgeSample(None, f"judge_model_config: {error}", model), "other", 0)
            return [self._given(model, unusable, False) for _ in samples]
        keys = {number: (request.key, number, question.reply_model) for number in samples}
        new = [number for number in samples if keys[number] not in self._pending]
        if new:
            task = asyncio.create_task(self._answer_samples(question, request, new))
            self._pending.update((keys[number], task) for number in new)

            def forget(done: _PendingSamples) -> None:
                for number in new:
                    del self._pending[keys[number]]
                if not done.cancelled():
                    done.exception()  # mark as retrieved: all waiters may be gone

            task.add_done_callback(forget)
        given = []
        for number, pending in [(number, self._pending[keys[number]]) for number in samples]:
            answer = (await asyncio.shield(pending))[number]
            if self._is_ending:
                raise asyncio.CancelledError
            given.append(self._given(model, answer, number not in new))
        return given

    def within_budget(self, position: float) -> Ask:
        """Returns who is asked about a conversation; see `Budget.left_out`. What the cache holds is free."""
        if not self.budget.is_shared_out:
            return self
        deciding = asyncio.Lock()
        decided: list[str | None] = []

        async def ask(question: Question[R], samples: range) -> list[JudgeSample[R]]:
            nonlocal decided
            model = self.requests.model(question.options)
            try:
                kept = await self._kept(question, self.requests.make(question))
            except (TypeError, ValueError, PlaceError):
                kept = {}
            if any(number not in kept for number in samples):
                async with deciding:  # once a conversation, at the first question that needs a call
                    decided = decided or [await self.budget.left_out(position)]
            why = decided[0] if decided else None
            if why is None:
                return await self(question, samples)
            left_out = _Sampled(JudgeSample(None, why, model), "budget", 0)
            return [self._given(model, kept.get(number, left_out), False) for number in samples]

        return ask

    async def rest(self) -> None:
        """Tells the other workers what the calls took, because no question may come for a while."""
        try:
            await self.budget.write()
        except PlaceError as error:
            _LOG.warning("%s; the judge's budget may be counted wrongly", error)

    async def finish(self, patience_s: float) -> None:
        """Starts no calls and gives no answers any more; waits for replies in flight and keeps them."""
        self._is_ending = True
        asking = {task for (question, _, _), task in self._pending.items() if self._asking[question]}
        if asking and self.cache is not None:
            await asyncio.wait(asking, timeout=patience_s)

    async def aclose(self) -> None:
        """Closes the cache when it is written, and the connections."""
        await self.rest()
        if self.cache is not None:
            self.cache.close()
        try:
            await self.backend.aclose()
        except RAISED as error:
            if (task := asyncio.current_task()) and task.cancelling():
                raise
            _LOG.warning("the judge was not closed: %s", error_text(error))

    def _given(self, model: str, answer: _Sampled, is_joined: bool) -> JudgeSample[Any]:
        sample = answer.sample
        if is_joined:
            sample = replace(sample, tokens_in=0, tokens_out=0, is_cached=sample.reply is not None)
        saved = answer.saved if sample.is_cached else 0
        used = limits.JudgeUsage(samples=1, cached=int(sample.is_cached), tokens_saved=saved)
        used.unusable.update([answer.fault] if answer.fault else [])
        self.counts.add(model, used)
        return sample

    async def _answer_samples(
        self, question: Question[Any], request: base.Request, numbers: list[int]
    ) -> dict[int, _Sampled]:
        name = request.template.name
        try:
            answers = await self._kept(question, request)
        except PlaceError as error:
            return dict.fromkeys(numbers, _Sampled(JudgeSample(None, str(error), name), "connection", 0))
        missing = [number for number in numbers if number not in answers]
        answers.update(await self._asked(question, request, missing))
        again = _ASKED_AGAIN if question.asks_again else frozenset()
        unfit = [number for number in missing if answers[number].fault in again]
        for number, second in (await self._asked(question, request, unfit)).items():
            if second.fault != "budget":
                self.counts.add(name, limits.JudgeUsage(asked_again=1))
            # It has the tokens of both, and the first one's fault if it is unusable as well.
            first = answers[number]
            better = first if second.fault else second
            tokens_in = known_sum([first.sample.tokens_in, second.sample.tokens_in])
            tokens_out = known_sum([first.sample.tokens_out, second.sample.tokens_out])
            sample = replace(better.sample, tokens_in=tokens_in, tokens_out=tokens_out)
            answers[number] = replace(better, sample=sample)
        return answers

    async def _kept(self, question: Question[Any], request: base.Request) -> dict[int, _Sampled]:
        """Returns the usable samples that the cache holds, by number; raises PlaceError."""
        answers: dict[int, _Sampled] = {}
        for number, cached in (await self.cache.get(request.key) if self.cache else {}).items():
            if number == REFUSED:
                if self.owed is not None:
                    self.owed[request.key] = f"{cached.text}; refused for good, so not asked again"
                continue
            answer = _read(question, cached, is_cached=True)
            if answer.fault is None:
                answers[number] = answer
        return answers

    async def _asked(
        self, question: Question[Any], request: base.Request, numbers: list[int]
    ) -> dict[int, _Sampled]:
        answers: dict[int, _Sampled] = {}
        model, count = request.template.name, len(numbers)
        may_be_one = count > 1 and self.config.candidates and model not in self._one_each
        largest = base.MAX_CANDIDATES if may_be_one else 1
        calls = (self._call(request, min(largest, count - start)) for start in range(0, count, largest))
        try:
            replies = [reply for replies in await asyncio.gather(*calls) for reply in replies]
        except base.OneCandidateError:
            if not may_be_one:
                raise
            self._one_each.add(model)
            return await self._asked(question, request, numbers)
        lacking = sum(reply.fault is not None and reply.fault.kind == "empty" for reply in replies)
        if may_be_one and 0 < lacking < count:  # a model that silently leaves some out is asked one by one
            self._one_each.add(model)
        for number, raw in zip(numbers, replies, strict=True):
            answers[number] = _read(question, raw)
            if self.cache is not None and answers[number].fault is None:
                self.cache.put(request.key, number, raw)
        return answers

    async def _call(self, request: base.Request, count: int) -> list[base.RawReply]:
        async with self.in_flight:
            self._stop_if_refused()
            model = request.template.name
            if self._is_ending:
                return [base.RawReply(None, base.Fault("other", "the run is ending"), model)] * count
            if why := (self.owed or {}).get(request.key):
                return [base.RawReply(None, base.Fault("batch", why), model)] * count
            prompt = limits.estimated_tokens(request.template.instructions, request.evidence)
            try:
                expected = await self.budget.reserve(model, prompt, count)
            except PlaceError as error:
                return [base.RawReply(None, base.Fault("connection", str(error)), model)] * count
            if expected is None:
                return [base.RawReply(None, base.Fault("budget", limits.SPENT), model)] * count
            return await self._counted(request, count, expected)

    async def _counted(
        self, request: base.Request, count: int, expected: limits.Reserved
    ) -> list[base.RawReply]:
        model, start, replies = request.template.name, 0.0, list[base.RawReply]()
        try:
            await asyncio.sleep(self.pace.charge())
            self._stop_if_refused()
            start, replies = time.perf_counter(), [_BROKEN_OFF]
            JUDGING.asking += 1
            self._asking[request.key] += 1
            replies = await self.backend.generate(request, count)
        except (base.AuthenticationError, base.OneCandidateError) as error:
            replies = []
            if isinstance(error, base.AuthenticationError):
                self._refused = str(error)
            raise
        finally:
            tokens = limits.tokens_of(replies)
            self.budget.settle(model, expected, tokens)
            if start:
                JUDGING.asking -= 1
                self._asking[request.key] -= 1
                used = limits.JudgeUsage(1, latency_ms=round((time.perf_counter() - start) * 1000))
                used.tokens_in, used.tokens_out = tokens or (0, 0)
                used.uncounted = int(tokens is None)
                self.counts.add(model, used)
        return replies

    def _stop_if_refused(self) -> None:
        if self._refused is not None:
            raise base.AuthenticationError(self._refused)


def _read(question: Question[Any], raw: base.RawReply, is_cached: bool = False) -> _Sampled:
    cost = (0, 0) if is_cached else (raw.tokens_in, raw.tokens_out)
    reply = raw.fault if raw.text is None else read_reply(raw.text, question.reply_model)
    if isinstance(reply, base.Fault):
        return _Sampled(JudgeSample(None, reply.reason, raw.model, *cost), reply.kind, 0)
    sample = JudgeSample(reply, None, raw.model, *cost, is_cached)
    return _Sampled(sample, None, (raw.tokens_in or 0) + (raw.tokens_out or 0))


@dataclass(eq=False, repr=False)
class Estimator:
    """Counts the calls of a run without making any.

    The minimum (votes agree, and the first judge of a cascade is sure) is counted as `calls`, the maximum as
    `samples`.
    """

    config: JudgeConfig
    requests: Requests
    counts: limits.JudgeCounts
    cache: ReplyCache | None
    _seen: set[bytes] = field(default_factory=set)

    async def __call__(self, question: Question[R], samples: range) -> list[JudgeSample[R]]:
        """Counts a question once, however often it is asked."""
        request = self.requests.make(question)
        if request.key not in self._seen:
            self._seen.add(request.key)
            kept = await self.cache.get(request.key) if self.cache else {}
            missing = 0 if question.if_unsure else sum(number not in kept for number in samples)
            most = sum(number not in kept for number in range(question.options.num_samples))
            calls = min(missing, 1) if self.config.candidates else missing
            prompt = limits.estimated_tokens(request.template.instructions, request.evidence)
            model = request.template.name
            tokens_in, tokens_out = prompt * calls, limits.ANSWER_TOKENS * missing
            usage = limits.JudgeUsage(calls, samples=most, tokens_in=tokens_in, tokens_out=tokens_out)
            self.counts.add(model, usage)
        return [JudgeSample(None, "only estimated")] * len(samples)

    async def aclose(self) -> None:
        """Closes the cache."""
        if self.cache is not None:
            self.cache.close()
