"""How much a judge may still spend."""

BYTES_PER_TOKEN = 4
ANSWER_TOKENS = 200
"""Tokens that an answer is taken to have before it is known."""


def estimated_tokens(*texts: str) -> int:
    """Returns about how many tokens texts have: a quarter of their bytes in UTF-8."""
    return sum(len(text.encode("utf-8", "surrogatepass")) for text in texts) // BYTES_PER_TOKEN


class Budget:
    """Counts calls and tokens against their limits.

    What a call takes is known only afterwards, so calls in flight count with what they are expected to take:
    the mean of the calls so far, at least their prompt; the first ones, their prompt and a usual answer.
    """

    def __init__(self, max_calls: int | None, max_tokens: int | None):
        self._max_calls = max_calls
        self._max_tokens = max_tokens
        self._calls = 0
        self._settled = 0
        self._tokens = 0
        self._expected = 0

    def reserve(self, prompt_tokens: int, answers: int = 1) -> int | None:
        """Takes a call out of the budget.

        Args:
            prompt_tokens: Of its prompt.
            answers: Answers that it asks for.

        Returns:
            The tokens it is expected to take, for `settle`; None: the budget is spent.
        """
        if self._settled:
            expected = max(prompt_tokens, self._tokens // self._settled)
        else:
            expected = prompt_tokens + ANSWER_TOKENS * answers
        if self._max_calls is not None and self._calls >= self._max_calls:
            return None
        if self._max_tokens is not None and self._tokens + self._expected + expected > self._max_tokens:
            return None
        self._calls += 1
        self._expected += expected
        return expected

    def settle(self, expected: int, tokens: int) -> None:
        """Books what a call took instead of what it was expected to take."""
        self._expected -= expected
        self._tokens += tokens
        self._settled += 1
