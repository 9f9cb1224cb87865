"""Raw records with their source, and with their times in a stream."""

from typing import NamedTuple

import msgspec


class Receipt(NamedTuple):
    """One part of a record of a stream; the record is settled when the outcomes of all parts are stored.

    Attributes:
        source: Source of the record.
        position: Position of the record.
        part: 0-based index.
        parts: Number of parts.
        piece: 0-based index of the piece of that part, if conversations share it.
        pieces: Number of its pieces.
    """

    source: str
    position: int
    part: int = 0
    parts: int = 1
    piece: int = 0
    pieces: int = 1


class Closing(NamedTuple):
    """Closing of a conversation that a joined record of a stream represents.

    Attributes:
        session_id: Id of the conversation.
        revision: 0-based; higher for a later closing, or equal if this one yields no conversation.
        time: Time of the last event, seconds since the epoch.
        closed_at: Event time of the closing, seconds since the epoch.
        places: JSON array of the [source, position] of its events.
        groups: Groups that its events come from; see `ConversationEvent.group`.
    """

    session_id: str
    revision: int
    time: float
    closed_at: float
    places: bytes
    groups: tuple[str, ...] = ()


class Record(NamedTuple):
    """One JSON text of a source.

    Attributes:
        source: File or topic.
        position: 1-based line, or 1-based index in a JSON array or an Avro file.
        data: UTF-8 JSON text; for a joined record, the JSON array of its events.
        receipts: In a stream, receipts that are settled when the outcome is stored; empty: the record itself,
            or none for a joined record.
        closing: In a stream, the closing of a joined conversation; None: a single record.

    >>> import turnwise
    >>> turnwise.Record("logs.jsonl", 1, b'{"call": "c1"}').position
    1
    """

    source: str
    position: int
    data: bytes
    receipts: tuple[Receipt, ...] = ()
    closing: Closing | None = None

    def settles(self) -> tuple[Receipt, ...]:
        """Returns the receipts that are settled when the record's outcome is stored."""
        return self.receipts if self.receipts or self.closing else (Receipt(self.source, self.position),)


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
