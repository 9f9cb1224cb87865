"""Limits the calls and tokens of a judge."""

BYTES_PER_TOKEN = 4
ANSWER_TOKENS = 200
"""Assumed number of tokens of an answer."""


def estimated_tokens(*texts: str) -> int:
    """Returns about how many tokens texts have: a quarter of their bytes in UTF-8."""
    return sum(len(text.encode("utf-8", "surrogatepass")) for text in texts) // BYTES_PER_TOKEN


class Budget:
    """Counts calls and tokens against their limits.

    Calls in flight count with their expected tokens: the mean of the finished calls, at least their prompt;
    for the first calls, their prompt and an assumed answer.
    """

    def __init__(self, max_calls: int | None, max_tokens: int | None):
        self._max_calls = max_calls
        self._max_tokens = max_tokens
        self._calls = 0
        self._settled = 0
        self._tokens = 0
        self._expected = 0

    def reserve(self, prompt_tokens: int, answers: int = 1) -> int | None:
        """Reserves budget for a call.

        Args:
            prompt_tokens: Tokens of the prompt.
            answers: Number of requested answers.

        Returns:
            Expected tokens, to be passed to `settle`; None: the budget is spent.
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
        """Replaces the expected tokens of a call by the actual ones."""
        self._expected -= expected
        self._tokens += tokens
        self._settled += 1
