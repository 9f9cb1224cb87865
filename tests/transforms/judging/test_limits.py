import asyncio
from itertools import accumulate
from time import monotonic

import pytest
from hypothesis import given
from hypothesis import strategies as st

import turnwise
from tests.tables import stated
from tests.transforms.judging.conftest import ask_all
from turnwise.schemas.config import JudgeConfig, TokenPrices
from turnwise.transforms.judging.limits import Budget, JudgeUsage, Pace, share_to_ask, spent_on, total_cost
from turnwise.transforms.judging.setup import open_place
from turnwise.transforms.judging.shared_places import NOTHING, Amounts, PlaceError, divided_limits
from turnwise.transforms.scoring.selection import hash_place


def test_retries_count_in_the_rate(server, open_worker, question):
    server.script({"status": 429, "times": 10})
    worker = open_worker(requests_per_minute=1200, max_attempts=20, concurrency=2)
    start = monotonic()
    ask_all(worker, [question() for _ in range(11)])
    times = server.stats()["times"]
    assert len(times) == 21
    assert times[-1] - start >= 0.95 * 20 * 60 / 1200


@given(per_minute=st.floats(1, 1e6), steps=st.lists(st.floats(0, 100), min_size=1, max_size=50))
def test_turns_are_evenly_spaced(per_minute, steps):
    times = list(accumulate(steps))
    clock = iter(times)
    pace = Pace(per_minute, clock=lambda: next(clock))
    turns = [time + pace.charge() for time in times]
    assert turns[0] == times[0]
    for before, turn, time in zip(turns, turns[1:], times[1:], strict=False):
        assert turn == pytest.approx(max(time, before + 60 / per_minute))


def test_what_is_cached_needs_no_budget(server, open_worker, close_worker, question, tmp_path):
    asked = [question() for _ in range(5)]
    cache = str(tmp_path / "replies.sqlite")
    first = open_worker(cache=cache)
    ask_all(first, asked)
    close_worker(first)
    worker = open_worker(cache=cache, max_calls=0)
    *cached, (new,) = ask_all(worker, [*asked, question()])
    assert all(sample.is_cached for (sample,) in cached)
    assert new.reason == "budget"
    assert server.stats()["requests"] == 5


PRICES = {"m": TokenPrices(input_per_million=1e6, output_per_million=1e6)}
"""1 a token."""


def budget_of(limit, **more):
    return Budget(JudgeConfig(**limit, prices=PRICES), **more)


@pytest.mark.parametrize("limit", [{"max_calls": 3}, {"max_tokens": 650}, {"max_cost": 650}], ids=str)
def test_what_was_spent_before_counts(limit):
    """Two calls of 100 tokens were made before; a third fits, a fourth does not."""
    usage = {"m": JudgeUsage(calls=2, tokens_in=120, tokens_out=80)}
    limited = budget_of(limit, spent=spent_on(usage, PRICES))

    async def reserved():
        first = await limited.reserve("m", 50)
        limited.settle("m", first, None)
        return [first is not None, await limited.reserve("m", 50) is not None]

    assert asyncio.run(reserved()) == [True, False]


@pytest.mark.parametrize("limit", [{"max_tokens": 600}, {"max_cost": 600}], ids=str)
def test_a_call_is_expected_to_take_its_prompt_at_least(limit):
    """Finished calls took 10 tokens; one with a longer prompt takes more than their mean."""
    budget = budget_of(limit)

    async def reserved():
        budget.settle("m", await budget.reserve("m", 5), (5, 5))
        return [await budget.reserve("m", prompt) is not None for prompt in (586, 585)]

    assert asyncio.run(reserved()) == [False, True]


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("limit", [{"max_tokens": 1_000}, {"max_cost": 1_000}], ids=str)
@pytest.mark.parametrize(("tokens", "answered"), [((20, 30), 20), ((20, 180), 5), (None, 2)], ids=str)
def test_many_calls_in_flight_use_all_of_a_budget(limit, tokens, answered, shared, tmp_path):
    """They are expected to take 420 tokens, so the third waits to see what the first two take."""
    place = open_place(str(tmp_path / "replies.sqlite")) if shared else None
    budget = budget_of(limit, reply_place=place)

    async def call():
        reserved = await budget.reserve("m", 20)
        if reserved is not None:
            await asyncio.sleep(0.001)
            budget.settle("m", reserved, tokens)
        return reserved is not None

    async def calls():
        return await asyncio.wait_for(asyncio.gather(*(call() for _ in range(30))), 60)

    assert sum(asyncio.run(calls())) == answered
    if place:
        place.close()


def test_a_short_prompt_is_not_expected_to_take_the_tokens_of_long_ones():
    """What answers took is told apart from what prompts took, which may be far cheaper."""
    prices = {"m": TokenPrices(input_per_million=0, output_per_million=1e6)}
    budget = Budget(JudgeConfig(max_cost=100, prices=prices))

    async def use():
        budget.settle("m", await budget.reserve("m", 0, 0), (9_000, 0))
        budget.settle("m", await budget.reserve("m", 9_000, 0), (9_000, 0))
        return await budget.reserve("m", 10, 0)

    assert asyncio.run(use()) is not None


@stated("price", "model, price")
def test_the_price_of_a_model(model, price):
    """By its name, without folders and dates; else unknown, and never 0."""
    names = {"glob-*": 4, "m": 1, "m-2025-09-09": 2, "models/n": 3}
    prices = {name: TokenPrices(input_per_million=own, output_per_million=own) for name, own in names.items()}
    cost, whys = total_cost({model: JudgeUsage(calls=1, tokens_in=1_000_000)}, prices)
    assert (cost, whys) == (price or 0, [] if price else [f"judge.prices has no price of {model}"])
    usage = {"model": model, "input_tokens": 1, "output_tokens": 0}
    log = {"conversation_id": "c", "turns": [{"user": "a", "agent": "b", "usage": usage}]}
    of_agent = {name: {"in": own, "out": 1} for name, own in names.items()}
    config = {"criteria": {"agent_cost": {}}, "prices": of_agent}
    (row, *_) = turnwise.evaluate(log, config=config, judge="none").scores
    assert row["value"] == (price and pytest.approx(price / 1e6))


class Table:
    """The budget table of a place, in memory."""

    def __init__(self):
        self.spent, self.is_down = NOTHING, False

    def spend(self, run, amounts, limits):
        """Counts one run alone."""
        if self.is_down:
            raise PlaceError("table: down")
        is_left = limits.covers(self.spent.plus(amounts))
        self.spent = self.spent.plus(amounts) if is_left else self.spent
        return is_left


@pytest.mark.parametrize(("answer", "counted"), [(1_000, 1_005), (5, 405)])
def test_what_could_not_be_written_frees_nothing(answer, counted):
    """The place may have written it before it failed: only what a call took beyond its estimate is due."""
    table = Table()
    budget = Budget(JudgeConfig(max_calls=9), reply_place=table)

    async def use():
        budget.settle("m", await budget.reserve("m", 5), (5, answer))
        table.is_down = True
        with pytest.raises(PlaceError):
            await budget.write()
        with pytest.raises(PlaceError):
            await budget.reserve("m", 5)
        table.is_down = False
        await budget.write()

    asyncio.run(use())
    assert table.spent == (1, counted, 0)


def test_what_is_refused_leaves_what_earlier_calls_took_due():
    """A process that may not call any more still tells the others what it took."""
    table = Table()
    budget = Budget(JudgeConfig(max_tokens=1_500), reply_place=table)

    async def use():
        budget.settle("m", await budget.reserve("m", 5), (5, 1_000))
        table.spent = table.spent.plus(Amounts(1, 600, 0))  # of another process
        assert await budget.reserve("m", 5) is None
        await budget.write()

    asyncio.run(use())
    assert table.spent.tokens == 1_605


DAY = 86_400.0


class Days:
    """Conversations of one call each, from budgets of a day that share a place, at a clock that is given."""

    def __init__(self, path, **limits):
        self.now, self.path = 20_000 * DAY, str(path)
        self.config = JudgeConfig(per="day", **limits)
        self.start()

    def start(self):
        self.budget = Budget(self.config, reply_place=open_place(self.path), clock=lambda: self.now)

    def come(self, number, name="c", hours=0.0):
        """Returns why those of a number of conversations that have no answer have none."""

        async def one(i):
            self.now += hours * 3600 / number
            left_out = await self.budget.left_out(hash_place(f"{name} {i}"))
            reserved = None if left_out else await self.budget.reserve("m", 5)
            if reserved:
                self.budget.settle("m", reserved, (50, 50))
            return None if reserved else left_out or "budget"

        async def each():
            reasons = [await one(i) for i in range(number)]
            await self.budget.write()
            return reasons

        return asyncio.run(each())


LEFT_OUT = "left out, so that the judge's budget lasts for the day"


@pytest.mark.parametrize("limit", [{"max_calls": 50}, {"max_tokens": 5_000}], ids=str)
def test_a_budget_of_a_day_lasts_for_the_day_and_renews(limit, tmp_path):
    days = Days(tmp_path / "replies.sqlite", **limit)
    first = days.come(400, hours=23.9)
    assert 35 <= first.count(None) <= 50 and {*first} <= {None, LEFT_OUT, "budget"}
    # The next day knows what a day brings: the same share from the first hour to the last.
    days.now = 20_001 * DAY + 60
    quarters = [days.come(100, name=f"d{i}", hours=5) for i in range(2)]
    days.start()  # the counter stays
    quarters += [days.come(100, name=f"d{i}", hours=5) for i in range(2, 4)]
    judged = [own.count(None) for own in quarters]
    assert all(4 <= number <= 25 for number in judged) and 35 <= sum(judged) <= 50
    assert all(LEFT_OUT in own for own in quarters)
    days.now = 20_003 * DAY  # after a day without conversations nothing is known again
    assert days.come(1) == [None]


@pytest.mark.parametrize("gone", [0.01, 0.5, 0.96])
def test_the_first_period_keeps_something_for_later_conversations(gone, tmp_path):
    """Of many that come at once, at whatever time, not only the first ones are judged; nor are all others."""
    days = Days(tmp_path / "replies.sqlite", max_calls=50)
    days.now += gone * DAY
    judged = [reason is None for reason in days.come(200, hours=0.02)]
    days.start()  # another worker, or after a restart
    judged += [reason is None for reason in days.come(800, name="d", hours=0.02)]
    least = {0.01: 4}.get(gone, 40)  # in the morning the rest of the day is expected to bring more
    assert least <= sum(judged) <= 50 and sum(judged[:50]) < 50 and sum(judged[100:]) >= 1


@pytest.mark.parametrize("limit", [{"max_calls": 100}, {"max_tokens": 100 * 405}], ids=str)
def test_conversations_that_come_in_one_bundle_leave_some_of_the_first_period(limit, tmp_path):
    """All of a bundle ask before the first of them has an answer."""
    days = Days(tmp_path / "replies.sqlite", **limit)
    days.now += 0.45 * DAY

    async def bundle(name):
        async def judged(i):
            left_out = await days.budget.left_out(hash_place(f"{name} {i}"))
            await asyncio.sleep(0)  # as the request is made
            reserved = None if left_out else await days.budget.reserve("m", 5)
            if reserved is not None:
                await asyncio.sleep(0.001)
                days.budget.settle("m", reserved, None)
            return reserved is not None

        counted = sum(await asyncio.gather(*(judged(i) for i in range(150))))
        await days.budget.write()
        return counted

    first, later = asyncio.run(bundle("c")), 0
    for name in ("d", "e"):
        days.start()
        later += asyncio.run(bundle(name))
    assert 30 <= first <= 90 and later >= 5 and first + later <= 100


def test_the_reason_is_budget_once_the_budget_of_a_day_is_spent(tmp_path):
    days = Days(tmp_path / "replies.sqlite", max_calls=1)
    assert days.come(1) + days.come(5, name="later") == [None, *["budget"] * 5]


def test_what_a_call_took_counts_in_the_period_in_which_it_began(tmp_path):
    days = Days(tmp_path / "replies.sqlite", max_tokens=2_000)

    async def over_midnight():
        reserved = await days.budget.reserve("m", 5)
        days.now += DAY
        days.budget.settle("m", reserved, (1_000, 900))
        await days.budget.write()

    asyncio.run(over_midnight())
    place = open_place(days.path)
    assert place.spent("day 2024-10-04") == (1, 1_900, 0) and place.spent("day 2024-10-05") == NOTHING
    place.close()


def test_the_share_that_is_judged():
    """What is left, over what the rest of the period needs: the least of all limits."""
    assert share_to_ask([50], [1], came=0, before=99, gone=0.0) == pytest.approx(0.5)
    assert share_to_ask([50, 10], [1, 1], came=49, before=148, gone=0.5) == pytest.approx(0.1)
    assert share_to_ask([50], [1], came=99, before=0, gone=0.5) == pytest.approx(0.5)
    assert share_to_ask([0], [0], 0, 0, 0.0) == 0 and share_to_ask([-3], [1], 5, 9, 0.5) == 0
    assert share_to_ask([5], [0], 0, 0, 0.0) == 1


def test_a_part_of_the_limits():
    config = JudgeConfig(max_calls=7, max_tokens=100, max_cost=3.0, requests_per_minute=10)
    rate = {"requests_per_minute": 5.0}
    assert divided_limits(config, 2, False) == {"max_calls": 3, "max_tokens": 50, "max_cost": 1.5, **rate}
    assert divided_limits(config, 2, True) == rate
    assert divided_limits(JudgeConfig(), 2, False) == {}


def test_counts_are_handed_out_once(server, open_worker, question):
    server.script({"usage": {"promptTokenCount": 9, "candidatesTokenCount": 4}, "delay_ms": 20})
    worker = open_worker()
    ask_all(worker, [question(), question(judge_model="other")], samples=2)
    usage = worker.counts.take()
    assert set(usage) == {"gemini-2.5-flash", "other"}
    for each in usage.values():
        assert (each.calls, each.samples, each.tokens_in, each.tokens_out) == (2, 2, 18, 8)
        assert each.latency_ms >= 40
    assert worker.counts.take() == {}


def test_money():
    prices = {"a": TokenPrices(input_per_million=2, output_per_million=10)}
    usage = {"a": JudgeUsage(calls=1, tokens_in=500_000, tokens_out=100_000)}
    assert total_cost(usage, prices) == (2.0, [])
    assert total_cost({**usage, "b": JudgeUsage(samples=3, cached=3)}, prices) == (2.0, [])
    unpriced = ["judge.prices has no price of b"]
    assert total_cost({**usage, "b": JudgeUsage(calls=1)}, prices) == (2.0, unpriced)
    usage["a"].uncounted, usage["a"].calls = 1, 2
    assert total_cost(usage, prices) == (2.0, ["the tokens of 1 call are unknown"])
    assert total_cost({}, prices) == (0, [])
