"""The judge `none`, which gives no scores."""

from turnwise.transforms.judging.ask import NO_JUDGE, JudgeSample, Question, R
from turnwise.transforms.judging.judges_base import HOW_TO, JudgeKind, register_judge


class NoJudge:
    """Leaves every question unanswered."""

    async def __call__(self, question: Question[R], samples: range) -> list[JudgeSample[R]]:
        """Returns unusable samples."""
        return [JudgeSample(None, NO_JUDGE)] * len(samples)


NONE = register_judge(
    JudgeKind(
        name="none",
        help="judged criteria are unscored",
        answer=NoJudge,
        is_judging=False,
        note=f"judge: none, so judged criteria are unscored; {HOW_TO}",
    )
)
