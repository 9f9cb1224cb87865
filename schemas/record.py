"""One raw record, with the place it came from."""

from typing import NamedTuple


class Receipt(NamedTuple):
    """One of the parts that a record of a stream falls into; when all are kept, the record is done with.

    Attributes:
        source: As the record's.
        position: As the record's.
        part: 0-based.
        parts: How many there are.
    """

    source: str
    position: int
    part: int = 0
    parts: int = 1


class Closing(NamedTuple):
    """Which closing of which conversation a joined record of a stream stands for.

    Attributes:
        session_id: Id of the conversation.
        revision: 0-based; a later closing has a higher one, or the same if this one gives no conversation.
        time: Of the last event, seconds since the epoch.
        closed_at: When it was closed, seconds since the epoch, in event time.
        places: JSON array of the [source, position] of its events.
    """

    session_id: str
    revision: int
    time: float
    closed_at: float
    places: bytes


class Record(NamedTuple):
    """One JSON text of a source.

    Attributes:
        source: File (or topic) it was read from.
        position: 1-based line, or 1-based index inside a JSON array or an Avro file.
        data: The record's UTF-8 JSON text; of a joined one, the JSON array of its events.
        receipts: In a stream, what is done with when the record's outcome is kept; empty: all of itself, or
            nothing of a joined one.
        closing: In a stream, which closing of a conversation it stands for; None: it is a record by itself.
    """

    source: str
    position: int
    data: bytes
    receipts: tuple[Receipt, ...] = ()
    closing: Closing | None = None

    def settles(self) -> tuple[Receipt, ...]:
        """Returns what is done with when the record's outcome is kept."""
        return self.receipts if self.receipts or self.closing else (Receipt(self.source, self.position),)
