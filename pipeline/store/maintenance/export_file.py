"""Reads the file of an export."""

import json
from collections.abc import Iterator
from hashlib import sha256
from typing import Any
from zipfile import BadZipFile, ZipFile
from zlib import error as ZlibError

from sqlalchemy import Table

from turnwise.pipeline.store.maintenance.exporting import FORMAT, MANIFEST
from turnwise.pipeline.store.maintenance.tables import EXPORTED
from turnwise.pipeline.store.migrations import MIGRATIONS
from turnwise.schemas.config import ConfigError
from turnwise.schemas.values import JsonObject

# RuntimeError: an encrypted or unknown entry of a zip file, or JSON that is too deep.
_DAMAGED = (BadZipFile, KeyError, ValueError, TypeError, RuntimeError, OSError, ZlibError, EOFError)


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
            manifest = self._manifest()
            for table in EXPORTED:
                self._check_rows(table, manifest["rows"][table.name], manifest["sha256"][table.name])
        except _DAMAGED as error:
            said = " ".join(str(error).split()) or type(error).__name__
            raise ConfigError(f"{path}: is no export of a store, or is damaged: {said}") from None

    def _manifest(self) -> JsonObject:
        manifest: JsonObject = json.loads(self._file.read(MANIFEST))
        version = manifest["store_version"]
        if manifest["format"] != FORMAT or version != len(MIGRATIONS):
            raise ConfigError(
                f"{self._path}: was written by a store of version {version}, this turnwise has "
                f"{len(MIGRATIONS)}: import it with the turnwise that wrote it, then upgrade that store"
            )
        return manifest

    def _check_rows(self, table: Table, wanted: int, digest: str) -> None:
        columns = {column.name for column in table.c}
        count, found = 0, sha256()
        for line, row in self._lines(table):
            found.update(line)
            count += 1
            if row.keys() != columns:
                raise ValueError(f"{table.name}.jsonl: line {count} has other columns than the table")
        if count != wanted:
            raise ValueError(f"{table.name}.jsonl holds {count} rows, not {wanted}")
        if found.hexdigest() != digest:
            raise ValueError(f"{table.name}.jsonl was changed since the export")

    def rows_of(self, table: Table) -> Iterator[JsonObject]:
        """Yields the rows of a table; raises ValueError if one is no object."""
        for _, row in self._lines(table):
            yield row

    def _lines(self, table: Table) -> Iterator[tuple[bytes, JsonObject]]:
        with self._file.open(f"{table.name}.jsonl") as lines:
            for number, line in enumerate(lines, 1):
                row: Any = json.loads(line)
                if not isinstance(row, dict):
                    raise ValueError(f"{table.name}.jsonl: line {number} is no object")
                yield line, row

    def close(self) -> None:
        """Closes the file."""
        self._file.close()
