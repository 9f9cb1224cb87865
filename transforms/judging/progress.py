"""Progress of this process's judge, for the live display."""

from msgspec import Struct, field

from turnwise.transforms.judging.limits.counts import JudgeUsage


class JudgeProgress(Struct):
    """Usage of the judge in this process.

    Attributes:
        asking: Calls in flight.
        judged: Usage by model.
    """

    asking: int = 0
    judged: dict[str, JudgeUsage] = field(default_factory=dict)


JUDGING = JudgeProgress()
