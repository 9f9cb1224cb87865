"""Spaces requests evenly."""

import asyncio
import time
from collections.abc import Callable


class Pace:
    """Lets one request go in so many seconds, in the order of asking.

    Unused time is not saved up, so that no stretch of a minute ever holds more than the limit (and the one
    request that begins it).
    """

    def __init__(self, per_minute: float | None, clock: Callable[[], float] = time.monotonic):
        self._interval = 60 / per_minute if per_minute else 0.0
        self._clock = clock
        self._next = 0.0

    async def wait(self) -> None:
        """Waits for one's turn."""
        if wait := self.charge():
            await asyncio.sleep(wait)

    def charge(self) -> float:
        """Takes a turn without waiting, for a request that cannot wait; later ones wait the longer.

        Returns:
            Seconds until that turn.
        """
        if not self._interval:
            return 0.0
        now = self._clock()
        turn = max(now, self._next)
        self._next = turn + self._interval
        return turn - now
