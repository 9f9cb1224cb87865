"""Common parts of the sources that read messages from a broker."""

from hashlib import blake2b

from turnwise.pipeline.io.records import oversized_error
from turnwise.pipeline.streaming.inputs.base import SourceRecord
from turnwise.schemas.proto.scalars import timestamp_nanos
from turnwise.schemas.score import KEPT_RECORD_BYTES

_LARGEST_POSITION = (1 << 63) - 1


def message_position(message_id: str) -> int:
    """Returns a numeric message id as a number; of any other id, 63 bits of its digest."""
    if message_id.isascii() and message_id.isdigit() and int(message_id) <= _LARGEST_POSITION:
        return int(message_id)
    digest = blake2b(message_id.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") & _LARGEST_POSITION


def attribute_time(text: str | None) -> float | None:
    """Returns milliseconds or an RFC 3339 text as seconds since the epoch; None if it is neither."""
    if not text:
        return None
    try:
        return int(text) / 1000 if text.isascii() and text.isdigit() else timestamp_nanos(text) / 1e9
    except ValueError:
        return None


def message_item(
    source: str,
    position: int,
    data: bytes,
    limit: int,
    event_time: float | None = None,
    published: float | None = None,
) -> SourceRecord:
    """Returns the record of a message.

    Args:
        source: Name of the source.
        position: Number of the message in the source.
        data: Content of the message.
        limit: A larger message, in bytes, gives a record with an error and the start of its content.
        event_time: Seconds since the epoch; None: not stated by the message.
        published: Seconds since the epoch; None: not stated by the broker.
    """
    if len(data) > limit:
        error = oversized_error(limit)
        return SourceRecord(source, position, data[:KEPT_RECORD_BYTES], event_time, error, published)
    return SourceRecord(source, position, data, event_time, None, published)
