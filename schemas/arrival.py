"""Records of a stream with their times."""

import msgspec


class Arrival(msgspec.Struct, frozen=True):
    """A record of a stream.

    Attributes:
        source: File, topic or subscription.
        position: Number of the record in its source: 1-based line, index, or offset.
        data: UTF-8 JSON text.
        event_time: Seconds since the epoch.
        watermark: Watermark of the source at the time of reading, seconds since the epoch; 0.0: unknown.
    """

    source: str
    position: int
    data: bytes
    event_time: float
    watermark: float = 0.0
