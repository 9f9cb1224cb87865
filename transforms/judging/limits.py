"""Limits the calls, tokens and cost of a judge."""

import asyncio
import time
from collections.abc import Mapping
from math import inf

from turnwise.schemas.config import JudgeConfig, TokenPrices
from turnwise.transforms.judging.limits.counts import JudgeUsage
from turnwise.transforms.judging.places.base import NO_LIMITS, NOTHING, Amounts, ReplyPlace

BYTES_PER_TOKEN = 4
ANSWER_TOKENS = 400
"""Assumed number of tokens of an answer."""

_REFUSED_S = 1.0


def estimated_tokens(*texts: str) -> int:
    """Returns about how many tokens texts have: a quarter of their bytes in UTF-8."""
    return sum(len(text.encode("utf-8", "surrogatepass")) for text in texts) // BYTES_PER_TOKEN


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


class Budget:
    """Counts calls, tokens and cost against their limits, in one event loop.

    Calls in flight count with their expected tokens: the mean of the finished calls, at least their prompt;
    for the first calls, their prompt and an assumed answer. Where a place counts for all workers of the run,
    a call is counted there before it is made, so that a worker that is killed lets nobody exceed the limits.
    """

    def __init__(
        self, config: JudgeConfig, spent: Amounts = NOTHING, place: ReplyPlace | None = None, run: str = ""
    ):
        """Sets the limits.

        Args:
            config: The limits and prices.
            spent: What was spent of the limits before.
            place: Where all workers of the run count what they spend; None: this process counts alone.
            run: The run, at the place.
        """
        self._prices = config.prices
        self._is_priced = config.max_cost is not None
        self._limits = limits_of(config)
        self._place, self._run = place, run
        self._spent = spent
        self._due = NOTHING  # what calls took beyond what the place has counted for them
        self._refused_until = -inf
        self._settled = 0
        self._tokens = 0

    async def reserve(self, model: str, prompt_tokens: int, answers: int = 1) -> Amounts | None:
        """Reserves budget for a call.

        Args:
            model: Requested model.
            prompt_tokens: Tokens of the prompt.
            answers: Number of requested answers.

        Returns:
            Expected amounts, to be passed to `settle`; None: the budget is spent, or the cost is limited and
            the model has no price.

        Raises:
            PlaceError: The place of the limits does not answer.
        """
        expected = self._expected(model, prompt_tokens, answers)
        if expected is None or time.monotonic() < self._refused_until:
            return None
        if self._place is None:
            is_left = self._limits.covers(self._spent.plus(expected))
        else:
            is_left = await self._write(expected, self._limits)
            if not is_left:
                self._refused_until = time.monotonic() + _REFUSED_S
        if is_left:
            self._spent = self._spent.plus(expected)
        return expected if is_left else None

    def settle(self, model: str, expected: Amounts, tokens: tuple[int, int] | None) -> None:
        """Replaces the expected amounts of a call by the actual ones, unless those are unknown."""
        if tokens is None:
            return
        tokens_in, tokens_out = tokens
        actual = Amounts(1, tokens_in + tokens_out, self._cost(model, tokens_in, tokens_out))
        more = actual.minus(expected)
        self._spent, self._due = self._spent.plus(more), self._due.plus(more)
        self._tokens += tokens_in + tokens_out
        self._settled += 1

    async def write(self) -> None:
        """Tells the place what the finished calls took; raises PlaceError if it does not answer."""
        if self._place is not None and self._due != NOTHING:
            await self._write(NOTHING, NO_LIMITS)

    async def _write(self, expected: Amounts, limits: Amounts) -> bool:
        """Adds the expected amounts of a call, and what is due, at the place; see `ReplyPlace.spend`."""
        assert self._place is not None
        due, self._due = self._due, NOTHING
        # What may be written already is not written again if that would free what was spent.
        still_due = Amounts(*(max(0.0, amount) for amount in due))
        try:
            is_written = await asyncio.to_thread(self._place.spend, self._run, expected.plus(due), limits)
            still_due = NOTHING if is_written else due
        finally:
            self._due = self._due.plus(still_due)
        return is_written

    def _expected(self, model: str, prompt_tokens: int, answers: int) -> Amounts | None:
        if self._is_priced and model not in self._prices:
            return None
        if self._settled:
            tokens = max(prompt_tokens, self._tokens // self._settled)
        else:
            tokens = prompt_tokens + ANSWER_TOKENS * answers
        return Amounts(1, tokens, self._cost(model, prompt_tokens, tokens - prompt_tokens))

    def _cost(self, model: str, tokens_in: int, tokens_out: int) -> float:
        prices = self._prices.get(model)
        if prices is None:
            return 0.0
        return (tokens_in * prices.input_per_million + tokens_out * prices.output_per_million) / 1e6
