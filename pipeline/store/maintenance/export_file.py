"""Reads the file of an export."""

import json
from collections.abc import Iterator
from typing import Any
from zipfile import BadZipFile, ZipFile
from zlib import error as ZlibError

from sqlalchemy import Table

from turnwise.pipeline.store.maintenance.exporting import FORMAT, MANIFEST
from turnwise.pipeline.store.maintenance.tables import EXPORTED
from turnwise.pipeline.store.migrations import MIGRATIONS
from turnwise.schemas.config import ConfigError
from turnwise.schemas.values import JsonObject


class ExportFile:
    """A file that `export_store` wrote."""

    def __init__(self, path: str) -> None:
        """Opens the file and reads all of it once, so that nothing of a damaged one is imported.

        Raises:
            ConfigError: It is no export, is damaged, or is of another version.
        """
        self._path = path
        try:
            self._file = ZipFile(path)
            self.rows = self._manifest()
            for table in EXPORTED:
                self._check_rows(table)
        except (BadZipFile, KeyError, ValueError, TypeError, OSError, ZlibError, EOFError) as error:
            said = " ".join(str(error).split()) or type(error).__name__
            raise ConfigError(f"{path}: is no export of a store, or is damaged: {said}") from None

    def _manifest(self) -> dict[str, int]:
        manifest = json.loads(self._file.read(MANIFEST))
        version = manifest["store_version"]
        if manifest["format"] != FORMAT or version != len(MIGRATIONS):
            raise ConfigError(
                f"{self._path}: was written by a store of version {version}, this turnwise has "
                f"{len(MIGRATIONS)}: import it with the turnwise that wrote it, then upgrade that store"
            )
        return {str(name): int(count) for name, count in manifest["rows"].items()}

    def _check_rows(self, table: Table) -> None:
        columns = {column.name for column in table.c}
        count = 0
        for row in self.rows_of(table):
            if row.keys() != columns:
                raise ValueError(f"{table.name}.jsonl: line {count + 1} has other columns than the table")
            count += 1
        if count != self.rows[table.name]:
            raise ValueError(f"{table.name}.jsonl holds {count} rows, not {self.rows[table.name]}")

    def rows_of(self, table: Table) -> Iterator[JsonObject]:
        """Yields the rows of a table; raises ValueError if one is no object."""
        with self._file.open(f"{table.name}.jsonl") as lines:
            for line in lines:
                row: Any = json.loads(line)
                if not isinstance(row, dict):
                    raise ValueError(f"{table.name}.jsonl: a row is no object")
                yield row

    def close(self) -> None:
        """Closes the file."""
        self._file.close()
