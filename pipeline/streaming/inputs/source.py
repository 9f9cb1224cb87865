"""What a source of a stream in this process can do."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol


class SourceRecord(NamedTuple):
    """A record that was read from a source, or why one could not be read.

    Attributes:
        source: File, topic or subscription.
        position: Number of the record in its source; never given twice to different records.
        data: Its UTF-8 JSON text; of an unreadable one, as much of it as is known.
        event_time: Seconds since the epoch, where the source itself tells (a message attribute); None: the
            record has to tell.
        error: Why it could not be read; None: it could.
        published: When the source took it, seconds since the epoch: the event time of a record that has none;
            None: the source does not tell.
    """

    source: str
    position: int
    data: bytes
    event_time: float | None = None
    error: Exception | None = None
    published: float | None = None


class SettledPositions(NamedTuple):
    """Which records of a source are settled: all up to `through`, and those in `beyond`."""

    through: int = 0
    beyond: frozenset[int] = frozenset()

    def __contains__(self, position: object) -> bool:
        """Tells whether a position is settled."""
        return isinstance(position, int) and (position <= self.through or position in self.beyond)


class Checkpoints(Protocol):
    """What is kept beside the output about sources that can be read again, such as files.

    What is settled is written in the same transaction as the outcomes, so that nothing is lost or doubled.
    """

    def done(self, source: str) -> SettledPositions:
        """Returns what earlier processes settled of a source, and has it kept from now on."""

    def skip(self, source: str, positions: Iterable[int]) -> None:
        """Takes positions as settled that hold nothing, such as blank lines, so that `through` can go on."""

    def note(self, source: str) -> str | None:
        """Returns what was remembered about a source; None: nothing."""

    def set_note(self, source: str, note: str) -> None:
        """Keeps a note about a source (or another key of the source's), such as what its file looked like."""


class StreamSource(Protocol):
    """Gives records as they arrive; one that is opened anew gives those again that were not settled.

    `poll` is called by one thread, `settle` by another.
    """

    @property
    def is_finished(self) -> bool:
        """Whether nothing will come any more (standard input that was closed)."""

    def poll(self, limit: int) -> Sequence[SourceRecord]:
        """Returns what has arrived, at most `limit` items, without waiting for more.

        Raises:
            OSError: The source cannot be read any further.
        """

    def last_items(self) -> Sequence[SourceRecord]:
        """Returns what was held back as perhaps incomplete; called once, when the stream is ended."""

    def unread(self) -> Sequence[str]:
        """Returns what breaks off at the end of the stream, one line each; a later process can read it."""

    def settle(self, places: Iterable[tuple[str, int]]) -> None:
        """Takes note that the outcomes of these (source, position) are on disk, and acknowledges them."""

    def backlog(self) -> int | None:
        """Returns how many records (of files: bytes) are known to wait; None: it cannot be told."""

    def close(self) -> None:
        """Lets go of connections and files; what is not settled will be given again."""
