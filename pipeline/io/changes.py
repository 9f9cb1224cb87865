"""What a stream says of one thing after the other, for services that take tables."""

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from threading import Event
from typing import Any, NamedTuple, Protocol

from turnwise.schemas.jsonio import dump_json


class StreamChange(NamedTuple):
    """All rows of one thing: a conversation, a window of one app version, or a lost record.

    A later change of the thing replaces them: the one with the higher revision or, with the same one, the one
    that was written first later. The same change may be written several times, and counts once.

    Attributes:
        run_id: Id of the run.
        thing: Name of the thing.
        revision: Number that grows with its changes.
        time: Its time, in seconds since the epoch; None: unknown.
        rows: Table -> rows; none of any table: the thing is no more.
    """

    run_id: str
    thing: str
    revision: int
    time: float | None
    rows: Mapping[str, Sequence[Mapping[str, Any]]]

    @property
    def change_id(self) -> str:
        """The same for equal changes only."""
        content = dump_json([self.run_id, self.thing, self.revision, dict(self.rows)])
        return blake2b(content, digest_size=16).hexdigest()


class RefusedRow(NamedTuple):
    """A row of a change that a service did not take; the others count.

    Attributes:
        change_id: The change.
        why: What was not written, and why, in one line.
    """

    change_id: str
    why: str


class ChangeWriter(Protocol):
    """Writes the changes of a stream to a service; several threads may use it.

    Attributes:
        stop: If it is set, the stream is to end, and a service that does not answer is not waited for.
    """

    stop: Event

    def write(self, changes: Sequence[StreamChange]) -> Sequence[RefusedRow]:
        """Writes changes, each as a whole or not at all.

        Returns:
            The rows that the service did not take.

        Raises:
            OSError: The changes were not written.
        """
