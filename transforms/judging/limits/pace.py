"""Limits the rate of requests."""

import asyncio
import time
from collections.abc import Callable

from turnwise.transforms.judging.limits.ledger import Ledger

_SLOTS_S = 0.1


class Pace:
    """Allows one request per interval, in order.

    Unused intervals do not accumulate, so that no minute exceeds the limit by more than one request. With a
    ledger, all workers of the run share the rate: slots are reserved for a tenth of a second at a time, and
    those that are not used in time are lost.
    """

    def __init__(
        self,
        per_minute: float | None,
        ledger: Ledger | None = None,
        clock: Callable[[], float] = time.monotonic,
    ):
        self._interval = 60 / per_minute if per_minute else 0.0
        self._ledger = ledger
        self._clock = clock
        self._next = 0.0
        self._left = 0
        self._owed = 0
        self._reserving = asyncio.Lock()

    async def wait(self) -> None:
        """Waits for the next slot; raises PlaceError if the place of the slots does not answer."""
        if self._ledger is not None and self._interval:
            wait = await self._shared_slot(self._ledger)
        else:
            wait = self.charge()
        if wait > 0:
            await asyncio.sleep(wait)

    def charge(self) -> float:
        """Reserves a slot without waiting, so that later requests wait longer.

        Returns:
            Seconds until the slot; of shared slots 0, because they are reserved later.
        """
        if not self._interval:
            return 0.0
        if self._ledger is not None:
            self._owed += 1
            return 0.0
        now = self._clock()
        turn = max(now, self._next)
        self._next = turn + self._interval
        return turn - now

    async def _shared_slot(self, ledger: Ledger) -> float:
        async with self._reserving:
            if not self._left or self._clock() > self._next + _SLOTS_S:
                owed, self._owed = self._owed, 0
                self._left = max(1, int(_SLOTS_S / self._interval))
                wait = await ledger.slots(owed + self._left, self._interval)
                self._next = self._clock() + wait + owed * self._interval
            self._left -= 1
            turn = self._next
            self._next += self._interval
            return turn - self._clock()
