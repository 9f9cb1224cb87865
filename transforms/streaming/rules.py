"""How a stream is cut: into conversations by sessions, into metrics by windows."""

from dataclasses import dataclass
from zlib import crc32

_ROUNDED_UP = 1 / 64


@dataclass(frozen=True, slots=True)
class StreamRules:
    """The lengths of time of a stream, in seconds.

    Attributes:
        session_gap: Silence after which a conversation counts as ended, in event time.
        window: Length of the metrics' windows, in event time.
        allowed_lateness: How long after its end a window still takes conversations, and how long after its
            closing a conversation still takes events, in event time.
        pane_every: How often an open window's figures are given, in whole seconds of processing time.
        slots: Number of keys that conversations are spread over; None: every conversation is a key. An engine
            that visits all keys at every step needs few.
    """

    session_gap: float = 600.0
    window: float = 3600.0
    allowed_lateness: float = 86_400.0
    pane_every: int = 60
    slots: int | None = None

    @property
    def closing_step(self) -> float:
        """What session deadlines are rounded up to a multiple of, so that many close in one step."""
        return self.session_gap * _ROUNDED_UP

    @property
    def longest_wait(self) -> float:
        """How long after its last event a conversation is closed at the latest."""
        return self.session_gap + 2 * self.closing_step

    @property
    def window_lateness(self) -> float:
        """How long after its end a window takes changes.

        A conversation closes a wait after its end; a stream that is ended passes over another one at once.
        """
        return self.allowed_lateness + 2 * self.longest_wait

    def key(self, name: str) -> str:
        """Returns the key that a conversation's state is kept under."""
        return name if self.slots is None else f"slot-{crc32(name.encode('utf-8', 'replace')) % self.slots}"
