"""The judge of a process: built from settings, checked before a run, and run on a loop of its own."""

import asyncio
import atexit
import os
from collections.abc import Coroutine, Iterable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from threading import Event, Lock, Thread
from typing import Any, TypeVar

from msgspec import Struct

from turnwise.schemas.config import ConfigError, JudgeConfig
from turnwise.schemas.jsonio import is_postgresql_url, shown_url
from turnwise.schemas.registry import hook_errors
from turnwise.transforms.judging import judges
from turnwise.transforms.judging.ask import Ask, JudgeModelOptions
from turnwise.transforms.judging.backends.base import Backend
from turnwise.transforms.judging.batches import CONCURRENCY, MOST_WAITING, Batches
from turnwise.transforms.judging.judge import Estimator, Judge, ReplyCache
from turnwise.transforms.judging.limits import Budget, JudgeCounts, JudgeUsage, Pace, price_of
from turnwise.transforms.judging.shared_places import (
    NOTHING,
    PATIENCE_S,
    Amounts,
    ReplyPlace,
    SqlitePlace,
    divided_limits,
)


class JudgeSettings(Struct, frozen=True):
    """Settings of the judge for workers; picklable and without secrets.

    Attributes:
        config: Its `backend` is given: `chosen_judge` says which, where the run is started.
        concurrency: Calls in flight at most, per worker process.
        run_id: Run that owns the limits.
        workers: Number of worker processes among which the limits are divided.
        shares_budget: Whether all worker processes count in one budget, in the place of the cache.
        only_estimates: Count what would be asked of a model, and ask nothing.
        given_judge: A judge that was handed in, in place of the one that the config names.
        is_named: Whether an option or the config names a judge; False: it was found by its credentials, or by
            the model of a criterion.
        spent: What an earlier attempt of the run spent of limits that nothing else remembers.
        batch_wait_s: Seconds for which the run waits for batch jobs; None: it makes single calls.
    """

    config: JudgeConfig
    concurrency: int = 64
    run_id: str = ""
    only_estimates: bool = False
    given_judge: judges.JudgeKind | None = None
    is_named: bool = True
    workers: int = 1
    shares_budget: bool = False
    spent: Amounts = NOTHING
    batch_wait_s: float | None = None

    @property
    def most_waiting(self) -> int:
        """Conversations that wait for answers at most: so many that the judge always has calls to make."""
        return 2 * self.concurrency if self.batch_wait_s is None else MOST_WAITING

    @property
    def per_worker(self) -> dict[str, float]:
        """The limits of which every worker has its part, by name; empty: none is divided."""
        return divided_limits(self.config, self.workers, self.shares_budget) if self.workers > 1 else {}

    @property
    def kind(self) -> judges.JudgeKind:
        """The judge; raises ConfigError if the config names none that there is."""
        return self.given_judge or judges.find_judge(self.config)

    def key(self) -> str:
        """Returns a text that is the same for equal settings."""
        limits = f"{self.workers}\n{self.shares_budget}\n{self.spent}\n{self.batch_wait_s}"
        config = self.config.model_dump_json()
        return f"{self.run_id}\n{self.concurrency}\n{self.only_estimates}\n{limits}\n{config}"


def build_judge(settings: JudgeSettings, environ: Mapping[str, str], counts: JudgeCounts) -> Ask:
    """Returns the judge that the settings name.

    Raises ConfigError if credentials or a cache are missing, or the judge gives no backend.
    """
    config, kind = settings.config, settings.kind
    if kind.answer:
        return kind.answer()
    assert kind.connect
    requests = judges.Requests(config, environ, kind)
    reply_place = open_place(config.cache, min(PATIENCE_S, config.timeout_s)) if config.cache else None
    cache = ReplyCache(reply_place) if reply_place else None
    if settings.only_estimates:
        return Estimator(config, requests, counts, cache)
    limited = config.model_copy(update=settings.per_worker)
    if settings.shares_budget and reply_place is None:
        raise ConfigError("judge: its budget is shared, and there is no judge.cache to hold it")
    shared = reply_place if settings.shares_budget else None
    pace = Pace(limited.requests_per_minute)

    def note_retry(model: str) -> None:
        counts.add(model, JudgeUsage(retries=1))
        pace.charge()

    connections = judges.Connections(config, environ, kind, note_retry)
    backend: Backend = connections
    owed: dict[bytes, str] | None = None
    budget = Budget(limited, settings.spent, shared, settings.run_id)
    in_flight = asyncio.Semaphore(settings.concurrency)
    judges.JUDGING.jobs.clear()
    if settings.batch_wait_s is not None:
        assert config.cache is not None
        batches = Batches(config, connections, open_place(config.cache), settings.batch_wait_s)
        backend, owed, pace, in_flight = batches, batches.owed, Pace(None), asyncio.Semaphore(CONCURRENCY)
    return Judge(config, backend, requests, counts, pace, budget, in_flight, cache, owed)


async def close_judge(judge: Ask) -> None:
    """Closes the connections and the cache of what `build_judge` gave."""
    if isinstance(judge, Judge | Estimator):
        await judge.aclose()


def check_judge(
    settings: JudgeSettings, environ: Mapping[str, str], options: Iterable[JudgeModelOptions] = ()
) -> None:
    """Checks before a run, at no cost, that the judge can work.

    Raises ConfigError if there are no credentials, or they are refused; a model does not exist, or a
    generation setting; the API cannot be reached; the cache cannot be used; the cost is limited and a model
    has no price.
    """
    config, kind, stated = settings.config, settings.kind, tuple(options) or (JudgeModelOptions(),)
    if kind.connect and config.max_cost is not None:
        models = {option.judge_model or config.model for option in stated}
        for model in sorted(model for model in models if price_of(config.prices, model) is None):
            raise ConfigError(f"judge.max_cost: there is no price of the model {model} in judge.prices")
    if kind.connect and config.cache:
        open_place(config.cache, patience_s=0.0).close()
    asked: dict[str, tuple[judges.JudgeKind, list[JudgeModelOptions]]] = {}
    for option in stated:
        route = judges.route_of(kind, option.judge_model or config.model)
        _, options_of_judge = asked.setdefault(route.kind.name, (route.kind, []))
        options_of_judge.append(option.model_copy(update={"judge_model": route.model}))
    for judge, options_of_judge in asked.values():
        judge_config = judges.settings_of(judge, config, kind)
        judge.endpoint(judge_config, environ)  # an access that fails is refused here
        with hook_errors(f"judge {judge.name}: check"):
            if judge.check:
                judge.check(judge_config, environ, options_of_judge)
    if kind.access and kind not in [judge for judge, _ in asked.values()]:  # connected, though not asked
        with hook_errors(f"judge {kind.name}: access"):
            kind.access(config, environ)


def open_place(address: str, patience_s: float = PATIENCE_S) -> ReplyPlace:
    """Opens a SQLite file or a PostgreSQL database, and makes what is missing in it.

    A broken connection is tried again for `patience_s` seconds before calls fail; 0: a database that does not
    answer cannot be used. Raises ConfigError, in one line, if the place cannot be used.
    """
    if is_postgresql_url(address):
        try:
            from turnwise.transforms.judging.places_postgres import PostgresPlace
        except ImportError:
            what = "needs turnwise[postgres], which is not installed: pip install 'turnwise[postgres]'"
            raise ConfigError(f"judge.cache: {shown_url(address)}: {what}") from None
        return PostgresPlace(address, patience_s)
    return SqlitePlace(address)


T = TypeVar("T")
WORKER_PATIENCE_S = 20.0
"""Seconds for which a judge that is closed waits for the replies to calls in flight."""
WAITING = f"waiting at most {WORKER_PATIENCE_S:.0f} s for replies of the judge (press again to stop now)"
"""What a command says meanwhile."""
BATCHES_GO_ON = "the batch jobs of the judge go on; run again to take their results"


def run_loop(loop: asyncio.AbstractEventLoop) -> None:
    """Runs an event loop until it is stopped, also where a task raises SystemExit or KeyboardInterrupt.

    Such an error leaves `run_forever`; a waiting caller receives it, too, once the loop continues.
    """
    while True:
        try:
            loop.run_forever()
            return
        except (SystemExit, KeyboardInterrupt):
            continue


async def cancel_others() -> None:
    """Cancels all other tasks of the running loop, and waits for their ends."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


class JudgeWorker:
    """A judge, for coroutines passed to `submit`, its usage, and the thread its event loop runs on."""

    def __init__(self, settings: JudgeSettings, environ: Mapping[str, str]):
        """Starts the thread; raises ConfigError if there are no credentials, or the cache cannot be used."""
        self.counts = JudgeCounts()
        self.ask = build_judge(settings, environ, self.counts)
        self._shares_budget = settings.shares_budget
        # Batch jobs go on without this process, and the next run takes their results.
        self._patience_s = WORKER_PATIENCE_S if settings.batch_wait_s is None else 0.0
        self._lock = Lock()
        self._is_closed = False
        self._has_ended = Event()
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._run, name="turnwise-judge", daemon=True)
        self._thread.start()

    def submit(self, coroutine: Coroutine[Any, Any, T]) -> "Future[T]":
        """Runs a coroutine on the judge's loop; cancelling the future cancels it.

        Raises RuntimeError if the judge is closed.
        """
        with self._lock:
            if self._is_closed:
                coroutine.close()
                raise RuntimeError("the judge is closed")
            return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def rest(self) -> None:
        """Writes to a shared budget, at the end of a bundle, what its calls took; raises as `submit` does."""
        if self._shares_budget and isinstance(self.ask, Judge):
            self.submit(self.ask.rest()).result()

    def close(self) -> None:
        """Ends the thread: waits `WORKER_PATIENCE_S` for replies in flight, caches them, cancels the rest.

        It is not left before, whatever interrupts it: a second signal ends the process.
        """
        with self._lock:
            if not self._is_closed:
                self._is_closed = True
                asyncio.run_coroutine_threadsafe(self._shut(), self._loop)
        while not self._has_ended.is_set():
            with suppress(KeyboardInterrupt):  # which `join` takes for the end of the thread
                self._has_ended.wait()
        self._thread.join()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            run_loop(self._loop)
        finally:
            self._loop.close()
            self._has_ended.set()

    async def _shut(self) -> None:
        try:
            if isinstance(self.ask, Judge):
                await self.ask.finish(self._patience_s)
            await cancel_others()
            await close_judge(self.ask)
            await self._loop.shutdown_default_executor()
        finally:
            self._loop.stop()


_LOCK = Lock()
_WORKERS: dict[tuple[int, str], JudgeWorker] = {}


def open_judge(settings: JudgeSettings, environ: Mapping[str, str] | None = None) -> JudgeWorker:
    """Returns this process's judge for these settings, made at the first time; raises as `JudgeWorker`."""
    key = (os.getpid(), settings.key())
    with _LOCK:
        if key not in _WORKERS:
            _WORKERS[key] = JudgeWorker(settings, os.environ if environ is None else environ)
        return _WORKERS[key]


def close_judges() -> None:
    """Closes all judges of this process, and joins their threads; see `JudgeWorker.close`."""
    with _LOCK:
        workers = {key: worker for key, worker in _WORKERS.items() if key[0] == os.getpid()}
    for worker in workers.values():
        worker.close()
    with _LOCK:
        for key in workers.keys() & _WORKERS.keys():
            del _WORKERS[key]


atexit.register(close_judges)
