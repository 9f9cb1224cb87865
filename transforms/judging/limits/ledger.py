"""Leases of a run's limits, and its slots for requests, in a place that its workers share."""

import asyncio
from collections.abc import Mapping
from math import floor, inf
from typing import NamedTuple

from turnwise.schemas.judge_config import JudgeConfig, TokenPrices
from turnwise.transforms.judging.limits.counts import JudgeUsage
from turnwise.transforms.judging.places.base import Account, ReplyPlace

LARGEST_LEASE = 32
"""Number of calls of a lease at most."""

SHARE = 8
"""A lease is at most this part of what is left: an eighth."""


class Amounts(NamedTuple):
    """Calls, tokens and money; of limits, `inf`: none."""

    calls: float = 0.0
    tokens: float = 0.0
    cost: float = 0.0

    def plus(self, other: "Amounts") -> "Amounts":
        """Returns the sum."""
        return Amounts(*(one + two for one, two in zip(self, other, strict=True)))

    def minus(self, other: "Amounts") -> "Amounts":
        """Returns the difference."""
        return Amounts(*(one - two for one, two in zip(self, other, strict=True)))

    def covers(self, other: "Amounts") -> bool:
        """Returns whether nothing of `other` is more."""
        return all(one >= two for one, two in zip(self, other, strict=True))


NOTHING = Amounts()


def limits_of(config: JudgeConfig) -> Amounts:
    """Returns the limits of a run."""
    limits = (config.max_calls, config.max_tokens, config.max_cost)
    return Amounts(*(inf if limit is None else limit for limit in limits))


def spent_on(usage: Mapping[str, JudgeUsage], prices: Mapping[str, TokenPrices]) -> Amounts:
    """Returns what was spent, by model; a model without a price costs nothing, and no cost can be limited."""
    return Amounts(
        sum(each.calls for each in usage.values()),
        sum(each.tokens_in + each.tokens_out for each in usage.values()),
        sum(each.cost(prices[model]) for model, each in usage.items() if model in prices),
    )


def granted(left: Amounts, lacking: Amounts) -> Amounts | None:
    """Returns a lease that covers what a call lacks, and the same for further calls if much is left.

    A lease has `LARGEST_LEASE` times what the call lacks at most, and an eighth of what is left at most
    unless the call alone needs more. Calls are whole.

    Args:
        left: What is left of the limits.
        lacking: What the call needs beyond what the worker holds.

    Returns:
        The lease; None: too little is left.
    """
    if not left.covers(lacking):
        return None
    wanted = (
        max(need, min(rest / SHARE, LARGEST_LEASE * need)) for need, rest in zip(lacking, left, strict=True)
    )
    lease = Amounts(*wanted)
    return lease._replace(calls=float(floor(lease.calls)))


class Ledger:
    """The account of one run. What a worker leases counts as spent until the worker gives it back.

    So a worker that is killed can neither exceed the limits nor let others exceed them. What it had leased
    and not used is lost.
    """

    def __init__(self, place: ReplyPlace, run: str, limits: Amounts):
        self._place, self._run, self._limits = place, run, limits
        self._lock = asyncio.Lock()

    async def lease(self, lacking: Amounts) -> Amounts | None:
        """Leases what a call lacks, and some more for the next ones.

        Returns:
            The lease; None: too little is left.

        Raises:
            PlaceError: The place does not answer; nothing may be asked.
        """
        async with self._lock:
            return await asyncio.to_thread(self._lease, lacking)

    async def give_back(self, amounts: Amounts) -> None:
        """Gives back what was not used; negative amounts were used beyond leases. Raises PlaceError."""
        async with self._lock:
            await asyncio.to_thread(self._spend, Amounts().minus(amounts))

    async def slots(self, count: int, interval: float) -> float:
        """Reserves slots for requests, one after the other.

        Args:
            count: Number of slots.
            interval: Seconds between two slots.

        Returns:
            Seconds until the first one, by the place's clock.

        Raises:
            PlaceError: The place does not answer; nothing may be asked.
        """
        async with self._lock:
            return await asyncio.to_thread(self._slots, count, interval)

    def _lease(self, lacking: Amounts) -> Amounts | None:
        lease: Amounts | None = None

        def work(account: Account, _: float) -> Account:
            nonlocal lease
            spent = Amounts(*account[:3])
            lease = granted(self._limits.minus(spent), lacking)
            return account if lease is None else Account(*spent.plus(lease), account.next_slot)

        self._place.change(self._run, work)
        return lease

    def _spend(self, amounts: Amounts) -> None:
        def work(account: Account, _: float) -> Account:
            return Account(*Amounts(*account[:3]).plus(amounts), account.next_slot)

        self._place.change(self._run, work)

    def _slots(self, count: int, interval: float) -> float:
        wait = 0.0

        def work(account: Account, now: float) -> Account:
            nonlocal wait
            first = max(now, account.next_slot)
            wait = first - now
            return account._replace(next_slot=first + count * interval)

        self._place.change(self._run, work)
        return wait
