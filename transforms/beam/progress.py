"""How far this process has come, for a display beside the run."""

from dataclasses import dataclass


@dataclass(slots=True)
class Progress:
    """What was done so far in this process.

    Attributes:
        conversations: Scored.
        turns: Scored.
        held: Records that wait in open sessions.
    """

    conversations: int = 0
    turns: int = 0
    held: int = 0


PROGRESS = Progress()
