"""Limits the calls, tokens and cost of a judge."""

import asyncio
import re
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from math import inf
from threading import Lock
from typing import NamedTuple

from msgspec import Struct, field

from turnwise.schemas.config import JudgeConfig, TokenPrices
from turnwise.schemas.jsonio import counted, listed
from turnwise.transforms.judging.ask import known_sum
from turnwise.transforms.judging.backends.base import FaultKind, RawReply
from turnwise.transforms.judging.shared_places import NO_LIMITS, NOTHING, Amounts, PlaceError, ReplyPlace
from turnwise.transforms.text.patterns import glob_matches


class Pace:
    """Allows one request per interval, in order.

    Unused intervals do not accumulate, so that no minute exceeds the limit by more than one request.
    """

    def __init__(self, per_minute: float | None, clock: Callable[[], float] = time.monotonic):
        self._interval = 60 / per_minute if per_minute else 0.0
        self._clock = clock
        self._next = 0.0

    def charge(self) -> float:
        """Reserves a slot, so that later requests wait longer; returns the seconds until it."""
        if not self._interval:
            return 0.0
        now = self._clock()
        turn = max(now, self._next)
        self._next = turn + self._interval
        return turn - now


class JudgeUsage(Struct):
    """Usage of one model.

    Attributes:
        calls: Finished calls, successful or not; one call may yield several samples.
        retries: Requests beyond the first one of each call.
        asked_again: Samples that were requested again because the first reply was unusable.
        latency_ms: Total milliseconds of all calls, with retries.
        tokens_out: Answer tokens, including thoughts.
        samples: Returned samples, usable or not.
        cached: Samples without a call: from the cache, or shared with a call in flight.
        uncounted: Calls whose tokens the API did not state; they are in no other figure of tokens.
        unusable: Kind of fault -> samples.
    """

    calls: int = 0
    retries: int = 0
    asked_again: int = 0
    latency_ms: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    samples: int = 0
    cached: int = 0
    tokens_saved: int = 0
    uncounted: int = 0
    unusable: Counter[FaultKind] = field(default_factory=Counter)

    def figures(self) -> dict[str, int]:
        """Returns all but `unusable` by name."""
        return {name: getattr(self, name) for name in self.__struct_fields__ if name != "unusable"}

    def add(self, other: "JudgeUsage") -> None:
        """Adds other usage."""
        for name, number in other.figures().items():
            setattr(self, name, getattr(self, name) + number)
        self.unusable.update(other.unusable)

    def cost(self, prices: TokenPrices) -> float:
        """Returns the cost of the counted tokens in the currency of the prices."""
        return prices.cost(self.tokens_in, self.tokens_out)


class JudgeCounts:
    """Usage by requested model; thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._usage: dict[str, JudgeUsage] = {}

    def add(self, model: str, usage: JudgeUsage) -> None:
        """Counts usage."""
        with self._lock:
            self._usage.setdefault(model, JudgeUsage()).add(usage)

    def take(self) -> dict[str, JudgeUsage]:
        """Returns the usage since the last call."""
        with self._lock:
            taken, self._usage = self._usage, {}
        return taken


_NAMESPACE = re.compile(
    r"^(?:.*/)?models/|^(?:(?:anthropic|azure|gemini|google|openai|vertex_ai)/)?(?:responses/)?"
)
_DATE = re.compile(r"(?:@(?:\d{3}|\d{8}|default|latest)|-20\d\d-\d\d-\d\d|-20\d{6}|-00\d)$")


@lru_cache(maxsize=1024)
def _names_of(model: str) -> tuple[str, ...]:
    short = _NAMESPACE.sub("", model)
    return tuple(dict.fromkeys((model, short, _DATE.sub("", short))))


def price_of(prices: Mapping[str, TokenPrices], model: str) -> TokenPrices | None:
    """Returns the prices of a model; None: it has none, and what it costs is unknown.

    Its name counts before globs. A name in full, such as `publishers/google/models/m-001` or `m-2025-08-07`,
    has the price of `m` where it has none of its own.
    """
    names = _names_of(model)
    for name in names:
        if known := prices.get(name):
            return known
    for key, known in prices.items():
        if _NAMESPACE.sub("", key) in names or any(glob_matches(key, name) for name in names):
            return known
    return None


def total_cost(usage: Mapping[str, JudgeUsage], prices: Mapping[str, TokenPrices]) -> tuple[float, list[str]]:
    """Returns what the counted tokens cost, and why that is not all, if it is not; see `spent_on`."""
    asked = {model: used for model, used in usage.items() if used.calls}
    unpriced = [model for model in asked if price_of(prices, model) is None]
    owed = sum(min(used.uncounted, used.unusable["batch"]) for used in asked.values())
    uncounted = sum(used.uncounted for used in asked.values()) - owed
    whys = [f"judge.prices has no price of {listed(sorted(unpriced))}"] if unpriced else []
    whys += [f"the tokens of {counted(uncounted, 'call')} are unknown"] if uncounted else []
    whys += ["batch jobs gave no answer, or none yet"] if owed else []
    return spent_on(asked, prices).cost, whys


def tokens_of(replies: Sequence[RawReply]) -> tuple[int, int] | None:
    """Returns the tokens of a call; None: the API does not state them."""
    tokens_in = known_sum([reply.tokens_in for reply in replies])
    tokens_out = known_sum([reply.tokens_out for reply in replies])
    return None if tokens_in is None or tokens_out is None else (tokens_in, tokens_out)


BYTES_PER_TOKEN = 4
ANSWER_TOKENS = 400
"""Assumed number of tokens of an answer."""

SPENT = "budget"
"""Reason of an answer that was not asked for, because the budget is spent."""
_REFUSED_S = 1.0


def estimated_tokens(*texts: str) -> int:
    """Returns about how many tokens texts have: a quarter of their bytes in UTF-8."""
    return sum(len(text.encode("utf-8", "surrogatepass")) for text in texts) // BYTES_PER_TOKEN


def spent_on(usage: Mapping[str, JudgeUsage], prices: Mapping[str, TokenPrices]) -> Amounts:
    """Returns what was spent, by model; a model without a price costs nothing, and no cost can be limited."""
    return Amounts(
        sum(used.calls for used in usage.values()),
        sum(used.tokens_in + used.tokens_out for used in usage.values()),
        sum(used.cost(price) for model, used in usage.items() if (price := price_of(prices, model))),
    )


_PERIODS = {"hour": (3600, "%Y-%m-%dT%HZ"), "day": (86_400, "%Y-%m-%d")}


def share_to_ask(
    left: Sequence[float], needed: Sequence[float], came: float, before: float, gone: float
) -> float:
    """Returns the share of conversations to judge, so that a budget lasts for its period.

    The rest of the period is expected to bring what the previous one brought beyond what came already; where
    that is nothing, as many in the same time as came so far, and no fewer than came so far: what comes
    at once in the evening, such as a batch, would else take everything with its first ones.

    Args:
        left: What is left of each limit.
        needed: What a conversation needs of each, on average.
        came: Conversations that came in this period.
        before: Conversations that came in the previous one.
        gone: Share of the period that is gone.
    """
    rest = before - came if before > came else came * max(1.0, (1 - gone) / gone) if gone else 0.0
    pairs = [(amount, need * (rest + 1)) for amount, need in zip(left, needed, strict=True)]
    return min(max(0.0, amount) / need if need else float(amount > 0) for amount, need in pairs)


class Reserved(NamedTuple):
    """What was reserved for a call, of a run or a period (`counter`); prompt tokens are estimated."""

    expected: Amounts
    counter: str
    prompt_tokens: int
    answers: int


class Budget:
    """Counts calls, tokens and cost against their limits, in one event loop.

    Calls in flight count with their expected tokens: their prompt and an answer, as long as those of the
    finished calls; for the first calls, an assumed one. A call for which nothing is left waits while those in
    flight may take less than is expected of them. Where a place counts for all workers of the run,
    a call is counted there before it is made, so that a worker that is killed lets nobody exceed the limits.
    """

    def __init__(
        self,
        config: JudgeConfig,
        spent: Amounts = NOTHING,
        reply_place: ReplyPlace | None = None,
        run: str = "",
        clock: Callable[[], float] = time.time,
    ):
        """Sets the limits, and what was spent of them; without a place, this process counts alone.

        `clock` gives seconds since 1970, by which a budget of an hour or a day renews.
        """
        self._prices = config.prices
        self._is_priced = config.max_cost is not None
        limits = (config.max_calls, config.max_tokens, config.max_cost)
        self._limits = Amounts(*(inf if limit is None else limit for limit in limits))
        self._reply_place, self._run, self._per, self._clock = reply_place, run, config.per, clock
        self._spent = spent
        self._due: dict[str, Amounts] = {}  # what calls took beyond what the place has counted for them
        self._refused_until = -inf
        # Prompt tokens and answers of finished calls, and the tokens that they took.
        self._expected = self._taken = (0, 0)
        self._flying = NOTHING
        self._settled = asyncio.Event()
        self._reserving = asyncio.Lock()
        self._promised = 0  # conversations that may be judged, and have not reserved a call yet
        self._deciding = asyncio.Lock()

    @property
    def is_shared_out(self) -> bool:
        """Whether conversations are left out, so that the budget of a period lasts."""
        return self._per != "run" and self._reply_place is not None

    async def left_out(self, position: float) -> str | None:
        """Returns why a conversation is not judged, so that the budget of a period lasts; None: it is judged.

        `position`: its place in [0, 1), always the same. The counters of a period hold the conversations that
        came as calls, and those that are judged as tokens.
        """
        counters = self._reply_place
        if counters is None or not self.is_shared_out:
            return None
        # One after the other: of many that come at once, each must see that the ones before may call.
        async with self._deciding:
            now, (length, _) = self._clock(), _PERIODS[self._per]
            names = self._counter(now), self._counter(now - length)
            try:
                spent, before, came, came_before = [
                    await asyncio.to_thread(counters.spent, name)
                    for name in (*names, *(f"{name} conversations" for name in names))
                ]
                is_spent = any(limit <= amount for limit, amount in zip(self._limits, spent, strict=True))
                cost = min((self._cost(model, 0, ANSWER_TOKENS) for model in self._prices), default=0.0)
                spent = spent.plus(Amounts(*(self._promised * amount for amount in (1, ANSWER_TOKENS, cost))))
                asked = came.tokens + came_before.tokens
                share = share_to_ask(
                    self._limits.minus(spent),
                    [amount / asked if asked else 0.0 for amount in spent.plus(before)],
                    came.calls,
                    came_before.calls,
                    now % length / length,
                )
                counted = Amounts(1, position < share)
                await asyncio.to_thread(counters.spend, f"{names[0]} conversations", counted, NO_LIMITS)
            except PlaceError:  # its calls say so
                return None
            if is_spent:
                return SPENT
            if position >= share:
                return f"left out, so that the judge's budget lasts for the {self._per}"
            self._promised += 1
            return None

    def _counter(self, now: float) -> str:
        """Returns the name of the counter of the run, or of the hour or day of UTC."""
        if self._per == "run":
            return self._run
        return f"{self._per} {time.strftime(_PERIODS[self._per][1], time.gmtime(now))}"

    async def reserve(self, model: str, prompt_tokens: int, answers: int = 1) -> Reserved | None:
        """Reserves budget for a call, when it is known whether there is any, and returns it for `settle`.

        None: the budget is spent, or the cost is limited and the model has no price. Raises PlaceError if the
        place of the limits does not answer.
        """
        self._promised = max(0, self._promised - 1)
        is_priced = not self._is_priced or price_of(self._prices, model) is not None
        if not is_priced or time.monotonic() < self._refused_until:
            return None
        while True:
            settled = self._settled
            # As much as the finished calls took for their prompts and answers.
            (prompts, answered), (tokens_in, tokens_out) = self._expected, self._taken
            expected_in = prompt_tokens * tokens_in // prompts if prompts else prompt_tokens
            expected_out = answers * tokens_out // answered if answered else answers * ANSWER_TOKENS
            cost = self._cost(model, expected_in, expected_out)
            expected = Amounts(1, expected_in + expected_out, cost)
            reserved = Reserved(expected, self._counter(self._clock()), prompt_tokens, answers)
            if self._reply_place is None:
                is_left = self._limits.covers(self._spent.plus(expected))
            else:
                async with self._reserving:  # what one writes of what is due, no other can
                    settled = self._settled
                    is_left = await self._write(reserved.counter, expected, self._limits)
            if is_left:
                self._spent, self._flying = self._spent.plus(expected), self._flying.plus(expected)
                return reserved
            least = self._spent.minus(self._flying)._replace(calls=self._spent.calls)
            if self._reply_place is None:  # else others may have given something back
                may_fit = self._limits.covers(least.plus(expected))
            else:
                may_fit = self._limits[1:] != NO_LIMITS[1:]
            if not settled.is_set() and not (self._flying.calls and may_fit):
                break
            await settled.wait()
        if self._reply_place is not None:
            self._refused_until = time.monotonic() + _REFUSED_S
        return None

    def settle(self, model: str, reserved: Reserved, tokens: tuple[int, int] | None) -> None:
        """Replaces the expected amounts of a call by the actual ones, unless those are unknown."""
        self._flying = self._flying.minus(reserved.expected)
        settled, self._settled = self._settled, asyncio.Event()
        settled.set()
        if tokens is None:
            return
        tokens_in, tokens_out = tokens
        actual = Amounts(1, tokens_in + tokens_out, self._cost(model, tokens_in, tokens_out))
        more, counter = actual.minus(reserved.expected), reserved.counter
        self._spent = self._spent.plus(more)
        self._due[counter] = self._due.get(counter, NOTHING).plus(more)
        (prompts, answered), (total_in, total_out) = self._expected, self._taken
        self._expected = (prompts + reserved.prompt_tokens, answered + reserved.answers)
        self._taken = (total_in + tokens_in, total_out + tokens_out)

    async def write(self) -> None:
        """Adds at the place what the finished calls took; raises PlaceError if it does not answer."""
        for counter in list(self._due) if self._reply_place is not None else ():
            await self._write(counter, NOTHING, NO_LIMITS)

    async def _write(self, counter: str, expected: Amounts, limits: Amounts) -> bool:
        """Adds the expected amounts of a call, and what is due, at the place; see `ReplyPlace.spend`."""
        assert self._reply_place is not None
        due = self._due.pop(counter, NOTHING)
        # What may be written already is not written again if that would free what was spent.
        still_due = Amounts(*(max(0.0, amount) for amount in due))
        try:
            is_written = await asyncio.to_thread(self._reply_place.spend, counter, expected.plus(due), limits)
            still_due = NOTHING if is_written else due
        finally:
            if still_due != NOTHING:
                self._due[counter] = self._due.get(counter, NOTHING).plus(still_due)
        return is_written

    def _cost(self, model: str, tokens_in: int, tokens_out: int) -> float:
        prices, used = price_of(self._prices, model), JudgeUsage(tokens_in=tokens_in, tokens_out=tokens_out)
        return used.cost(prices) if prices else 0.0
