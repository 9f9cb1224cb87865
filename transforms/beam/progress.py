"""How far this process has come, for a display beside the run."""

from dataclasses import dataclass, field

from turnwise.transforms.judging.counts import JudgeUsage


@dataclass(slots=True)
class Progress:
    """What was done so far in this process.

    Attributes:
        conversations: Scored.
        turns: Scored.
        held: Records that wait in open sessions.
        asking: Calls of judges in flight.
        judged: Model -> what was asked of it.
    """

    conversations: int = 0
    turns: int = 0
    held: int = 0
    asking: int = 0
    judged: dict[str, JudgeUsage] = field(default_factory=dict)


PROGRESS = Progress()
