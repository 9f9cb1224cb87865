"""What is known of a watched file, and the label that tells its records from those of other files."""

import json
from os import stat_result
from typing import Any

from turnwise.pipeline.streaming.inputs.source import Checkpoints, SourceRecord

QUIET_SECONDS = 1.0
GIVEN_UP_SECONDS = 10.0


def may_be_complete(text: bytes) -> bool:
    """Tells whether a text is a whole JSON object or array; one that is too deep to tell counts as whole."""
    try:
        return isinstance(json.loads(text), dict | list)
    except RecursionError:
        return True
    except ValueError:
        return False


class Labels:
    """Names of the sources of files: the path, or `path (2)` of the second file that is found there.

    What a file is known by is its identity: its inode and what it starts with, or its size and time.
    """

    def __init__(self, checkpoints: Checkpoints) -> None:
        self.checkpoints = checkpoints

    def facts(self, identity: str) -> dict[str, Any]:
        """Returns what is known of a file, with its `label`; empty: nothing."""
        facts: dict[str, Any] = json.loads(self.checkpoints.note(identity) or "{}")
        return facts

    def save(self, identity: str, **facts: Any) -> None:
        """Keeps what is known of a file."""
        self.checkpoints.set_note(identity, json.dumps(facts))

    def new(self, path: str) -> str:
        """Returns a label that no file has had."""
        key = f"files at {path}"
        number = int(self.checkpoints.note(key) or 0) + 1
        self.checkpoints.set_note(key, str(number))
        return path if number == 1 else f"{path} ({number})"


class WatchedFile:
    """A file, as it looked last.

    Attributes:
        path: Where it was seen last.
        size: In bytes.
        changed_at: When it changed last, seconds since the epoch.
        source: Its label; empty: not known yet.
    """

    def __init__(self, labels: Labels, limit: int) -> None:
        self._labels, self._limit = labels, limit
        self.path, self.source = "", ""
        self.size, self._inode, self._mtime_ns = -1, 0, 0
        self.changed_at = 0.0

    def observe(self, path: str, stat: stat_result, now: float) -> bool:
        """Takes note of how the file looks; tells whether it changed."""
        self.path = path
        if (stat.st_size, stat.st_mtime_ns) == (self.size, self._mtime_ns):
            return False
        self.changed_at = min(now, stat.st_mtime) if self.size < 0 else now
        self.size, self._inode, self._mtime_ns = stat.st_size, stat.st_ino, stat.st_mtime_ns
        return True

    def is_quiet(self, now: float, seconds: float = QUIET_SECONDS) -> bool:
        """Tells whether the file has not changed for so many seconds."""
        return now - self.changed_at >= seconds

    def wants(self, now: float) -> bool:
        """Tells whether there is something to read."""
        raise NotImplementedError

    def read(self, limit: int, now: float) -> tuple[list[SourceRecord], int]:
        """Returns at most `limit` items, and how many bytes were read for them; raises OSError."""
        raise NotImplementedError

    def last_items(self, now: float) -> list[SourceRecord]:
        """Returns what was held back; what was just written and is no JSON is left for the next process."""
        raise NotImplementedError

    def unfinished(self) -> str:
        """Returns which part of the text breaks off, in one line; empty: none."""
        raise NotImplementedError

    @property
    def backlog(self) -> int:
        """Bytes that wait."""
        raise NotImplementedError

    def close(self) -> None:
        """Closes the file."""
