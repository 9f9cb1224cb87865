"""How far this process has come, for a live display beside the run."""

from dataclasses import dataclass


@dataclass(slots=True)
class Progress:
    """Conversations and turns scored so far in this process."""

    conversations: int = 0
    turns: int = 0


PROGRESS = Progress()
