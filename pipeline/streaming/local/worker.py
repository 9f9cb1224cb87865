"""Calls that may take long, in a thread of their own."""

from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeAlias

_Job: TypeAlias = tuple[Future[Any], Callable[[], Any]]


class Worker:
    """Makes calls one after the other; one that never returns does not keep the process from ending."""

    def __init__(self, name: str) -> None:
        """Starts the thread."""
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        Thread(target=self._work, name=name, daemon=True).start()

    def submit(self, call: Callable[[], Any]) -> Future[Any]:
        """Has a call made after all that were submitted before; returns what will hold its result."""
        future: Future[Any] = Future()
        self._jobs.put((future, call))
        return future

    def close(self) -> None:
        """Lets the thread end after the calls that were submitted."""
        self._jobs.put(None)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            future, call = job
            try:
                future.set_result(call())
            except BaseException as error:
                future.set_exception(error)
