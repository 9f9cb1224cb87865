"""What the judge of this process does, for a display beside the run."""

from dataclasses import dataclass, field

from turnwise.transforms.judging.limits.counts import JudgeUsage


@dataclass(slots=True)
class JudgeProgress:
    """What was asked so far in this process.

    Attributes:
        asking: Calls in flight.
        judged: Model -> what was asked of it.
    """

    asking: int = 0
    judged: dict[str, JudgeUsage] = field(default_factory=dict)


JUDGING = JudgeProgress()
