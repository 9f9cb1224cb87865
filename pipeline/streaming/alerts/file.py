"""Appends alerts to a JSON Lines file, each name once."""

import json
import os
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import asdict

from turnwise.schemas.config import Alert
from turnwise.schemas.jsonio import dump_json


class AlertFile:
    """An append-only JSON Lines file of alerts. An incomplete last line is ignored."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._names: set[str] | None = None

    def missing(self, alerts: Sequence[Alert]) -> list[Alert]:
        """Returns the alerts that are not in the file, each name once.

        Raises:
            OSError: The file cannot be read.
        """
        if self._names is None:
            self._names = self._read_names()
        new = {alert.name: alert for alert in reversed(alerts) if alert.name not in self._names}
        return list(reversed(new.values()))

    def append(self, alerts: Sequence[Alert]) -> None:
        """Appends alerts and syncs the file to disk.

        Raises:
            OSError: The file cannot be written.
        """
        if not alerts:
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        lines = [dump_json(asdict(alert)) + b"\n" for alert in alerts]
        with self._path.open("a+b") as file:
            end = file.seek(0, os.SEEK_END)
            if end:
                file.seek(end - 1)
                if file.read(1) != b"\n":
                    file.write(b"\n")
            file.write(b"".join(lines))
            file.flush()
            os.fsync(file.fileno())
        if self._names is not None:
            self._names.update(alert.name for alert in alerts)

    def _read_names(self) -> set[str]:
        try:
            with self._path.open("rb") as file:
                return {name for line in file if (name := _name(line)) is not None}
        except FileNotFoundError:
            return set()


def _name(line: bytes) -> str | None:
    try:
        row = json.loads(line)
    except ValueError:
        return None
    name = row.get("name") if isinstance(row, dict) else None
    return name if isinstance(name, str) else None
