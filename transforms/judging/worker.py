"""Runs the judge of a process: one event loop, client and set of limits."""

import asyncio
import atexit
import os
from collections.abc import Coroutine, Mapping
from concurrent.futures import Future
from contextlib import suppress
from threading import Event, Lock, Thread
from typing import Any, TypeVar

from turnwise.transforms.judging.ask import Ask
from turnwise.transforms.judging.limits.counts import JudgeCounts
from turnwise.transforms.judging.setup import JudgeSettings, build_judge

T = TypeVar("T")
PATIENCE_S = 20.0
"""Seconds for which a judge that is closed waits for the replies to calls in flight."""
WAITING = f"waiting at most {PATIENCE_S:.0f} s for replies of the judge (press again to stop now)"
"""What a command says meanwhile."""


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


class JudgeWorker:
    """A judge and the thread its event loop runs on.

    Attributes:
        ask: The judge, for coroutines passed to `submit`.
        counts: Usage so far.
    """

    def __init__(self, settings: JudgeSettings, environ: Mapping[str, str]):
        """Starts the thread.

        Raises:
            ConfigError: There are no credentials, or the cache cannot be used.
        """
        self.counts = JudgeCounts()
        judge = build_judge(settings, environ, self.counts)
        self.ask: Ask = judge.ask
        self._aclose, self._rest, self._finish = judge.aclose, judge.rest, judge.finish
        self._lock = Lock()
        self._is_closed = False
        self._has_ended = Event()
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._run, name="turnwise-judge", daemon=True)
        self._thread.start()

    def submit(self, coroutine: Coroutine[Any, Any, T]) -> "Future[T]":
        """Runs a coroutine on the judge's loop. Cancelling the future cancels it.

        Raises:
            RuntimeError: The judge is closed.
        """
        with self._lock:
            if self._is_closed:
                coroutine.close()
                raise RuntimeError("the judge is closed")
            return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def rest(self) -> None:
        """Writes to a shared budget, at the end of a bundle, what its calls took.

        Raises:
            RuntimeError: The judge is closed.
        """
        if self._rest is not None:
            self.submit(self._rest()).result()

    def close(self) -> None:
        """Ends the thread: waits `PATIENCE_S` for replies in flight, which the cache keeps; cancels the rest.

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
            if self._finish is not None:
                await self._finish(PATIENCE_S)
            tasks = asyncio.all_tasks() - {asyncio.current_task()}
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._aclose()
            await self._loop.shutdown_default_executor()
        finally:
            self._loop.stop()


_LOCK = Lock()
_WORKERS: dict[tuple[int, str], JudgeWorker] = {}


def open_judge(settings: JudgeSettings, environ: Mapping[str, str] | None = None) -> JudgeWorker:
    """Returns this process's judge for these settings, made at the first time.

    Args:
        settings: Settings of the judge.
        environ: Environment with the credentials; None: the process's environment.

    Raises:
        ConfigError: There are no credentials, or the cache cannot be used.
    """
    key = (os.getpid(), settings.key())
    with _LOCK:
        worker = _WORKERS.get(key)
        if worker is None:
            worker = JudgeWorker(settings, os.environ if environ is None else environ)
            _WORKERS[key] = worker
    return worker


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
