"""Reads standard input, one record per line."""

import os
import select
from collections import deque
from collections.abc import Sequence
from threading import Condition, Thread
from typing import BinaryIO

from turnwise.pipeline.io.records import BOM, oversized_error
from turnwise.pipeline.streaming.inputs.base import Checkpoints, SourceRecord, StreamSource
from turnwise.pipeline.streaming.inputs.splitting import LineSplitter, OversizedLine

_CHUNK = 1 << 16
_HELD_BYTES = 1 << 24
_POLL_SECONDS = 0.2
_ITEM_BYTES = 200


class LinesSource(StreamSource):
    """Reads the lines of a pipe in a thread. A full buffer blocks the writer.

    A pipe cannot be read again: records that were read and not settled are lost when the process ends.
    Positions continue from those of earlier processes; blank lines have none.
    """

    def __init__(self, file: BinaryIO, name: str, checkpoints: Checkpoints, max_record_bytes: int) -> None:
        """Starts the reading thread.

        Args:
            file: A pipe, a terminal or a file with a file descriptor. It is not closed.
            name: Name of the source.
            checkpoints: Progress of earlier processes.
            max_record_bytes: A larger line is returned as an error.
        """
        self._file, self._name, self._limit = file, name, max_record_bytes
        done = checkpoints.done(name)
        self._position = max(done.beyond, default=done.through)
        checkpoints.skip(name, set(range(done.through + 1, self._position + 1)) - done.beyond)
        self._items: deque[SourceRecord] = deque()
        self._held = 0
        self._is_ended = self._is_closed = False
        self._error: OSError | None = None
        self._changed = Condition()
        self._thread = Thread(target=self._run, name=f"read {name}", daemon=True)
        self._thread.start()

    @property
    def is_finished(self) -> bool:
        """Whether the writer has closed the pipe and all lines were returned."""
        return self._is_ended and not self._items and self._error is None

    def poll(self, limit: int) -> Sequence[SourceRecord]:
        """Returns the records that have arrived, at most `limit`.

        Raises:
            OSError: The pipe cannot be read.
        """
        with self._changed:
            items = [self._items.popleft() for _ in range(min(limit, len(self._items)))]
            self._held -= sum(_ITEM_BYTES + len(item.data) for item in items)
            self._changed.notify()
            if not items and self._error:
                raise self._error
        return items

    def _run(self) -> None:
        splitter = LineSplitter(self._limit)
        try:
            while chunk := self._next_chunk():
                self._give(splitter.add(chunk))
        except OSError as error:
            self._error = error
        self._give(splitter.cut())
        self._is_ended = True

    def _next_chunk(self) -> bytes:
        """Returns the next bytes of the pipe; empty at its end or after `close`."""
        number = self._file.fileno()
        while not self._is_closed:
            if select.select([number], [], [], _POLL_SECONDS)[0]:
                return os.read(number, _CHUNK)
        return b""

    def _give(self, lines: list[bytes]) -> None:
        with self._changed:
            for line in lines:
                self._changed.wait_for(lambda: self._held < _HELD_BYTES or self._is_closed)
                item = self._item(line)
                if item:
                    self._items.append(item)
                    self._held += _ITEM_BYTES + len(item.data)

    def _item(self, line: bytes) -> SourceRecord | None:
        if not isinstance(line, OversizedLine):
            line = line.removeprefix(BOM).rstrip(b"\r")
            if not line or line.isspace():
                return None
        self._position += 1
        error = oversized_error(self._limit) if isinstance(line, OversizedLine) else None
        return SourceRecord(self._name, self._position, bytes(line), error=error)

    def last_items(self) -> Sequence[SourceRecord]:
        """Stops reading and returns the remaining records."""
        self.close()
        items, self._items, self._held = list(self._items), deque(), 0
        return items

    def backlog(self) -> int | None:
        """Returns the number of records read and not yet polled."""
        return len(self._items)

    def close(self) -> None:
        """Stops reading."""
        self._is_closed = True
        with self._changed:
            self._changed.notify()
        self._thread.join()
