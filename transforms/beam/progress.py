"""Progress of this process, for the live display."""

from dataclasses import dataclass


@dataclass(slots=True)
class Progress:
    """Counts of this process so far.

    Attributes:
        conversations: Scored.
        turns: Scored.
        held: Records that wait in open sessions.
    """

    conversations: int = 0
    turns: int = 0
    held: int = 0


PROGRESS = Progress()
