"""Lets one of several workers ask a question, while the others wait for its replies."""

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from math import ceil

from turnwise.transforms.judging.cache import CachedReplies, ReplyCache

_LOOK_S = 0.25


class Claims:
    """Claims the questions that a worker asks, in the place of its cache.

    No more questions are claimed than are asked, so that other workers can ask those that wait here.
    """

    def __init__(self, cache: ReplyCache, concurrency: int, patience_s: float) -> None:
        """Creates claims.

        Args:
            cache: The cache.
            concurrency: Calls in flight at most.
            patience_s: Seconds for which another worker's replies to a question are waited for.
        """
        self._cache, self._asking = cache, asyncio.Semaphore(concurrency)
        self._looks = ceil(patience_s / _LOOK_S)

    @asynccontextmanager
    async def turn(self, question: bytes, numbers: Collection[int]) -> AsyncIterator[CachedReplies]:
        """Yields the kept replies. While the body runs, no other worker asks for those that are missing.

        A worker that asks fails, is killed or takes longer than the patience: then it is another one's turn.

        Raises:
            PlaceError: The place of the cache is needed and does not answer.
        """
        found, looks = await self._cache.get(question), 0
        while not found.keys() >= set(numbers):
            async with self._asking:
                is_own = True
                try:
                    found, is_own = await self._cache.claim(question)
                    if is_own or looks >= self._looks:
                        yield found
                        return
                finally:
                    if is_own:
                        self._cache.release(question)
            looks += 1
            if not found.keys() >= set(numbers):
                await asyncio.sleep(_LOOK_S)
        yield found
