"""Batch jobs of providers: questions are gathered into jobs at half the price, whose answers are waited for.

To the judge it is a backend whose calls take long, so that votes, cascades, second questions, budgets and the
cache work as they do with single calls. A job is kept beside the replies, in the judge cache, before it is
made and until its answers are there: a run that ends before loses none, and the next one pays for none twice.
"""

import asyncio
import logging
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from functools import partial
from hashlib import sha256
from itertools import count, filterfalse
from secrets import randbits
from typing import Any
from uuid import uuid4

import msgspec
from msgspec import Struct, field

from turnwise.schemas.config import ConfigError, JudgeConfig
from turnwise.schemas.registry import error_text
from turnwise.transforms.judging.backends import base
from turnwise.transforms.judging.backends.calling import BatchBackend, CallError, T
from turnwise.transforms.judging.judges import JUDGING, Connections
from turnwise.transforms.judging.shared_places import REFUSED, PlaceError, ReplyPlace, ReplyRow

CONCURRENCY = 1_000_000
"""Calls in flight: only the conversations that wait together are limited."""
MOST_WAITING = 1_000
"""Conversations that wait for a job together; each takes up to a megabyte."""
BATCH_JOB = "the batch job "
"""Start of the reason where a job gives no answer."""
LATER = "run again to take its results"
"""End of the reason of a sample that the next run has."""

_JOBS = sha256(b"turnwise: batch jobs").digest()
"""The question whose replies in the cache are the records of jobs; one that is done is empty."""
_FREE = ("failed", "expired", "cancelled", "not made")
"""Ends of a job at which a request without an answer costs nothing."""
_QUIET_S = 0.5
_LONGEST_PAUSE_S = 60.0
_MOST_REQUESTS = 20_000
_OVERHEAD_BYTES = 1_000
_FORGOTTEN_S = 30 * 86_400
_NEW_S = 10
_READ_AT_ONCE = 500
_LOG = logging.getLogger(__name__)

Slot = tuple[bytes, int]
"""Key of a request, and its number of candidates."""


class JobRecord(Struct):
    """A job as it is kept; it holds no text."""

    name: str  # under which it was made
    judge: str
    model: str  # at its API
    made: float  # when, in seconds since 1970
    requests: list[str]  # their ids, in order
    job: str = ""  # the provider's id; "": not known to be made


class _Gathered(Struct, frozen=True):
    request: base.Request
    count: int
    answer: "asyncio.Future[list[base.RawReply]]"


class _Job(Struct):
    """A job of this run, or of an earlier one."""

    record: JobRecord
    number: int  # of its record in the cache
    is_earlier: bool = False
    waiting: dict[str, _Gathered] = field(default_factory=dict)  # id -> who waits for the answer
    # Id -> the replies, when it has ended; None: it has not.
    replies: dict[str, list[base.RawReply]] | None = None
    is_watched: bool = False


class Batches:
    """A backend that asks by batch jobs, for one event loop.

    Attributes:
        owed: Key of a request whose answer comes later, or that was refused for good -> the reason; no other
            vote is asked for instead.
    """

    def __init__(self, config: JudgeConfig, connections: Connections, reply_place: ReplyPlace, wait_s: float):
        """Takes a place for the records of jobs, and how many seconds a run waits for answers."""
        self._connections, self._reply_place, self._wait_s = connections, reply_place, wait_s
        self._delay_s = max(0.01, config.retry_delay_s)
        self.owed: dict[bytes, str] = {}
        self._jobs: list[_Job] = []
        self._earlier: dict[Slot, deque[tuple[_Job, str]]] = defaultdict(deque)
        self._gathered: list[_Gathered] = []
        self._gathered_at = self._deadline = 0.0
        self._taken_up: asyncio.Task[None] | None = None
        self._sending: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def generate(self, request: base.Request, count: int) -> list[base.RawReply]:
        """Waits for the answer of a job, which may be one of an earlier run; see Backend."""
        if self._taken_up is None:
            self._deadline = time.monotonic() + self._wait_s
            self._taken_up = asyncio.create_task(self._take_up())
        await asyncio.shield(self._taken_up)
        waiting = _Gathered(request, count, asyncio.get_running_loop().create_future())
        earlier = self._earlier[request.key, count]
        while earlier:
            job, key = earlier.popleft()
            if job.replies is None:
                job.waiting[key] = waiting
                if not job.is_watched:
                    job.is_watched = True
                    self._spawn(job, self._watched(job))
                return await waiting.answer
            if key in job.replies:
                return job.replies[key]
        self._gather(waiting)
        return await waiting.answer

    async def aclose(self) -> None:
        """Keeps the replies that nobody asked for, ends the records of what is done, and closes all."""
        tasks = [task for task in (self._taken_up, self._sending, *self._tasks) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        try:
            for job in self._jobs:
                if job.replies is not None:
                    await asyncio.to_thread(self._keep_replies, job.replies)
                    await self._end_record(job)
        except PlaceError as error:
            _LOG.warning("%s; the next run takes up the batch jobs again", error)
        finally:
            await asyncio.to_thread(self._reply_place.close)
            await self._connections.aclose()

    def _gather(self, waiting: _Gathered) -> None:
        self._gathered.append(waiting)
        self._gathered_at = time.monotonic()
        if self._sending is None or self._sending.done():
            self._sending = asyncio.create_task(self._send_when_quiet())

    def _spawn(self, job: _Job, work: Coroutine[Any, Any, None]) -> None:
        """Does the work of a job; whatever it raises, nobody waits in vain."""
        task = asyncio.create_task(work)
        self._tasks.add(task)

        def end(done: "asyncio.Task[None]") -> None:
            self._tasks.discard(done)
            error = None if done.cancelled() else done.exception()
            if error is not None:
                job.is_watched = False
                waiting, job.waiting = job.waiting, {}
                _fail(waiting.values(), error, f"{BATCH_JOB}{job.record.job} failed")

        task.add_done_callback(end)

    async def _take_up(self) -> None:
        """Finds the jobs whose answers were not read."""
        try:
            rows = await asyncio.to_thread(lambda: list(self._reply_place.read([_JOBS])))
        except PlaceError as error:
            _LOG.warning("%s; earlier batch jobs are not taken up", error)
            return
        for _, number, text, *_ in rows:
            try:
                record = msgspec.json.decode(text, type=JobRecord)
                slots = [(_slot(key), key) for key in record.requests]
            except ValueError:  # it is done
                continue
            if time.time() - record.made < _FORGOTTEN_S:
                job = _Job(record, number, is_earlier=True)
                self._jobs.append(job)
                for slot, key in slots:
                    self._earlier[slot].append((job, key))

    async def _send_when_quiet(self) -> None:
        """Makes jobs of what was gathered when no more came for a moment."""
        while self._gathered:
            await asyncio.sleep(_QUIET_S)
            if time.monotonic() - self._gathered_at >= _QUIET_S:
                gathered, self._gathered = self._gathered, []
                try:
                    jobs = self._new_jobs(gathered)
                except Exception as error:  # such as a judge that cannot be connected
                    _fail(gathered, error, f"{BATCH_JOB}was not made")
                    continue
                for job in jobs:
                    self._spawn(job, self._made(job))

    def _new_jobs(self, gathered: Sequence[_Gathered]) -> list[_Job]:
        """Returns jobs of requests, which are to be made: by judge and model, and by the size of a job."""
        jobs: list[_Job] = []
        by_model: dict[tuple[str, str], list[_Gathered]] = {}
        for waiting in gathered:
            template = waiting.request.template
            by_model.setdefault((template.judge, template.model), []).append(waiting)
        for (judge, model), of_model in by_model.items():
            most, size = self._backend(judge).batch_bytes, 0
            for waiting in of_model:
                template = waiting.request.template
                texts = waiting.request.evidence + template.instructions + str(template.schema)
                length = len(texts.encode("utf-8", "surrogatepass")) + _OVERHEAD_BYTES
                if not size or size + length > most or len(jobs[-1].waiting) >= _MOST_REQUESTS:
                    record = JobRecord(f"turnwise-{uuid4()}", judge, model, time.time(), [])
                    jobs.append(_Job(record, randbits(31)))
                    times, size = Counter[Slot](), 0
                slot = (waiting.request.key, waiting.count)
                name = f"{urlsafe_b64encode(slot[0]).decode().rstrip('=')}.{slot[1]}.{times[slot]}"
                jobs[-1].waiting[name] = waiting
                jobs[-1].record.requests.append(name)
                times[slot] += 1
                size += length
        return jobs

    async def _made(self, job: _Job) -> None:
        self._jobs.append(job)
        record, pause = job.record, self._delay_s
        requests = {key: (waiting.request, waiting.count) for key, waiting in job.waiting.items()}
        try:
            await self._keep(job)
            while not record.job:  # made once: before it is tried again, it is looked for
                try:
                    record.job = await self._sent(job, lambda to: to.submit(record.name, requests), 1)
                    break
                except CallError as error:
                    if not error.may_pass or time.monotonic() + pause > self._deadline:
                        raise
                    await asyncio.sleep(pause)
                    pause = min(2 * pause, _LONGEST_PAUSE_S)
                    made = await self._sent(job, lambda to: to.find_job(record.name))
                    record.job = made or ""
            await self._keep(job)
        except (CallError, PlaceError) as error:
            JUDGING.jobs[record.name] = f"not made: {error}"
            self._refuse(job, base.one_line(f"{BATCH_JOB}was not made: {error}"))
            if isinstance(error, CallError) and not error.may_pass:
                job.replies = {}  # nothing of it can come
            return
        except (base.AuthenticationError, base.OneCandidateError):
            job.replies = {}
            raise
        await self._watched(job)

    async def _watched(self, job: _Job) -> None:
        """Waits for the end of a job, as long as the run waits, and gives its answers."""
        pause, record = self._delay_s, job.record
        while True:
            try:
                if not record.job:
                    made = await self._sent(job, lambda backend: backend.find_job(record.name))
                    if not made:
                        return await self._end(job, base.BatchState("not made", is_ended=True))
                    record.job = made
                state = await self._sent(job, lambda backend: backend.job(record.job, record.requests))
            except CallError as error:
                # A job that was just made may not be there at once.
                is_new = time.time() - record.made < _NEW_S
                state = base.BatchState("lost", is_ended=not (error.may_pass or is_new), why=str(error))
            name = record.job or record.name
            JUDGING.jobs[name] = state.status
            if state.is_ended:
                return await self._end(job, state)
            left = self._deadline - time.monotonic()
            if left <= 0:
                is_lost = state.status == "lost"
                status = f"does not answer: {state.why}" if is_lost else "is still running"
                why = f"{BATCH_JOB}{name} {status}; {LATER}"
                self.owed |= {waiting.request.key: why for waiting in job.waiting.values()}
                return self._refuse(job, why, tokens=None)
            await asyncio.sleep(min(pause, left))
            pause = min(2 * pause, _LONGEST_PAUSE_S)

    async def _end(self, job: _Job, state: base.BatchState) -> None:
        backend = self._backend(job.record.judge)
        replies = {}
        for key in job.record.requests:
            answer, (question, asked_for) = state.answers.get(key), _slot(key)
            is_passing = isinstance(answer, base.Fault) and not answer.is_final
            if answer is None or is_passing or _is_of_candidates(answer, asked_for):
                continue
            replies[key] = backend.replies(answer, job.record.model, asked_for)
            for reply in replies[key]:
                if reply.fault is not None and reply.fault.is_final:
                    self.owed[question] = reply.fault.reason
        job.replies = replies
        for key, asked in job.waiting.items():
            if asked.answer.done():
                continue
            if key in replies:
                asked.answer.set_result(replies[key])
            elif job.is_earlier:  # it was paid for in vain, and is asked anew
                self._gather(asked)
            else:
                fault = state.answers.get(key)
                why = state.why or "without an answer to this"
                why = fault.reason if isinstance(fault, base.Fault) else why
                if _is_of_candidates(fault, asked.count):
                    asked.answer.set_exception(base.OneCandidateError())
                    continue
                reason = base.one_line(f"{BATCH_JOB}{job.record.job} {state.status}: {why}")
                is_free = isinstance(fault, base.Fault) or state.status in _FREE
                asked.answer.set_result(_refused(asked, reason, 0 if is_free else None))

    def _refuse(self, job: _Job, reason: str, tokens: int | None = 0) -> None:
        job.is_watched = False  # who asks later looks again
        waiting, job.waiting = job.waiting, {}
        for asked in waiting.values():
            if not asked.answer.done():
                asked.answer.set_result(_refused(asked, reason, tokens))

    def _keep_replies(self, replies: Mapping[str, Sequence[base.RawReply]]) -> None:
        """Adds to the cache what is not there: what was not asked for, or not yet written, or is refused."""
        given: dict[bytes, list[base.RawReply]] = defaultdict(list)
        refused: dict[bytes, ReplyRow] = {}
        for key, of_request in replies.items():
            question = _slot(key)[0]
            for reply in of_request:
                if reply.text is not None:
                    given[question].append(reply)
                elif reply.fault is not None and reply.fault.is_final:
                    refused[question] = (question, REFUSED, reply.fault.reason, reply.model, 0, 0)
        self._reply_place.write(list(refused.values()))
        keys = list(given)
        for start in range(0, len(keys), _READ_AT_ONCE):
            part = keys[start : start + _READ_AT_ONCE]
            known: dict[bytes, dict[int, str]] = defaultdict(dict)
            for question, number, text, *_ in self._reply_place.read(part):
                known[question][number] = text
            rows: list[ReplyRow] = []
            for question in part:
                taken = known[question]
                texts, numbers = Counter(taken.values()), filterfalse(taken.__contains__, count())
                for reply in given[question]:
                    assert reply.text is not None
                    if texts[reply.text]:
                        texts[reply.text] -= 1
                        continue
                    tokens = reply.tokens_in or 0, reply.tokens_out or 0
                    rows.append((question, next(numbers), reply.text, reply.model, *tokens))
            self._reply_place.write(rows)

    async def _keep(self, job: _Job) -> None:
        text = msgspec.json.encode(job.record).decode()
        await asyncio.to_thread(self._reply_place.write, [(_JOBS, job.number, text, job.record.model, 0, 0)])

    async def _end_record(self, job: _Job) -> None:
        await asyncio.to_thread(self._reply_place.write, [(_JOBS, job.number, "", job.record.model, 0, 0)])
        if job.record.job:
            try:
                await self._sent(job, lambda backend: backend.discard(job.record.job), 2)
            except (CallError, ConfigError) as error:
                if getattr(error, "status", None) != 404:  # else it is gone
                    _LOG.warning("the batch job %s stays at its provider: %s", job.record.job, error)

    async def _sent(
        self, job: _Job, ask: Callable[[BatchBackend], Coroutine[Any, Any, T]], most: int | None = None
    ) -> T:
        """Makes a request about a job with `most` attempts; raises what `ApiBackend.sent` raises."""
        backend = self._backend(job.record.judge)
        return await backend.sent(partial(ask, backend), job.record.model, most)

    def _backend(self, judge: str) -> BatchBackend:
        backend = self._connections.backend(judge)
        assert isinstance(backend, BatchBackend)
        return backend


def _fail(asked: Iterable[_Gathered], error: BaseException, what: str) -> None:
    """Ends the waiting for an answer that cannot come: by the error where no other could come either."""
    for waiting in asked:
        if waiting.answer.done():
            continue
        if isinstance(error, base.AuthenticationError | base.OneCandidateError):
            waiting.answer.set_exception(type(error)(str(error)))
        else:
            waiting.answer.set_result(_refused(waiting, base.one_line(f"{what}: {error_text(error)}")))


def _refused(asked: _Gathered, reason: str, tokens: int | None = 0) -> list[base.RawReply]:
    model = asked.request.template.model
    return [base.RawReply(None, base.Fault("batch", reason), model, tokens, tokens)] * asked.count


def _is_of_candidates(fault: object, count: int) -> bool:
    return count > 1 and isinstance(fault, base.Fault) and "candidate" in fault.reason.lower()


def _slot(text: str) -> Slot:
    """Returns the key of a request and its number of candidates, by its id in a job."""
    key, count, _ = text.split(".")
    return urlsafe_b64decode(key + "=" * (-len(key) % 4)), int(count)
