"""One record of a stream, at the moment it was read."""

import msgspec


class Arrival(msgspec.Struct, frozen=True):
    """A record and its time.

    Attributes:
        source: File, topic or subscription it was read from.
        position: Number of the record in its source: 1-based line, index, or offset.
        data: Its UTF-8 JSON text.
        event_time: When it happened, seconds since the epoch.
        watermark: The source's watermark when it was read, seconds since the epoch; 0.0: unknown.
    """

    source: str
    position: int
    data: bytes
    event_time: float
    watermark: float = 0.0
