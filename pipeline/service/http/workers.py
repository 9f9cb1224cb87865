"""Runs requests in threads and hides internal errors from callers."""

from collections.abc import Callable
from typing import TypeVar

from anyio import CapacityLimiter, to_thread

from turnwise.pipeline.service.answering import answered
from turnwise.pipeline.store.database import READERS, WRITERS

T = TypeVar("T")


class Workers:
    """The worker threads of a server.

    Requests that change the store wait for each other. They have threads of their own, so that readers do
    not wait for them.
    """

    def __init__(self) -> None:
        self._readers, self._writers = CapacityLimiter(READERS), CapacityLimiter(WRITERS)

    async def run(self, work: Callable[[], T], *, changes: bool) -> T:
        """Returns the result of `work`. Converts all errors to ServiceError.

        Args:
            work: Answers a request.
            changes: Whether it may change the store.
        """
        return await to_thread.run_sync(answered, work, limiter=self._writers if changes else self._readers)
