"""Durations and keys of a stream: sessions, windows, lateness."""

from zlib import crc32

from msgspec import Struct

_ROUNDED_UP = 1 / 64


class StreamRules(Struct, frozen=True):
    """Durations of a stream, in seconds.

    Attributes:
        session_gap: Gap after which a conversation counts as ended, in event time.
        window: Length of the metrics' windows, in event time.
        allowed_lateness: Time after its end during which a window accepts conversations, and after its
            closing during which a conversation accepts events, in event time.
        pane_every: Interval of an open window's metrics, in whole seconds of processing time.
        slots: Number of keys for all conversations; None: one key per conversation. Engines that visit all
            keys at every step need few keys.
    """

    session_gap: float = 600.0
    window: float = 3600.0
    allowed_lateness: float = 86_400.0
    pane_every: int = 60
    slots: int | None = None

    @property
    def closing_step(self) -> float:
        """Step to which session deadlines are rounded up, so that many close together."""
        return self.session_gap * _ROUNDED_UP

    @property
    def longest_wait(self) -> float:
        """Maximum time between the last event and the closing of a conversation."""
        return self.session_gap + 2 * self.closing_step

    @property
    def window_lateness(self) -> float:
        """Time after its end during which a window accepts changes.

        It includes the closing delay of a conversation, and another one at the end of the stream.
        """
        return self.allowed_lateness + 2 * self.longest_wait

    def key(self, name: str) -> str:
        """Returns the state key of a conversation."""
        return name if self.slots is None else f"slot-{crc32(name.encode('utf-8', 'replace')) % self.slots}"
