"""Leases of limits: never more than the limits, whoever is killed; little is lost."""

import asyncio
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.schemas.judge_config import JudgeConfig
from turnwise.transforms.judging.limits.budget import Budget
from turnwise.transforms.judging.limits.ledger import (
    LARGEST_LEASE,
    SHARE,
    Amounts,
    Ledger,
    granted,
    limits_of,
)
from turnwise.transforms.judging.limits.pace import Pace
from turnwise.transforms.judging.limits.shares import divided, stated_limits
from turnwise.transforms.judging.places.base import Account, PlaceError

NUMBERS = st.floats(0, 1e6) | st.just(inf)


class Memory:
    """A place in memory, whose clock is a number."""

    shown, is_needed = "memory", True

    def __init__(self):
        self.account, self.now, self.is_down = Account(), 0.0, False

    def change(self, run, work):
        if self.is_down:
            raise PlaceError("memory: down")
        self.account = work(self.account, self.now)


@given(left=st.tuples(NUMBERS, NUMBERS, NUMBERS), lacking=st.tuples(*[st.floats(0, 1e4)] * 3))
def test_a_lease_covers_the_call_and_is_small(left, lacking):
    left, lacking = Amounts(*map(float, left)), Amounts(*lacking)._replace(calls=1.0)
    lease = granted(left, lacking)
    assert (lease is None) == (not left.covers(lacking))
    if lease:
        assert lease.covers(lacking) and left.covers(lease) and lease.calls == int(lease.calls)
        for part, rest, need in zip(lease, left, lacking, strict=True):
            assert part <= max(need, min(rest / SHARE, LARGEST_LEASE * need))


STEPS = st.lists(st.tuples(st.integers(0, 2), st.sampled_from(["ask", "rest", "kill"])), max_size=200)


@given(steps=STEPS, max_calls=st.integers(0, 300), max_tokens=st.integers(0, 3_000))
def test_workers_that_are_killed_exceed_nothing(steps, max_calls, max_tokens):
    config = JudgeConfig(max_calls=max_calls, max_tokens=max_tokens)
    place = Memory()

    def worker():
        return Budget(config, Ledger(place, "run", limits_of(config)))

    async def use():
        workers, calls, tokens, killed = [worker(), worker(), worker()], 0, 0, 0
        for number, step in steps:
            if step == "ask" and (expected := await workers[number].reserve("m", 5)):
                workers[number].settle("m", expected, (5, 5))
                calls, tokens = calls + 1, tokens + 10
            elif step == "rest":
                await workers[number].give_back()
            elif step == "kill":
                workers[number], killed = worker(), killed + 1
        for each in workers:
            await each.give_back()
        return calls, tokens, killed

    calls, tokens, killed = asyncio.run(use())
    assert calls <= max_calls and tokens <= max_tokens
    assert calls <= place.account.calls <= calls + killed * LARGEST_LEASE
    assert place.account.tokens >= tokens
    if not killed:
        assert (place.account.calls, place.account.tokens) == (calls, tokens)


def test_what_cannot_be_given_back_is_lost_and_not_given_twice():
    config, place = JudgeConfig(max_calls=80), Memory()
    budget = Budget(config, Ledger(place, "run", limits_of(config)))

    async def use():
        expected = await budget.reserve("m", 5)
        budget.settle("m", expected, (5, 5))
        place.is_down = True
        with pytest.raises(PlaceError):
            await budget.give_back()
        with pytest.raises(PlaceError):
            await budget.reserve("m", 5)
        place.is_down = False
        await budget.give_back()

    asyncio.run(use())
    assert place.account.calls == 10


def test_shared_slots_follow_the_clock_of_the_place():
    place, clock = Memory(), iter(range(0, 10_000, 100))
    paces = [Pace(60, Ledger(place, "run", Amounts()), lambda: next(clock)) for _ in range(2)]
    place.now = 1e9
    for pace in paces:
        pace.charge()

    async def reserve():
        return [await pace._ledger.slots(2, 1.0) for pace in paces]

    assert asyncio.run(reserve()) == [0.0, 2.0]
    assert place.account.next_slot == 1e9 + 4


def test_a_part_of_the_limits():
    config = JudgeConfig(max_calls=7, max_tokens=100, max_cost=3.0, requests_per_minute=10)
    parts = stated_limits(divided(config, 2))
    assert parts == {"max_calls": 3, "max_tokens": 50, "max_cost": 1.5, "requests_per_minute": 5.0}
    assert stated_limits(divided(JudgeConfig(), 2)) == {}
