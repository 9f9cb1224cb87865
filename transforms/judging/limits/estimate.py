"""Estimates the calls of a run without making any."""

from turnwise.schemas.config import JudgeConfig
from turnwise.transforms.judging.ask import JudgeSample, Question, R
from turnwise.transforms.judging.cache import ReplyCache
from turnwise.transforms.judging.limits import ANSWER_TOKENS, estimated_tokens
from turnwise.transforms.judging.limits.counts import JudgeCounts
from turnwise.transforms.judging.requests import Requests


class Estimator:
    """Counts questions: as `calls` the minimum (if votes agree, and the first judge of a cascade is sure).

    The maximum is counted as `samples`.
    """

    def __init__(
        self, config: JudgeConfig, requests: Requests, counts: JudgeCounts, cache: ReplyCache | None
    ) -> None:
        self._candidates, self._requests = config.candidates, requests
        self._counts, self._cache = counts, cache
        self._seen: set[bytes] = set()

    async def __call__(self, question: Question[R], samples: range) -> list[JudgeSample[R]]:
        """Counts a question once, however often it is asked."""
        request = self._requests.make(question)
        if request.key not in self._seen:
            self._seen.add(request.key)
            kept = await self._cache.get(request.key) if self._cache else {}
            missing = 0 if question.if_unsure else sum(number not in kept for number in samples)
            most = sum(number not in kept for number in range(question.options.num_samples))
            calls = min(missing, 1) if self._candidates else missing
            prompt = estimated_tokens(request.template.instructions, request.evidence)
            model = request.template.name
            self._counts.add_estimate(model, calls, most, prompt * calls, ANSWER_TOKENS * missing)
        return [JudgeSample(None, "only estimated")] * len(samples)

    async def aclose(self) -> None:
        """Closes the cache."""
        if self._cache is not None:
            self._cache.close()
