"""Runs slow calls beside the thread that needs their results."""

from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeAlias

_Job: TypeAlias = tuple[Future[Any], Callable[[], Any]]


class BackgroundThread:
    """Runs calls one after the other in a daemon thread, which does not block the end of the process."""

    def __init__(self, name: str) -> None:
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        Thread(target=self._work, name=name, daemon=True).start()

    def submit(self, call: Callable[[], Any]) -> Future[Any]:
        """Queues a call and returns its future."""
        future: Future[Any] = Future()
        self._jobs.put((future, call))
        return future

    def close(self) -> None:
        """Ends the thread after the queued calls."""
        self._jobs.put(None)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            future, call = job
            try:
                future.set_result(call())
            except BaseException as error:
                future.set_exception(error)
