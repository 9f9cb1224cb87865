"""Defines the interface of a source of a stream in this process."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol


class SourceOptions(NamedTuple):
    """Options of all sources.

    Attributes:
        max_record_bytes: A larger record is returned as an error, or refused.
        timestamp_attribute: Attribute of a Pub/Sub message that holds its event time; None: read it from the
            record.
        directory: Directory of the stream, for a source that stores what it received.
        input_format: Format of all records, or `auto`.
    """

    max_record_bytes: int
    timestamp_attribute: str | None = None
    directory: Path = Path()
    input_format: str = "auto"


class SourceRecord(NamedTuple):
    """A record that was read from a source, or the error of one that could not be read.

    Attributes:
        source: File, topic partition or subscription.
        position: Number of the record in its source; unique within it.
        data: UTF-8 JSON text; of an unreadable record, as much as is known.
        event_time: Event time from a message attribute, seconds since the epoch; None: read it from the
            record.
        error: Why the record could not be read; None if it was.
        published: When the broker accepted the record, seconds since the epoch; the event time of a record
            that has none. None: unknown.
    """

    source: str
    position: int
    data: bytes
    event_time: float | None = None
    error: Exception | None = None
    published: float | None = None


class SettledPositions(NamedTuple):
    """The settled records of a source: all up to `through`, and those in `beyond`."""

    through: int = 0
    beyond: frozenset[int] = frozenset()

    def __contains__(self, position: object) -> bool:
        return isinstance(position, int) and (position <= self.through or position in self.beyond)


class Checkpoints(Protocol):
    """Stores the progress of sources that can be read again, such as files.

    Settled positions are written in the same transaction as the outcomes.
    """

    def done(self, source: str) -> SettledPositions:
        """Returns the positions that earlier processes settled, and tracks the source from now on."""

    def skip(self, source: str, positions: Iterable[int]) -> None:
        """Settles positions without a record, such as blank lines."""

    def note(self, source: str) -> str | None:
        """Returns the note of a source (or of another key); None if there is none."""

    def set_note(self, source: str, note: str) -> None:
        """Stores a note under a source (or another key), such as the identity of its file."""


class StreamSource(Protocol):
    """Returns records as they arrive. After a restart, records that were not settled are returned again.

    `poll` and `settle` are called in different threads.
    """

    @property
    def is_finished(self) -> bool:
        """Whether no more records can arrive (standard input is closed)."""
        return False

    def poll(self, limit: int) -> Sequence[SourceRecord]:
        """Returns the records that have arrived, at most `limit`, without waiting.

        Raises:
            OSError: The source cannot be read any more.
        """

    def last_items(self) -> Sequence[SourceRecord]:
        """Returns records that may be incomplete; called once, when the stream ends."""
        return ()

    def unread(self) -> Sequence[str]:
        """Returns the incomplete ends of the input, one line each. A later process can read them."""
        return ()

    def refused(self) -> Sequence[str]:
        """Returns what was received and could not be used, one line each; its sender was told."""
        return ()

    def settle(self, places: Iterable[tuple[str, int]]) -> None:
        """Acknowledges (source, position) pairs whose outcomes are on disk, where no checkpoint does."""
        return None

    def backlog(self) -> int | None:
        """Returns how many records (files: bytes) are waiting; None if unknown."""

    def close(self) -> None:
        """Closes connections and files."""
