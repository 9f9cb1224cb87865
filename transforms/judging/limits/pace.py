"""Limits the rate of requests."""

import asyncio
import time
from collections.abc import Callable


class Pace:
    """Allows one request per interval, in order.

    Unused intervals do not accumulate, so that no minute exceeds the limit by more than one request.
    """

    def __init__(self, per_minute: float | None, clock: Callable[[], float] = time.monotonic):
        self._interval = 60 / per_minute if per_minute else 0.0
        self._clock = clock
        self._next = 0.0

    async def wait(self) -> None:
        """Waits for the next slot."""
        wait = self.charge()
        if wait > 0:
            await asyncio.sleep(wait)

    def charge(self) -> float:
        """Reserves a slot without waiting, so that later requests wait longer.

        Returns:
            Seconds until the slot.
        """
        if not self._interval:
            return 0.0
        now = self._clock()
        turn = max(now, self._next)
        self._next = turn + self._interval
        return turn - now
