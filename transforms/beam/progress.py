"""Progress of this process, for the live display."""

from msgspec import Struct


class Progress(Struct):
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
