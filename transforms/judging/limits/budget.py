"""Limits the calls, tokens and cost of a judge."""

import asyncio
import time
from math import inf

from turnwise.schemas.judge_config import JudgeConfig
from turnwise.transforms.judging.limits.ledger import NOTHING, Amounts, Ledger, limits_of
from turnwise.transforms.judging.places.base import PlaceError

BYTES_PER_TOKEN = 4
ANSWER_TOKENS = 400
"""Assumed number of tokens of an answer."""

_REFUSED_S = 1.0


def estimated_tokens(*texts: str) -> int:
    """Returns about how many tokens texts have: a quarter of their bytes in UTF-8."""
    return sum(len(text.encode("utf-8", "surrogatepass")) for text in texts) // BYTES_PER_TOKEN


class Budget:
    """Counts calls, tokens and cost against their limits, in one event loop.

    Calls in flight count with their expected tokens: the mean of the finished calls, at least their prompt;
    for the first calls, their prompt and an assumed answer. With a ledger, the limits are those of all
    workers of the run, and the budget holds a small part of them at a time.
    """

    def __init__(self, config: JudgeConfig, ledger: Ledger | None = None, spent: Amounts = NOTHING):
        """Sets the limits, who else holds them, and what was spent of them before."""
        self._prices = config.prices
        self._is_priced = config.max_cost is not None
        self._ledger = ledger
        self._held = Amounts() if ledger else limits_of(config).minus(spent)
        self._refilling = asyncio.Lock()
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
        while expected is not None and not self._held.covers(expected):
            if self._ledger is None or not await self._refilled(self._ledger, expected):
                return None
        if expected is not None:
            self._held = self._held.minus(expected)
        return expected

    def settle(self, model: str, expected: Amounts, tokens: tuple[int, int] | None) -> None:
        """Replaces the expected amounts of a call by the actual ones, unless those are unknown."""
        if tokens is None:
            return
        tokens_in, tokens_out = tokens
        actual = Amounts(1, tokens_in + tokens_out, self._cost(model, tokens_in, tokens_out))
        self._held = self._held.plus(expected).minus(actual)
        self._tokens += tokens_in + tokens_out
        self._settled += 1

    async def give_back(self) -> None:
        """Gives back what is held of shared limits and not reserved.

        Raises:
            PlaceError: The place does not answer; what was held is lost to the run.
        """
        if self._ledger is None:
            return
        async with self._refilling:
            held, self._held = self._held, Amounts()
            try:
                if any(held):
                    await self._ledger.give_back(held)
            except PlaceError:
                debts = Amounts(*(min(0.0, amount) for amount in held))
                self._held = self._held.plus(debts)
                raise

    async def _refilled(self, ledger: Ledger, expected: Amounts) -> bool:
        async with self._refilling:
            if self._held.covers(expected):
                return True
            if time.monotonic() < self._refused_until:
                return False
            lacking = (max(0.0, need - held) for need, held in zip(expected, self._held, strict=True))
            lease = await ledger.lease(Amounts(*lacking))
            if lease is None:
                self._refused_until = time.monotonic() + _REFUSED_S
                return False
            self._held = self._held.plus(lease)
            return True

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
