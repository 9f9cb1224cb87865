"""How far this process has come, for a live display beside the run."""

from dataclasses import dataclass


@dataclass(slots=True)
class Progress:
    """Conversations and turns scored so far in this process.

    Attributes:
        held: Events that wait in open sessions.
    """

    conversations: int = 0
    turns: int = 0
    held: int = 0


PROGRESS = Progress()
