"""Base class of watched files, and the labels that name them as sources."""

import json
from os import stat_result
from typing import Any

from turnwise.pipeline.streaming.inputs.base import Checkpoints, SourceRecord

QUIET_SECONDS = 1.0
GIVEN_UP_SECONDS = 10.0


def may_be_complete(text: bytes) -> bool:
    """Returns whether a text is a complete JSON object or array, or nested too deeply to check."""
    try:
        return isinstance(json.loads(text), dict | list)
    except RecursionError:
        return True
    except ValueError:
        return False


class Labels:
    """Assigns names to files as sources: the path, or `path (2)` for the second file at that path.

    The identity of a file is its inode with its first line, or with its size and time.
    """

    def __init__(self, checkpoints: Checkpoints) -> None:
        self.checkpoints = checkpoints

    def facts(self, identity: str) -> dict[str, Any]:
        """Returns the saved progress of a file, with its `label`; empty if there is none."""
        facts: dict[str, Any] = json.loads(self.checkpoints.note(identity) or "{}")
        return facts

    def save(self, identity: str, **facts: Any) -> None:
        """Saves the progress of a file."""
        self.checkpoints.set_note(identity, json.dumps(facts))

    def new(self, path: str) -> str:
        """Returns an unused label."""
        key = f"files at {path}"
        number = int(self.checkpoints.note(key) or 0) + 1
        self.checkpoints.set_note(key, str(number))
        return path if number == 1 else f"{path} ({number})"


class WatchedFile:
    """A watched file.

    Attributes:
        path: The last known path.
        size: Bytes.
        changed_at: Time of the last change, seconds since the epoch.
        source: Label; empty until the file is identified.
    """

    def __init__(self, labels: Labels, limit: int) -> None:
        self._labels, self._limit = labels, limit
        self.path, self.source = "", ""
        self.size, self._inode, self._mtime_ns = -1, 0, 0
        self.changed_at = 0.0

    def observe(self, path: str, stat: stat_result, now: float) -> bool:
        """Records size and time of the file; returns whether it changed."""
        self.path = path
        if (stat.st_size, stat.st_mtime_ns) == (self.size, self._mtime_ns):
            return False
        self.changed_at = min(now, stat.st_mtime) if self.size < 0 else now
        self.size, self._inode, self._mtime_ns = stat.st_size, stat.st_ino, stat.st_mtime_ns
        return True

    def is_quiet(self, now: float, seconds: float = QUIET_SECONDS) -> bool:
        """Returns whether the file has been unchanged for `seconds`."""
        return now - self.changed_at >= seconds

    def is_readable(self, now: float) -> bool:
        """Returns whether there is something to read."""
        raise NotImplementedError

    def read(self, limit: int, now: float) -> tuple[list[SourceRecord], int]:
        """Returns at most `limit` items and the number of bytes read; raises OSError."""
        raise NotImplementedError

    def last_items(self, now: float) -> list[SourceRecord]:
        """Returns the remaining records; incomplete JSON is left for the next process."""
        raise NotImplementedError

    def unfinished(self) -> str:
        """Returns a one-line description of a text that breaks off; empty if there is none."""
        raise NotImplementedError

    @property
    def backlog(self) -> int:
        """Bytes not yet read."""
        raise NotImplementedError

    def close(self) -> None:
        """Closes the file."""
