"""Judges that need no model: none at all, and the local one."""

from turnwise.transforms.judging.ask import NO_JUDGE, JudgeSample, Question, R

LOCAL_MODEL = "turnwise-local-1"
_LOCAL_CANNOT = "the local judge cannot answer this; a model can (see --judge)"


class NoJudge:
    """Answers nothing."""

    async def __call__(self, question: Question[R], samples: range) -> list[JudgeSample[R]]:
        """Gives unusable samples."""
        return [JudgeSample(None, NO_JUDGE)] * len(samples)


class LocalJudge:
    """Answers the questions that have an answer without a model."""

    async def __call__(self, question: Question[R], samples: range) -> list[JudgeSample[R]]:
        """Answers once, the same for every sample."""
        if question.local is None:
            return [JudgeSample(None, _LOCAL_CANNOT)] * len(samples)
        return [JudgeSample(question.local(), model=LOCAL_MODEL)] * len(samples)
