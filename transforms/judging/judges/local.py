"""The judge `local`: rules, without a model."""

from turnwise.transforms.judging.ask import JudgeSample, Question, R
from turnwise.transforms.judging.judges_base import JudgeKind, register_judge

LOCAL_MODEL = "turnwise-local-3"
_LOCAL_CANNOT = "the local judge cannot answer this; a model can (see --judge)"


class LocalJudge:
    """Answers the questions that have an answer without a model."""

    async def __call__(self, question: Question[R], samples: range) -> list[JudgeSample[R]]:
        """Answers once, the same for every sample."""
        if question.local is None:
            return [JudgeSample(None, _LOCAL_CANNOT)] * len(samples)
        return [JudgeSample(question.local(), model=LOCAL_MODEL)] * len(samples)


register_judge(
    JudgeKind(
        name="local",
        help="rules, without network or model",
        answer=LocalJudge,
        note="judge: local, rules without a model; what they cannot decide is unscored",
    )
)
