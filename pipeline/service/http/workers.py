"""Runs requests in threads and hides internal errors from callers."""

from collections.abc import Callable
from time import monotonic
from typing import TypeVar

from anyio import CapacityLimiter, to_thread

from turnwise.pipeline.service.answering import answered
from turnwise.pipeline.service.errors import ServiceError
from turnwise.pipeline.store.engine import READERS, WRITERS

T = TypeVar("T")


class Workers:
    """The worker threads of a server.

    Requests that change the store wait for each other. They have threads of their own, so that readers do
    not wait for them.
    """

    def __init__(self, observe: Callable[[str, str, float], None] | None = None) -> None:
        """Creates the threads.

        Args:
            observe: Is told the method, the status and the seconds of every request.
        """
        self._readers, self._writers = CapacityLimiter(READERS), CapacityLimiter(WRITERS)
        self._observe = observe

    async def run(self, work: Callable[[], T], method: str, *, changes: bool) -> T:
        """Returns the result of `work`. Converts all errors to ServiceError.

        Args:
            work: Answers a request.
            method: Name of the method, for metrics.
            changes: Whether it may change the store.
        """
        begun, status = monotonic(), "CANCELLED"
        try:
            limit = self._writers if changes else self._readers
            value = await to_thread.run_sync(answered, work, limiter=limit)
            status = "OK"
            return value
        except ServiceError as error:
            status = error.status
            raise
        finally:
            if self._observe is not None:
                self._observe(method, status, monotonic() - begun)
