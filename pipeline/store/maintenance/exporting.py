"""Writes a store, or an app of it, into a zip file of JSON Lines."""

import json
import os
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import IO
from zipfile import ZIP_DEFLATED, ZipFile

from sqlalchemy import Connection, Table, select

from turnwise.pipeline.store.engine import Store
from turnwise.pipeline.store.maintenance.tables import EXPORTED, rows_query
from turnwise.pipeline.store.migrations import stored_version
from turnwise.pipeline.store.tables import EVALUATIONS, EXECUTIONS
from turnwise.schemas.config import ConfigError

FORMAT = 2
MANIFEST = "manifest.json"
_IN_PIECES = {"yield_per": 500}


def export_store(store: Store, path: str, app: str) -> dict[str, int]:
    """Writes the rows as they are at one time; the file is there when it is whole.

    Args:
        store: The store.
        path: The file to write.
        app: The app; "": all.

    Returns:
        Table -> number of its rows.

    Raises:
        ConfigError: The file exists, or the store has no such app.
    """
    check_new(path)
    partial = Path(f"{path}.part")
    try:
        with ZipFile(partial, "w", ZIP_DEFLATED) as file:
            counts = store.read(lambda connection: _write(connection, file, app))
        keep(partial, path)
    finally:
        partial.unlink(missing_ok=True)
    return counts


def check_new(path: str) -> None:
    """Raises ConfigError if a file exists, or cannot be made because its directory does not."""
    if Path(path).exists():
        raise ConfigError(f"{path}: exists already")
    if not Path(path).absolute().parent.is_dir():
        raise ConfigError(f"{path}: no such directory")


def keep(partial: Path, path: str) -> None:
    """Gives a whole file its name; raises ConfigError if there is one of that name."""
    with open(partial, "rb") as file:
        os.fsync(file.fileno())
    try:
        os.link(partial, path)
    except FileExistsError:
        raise ConfigError(f"{path}: exists already") from None


def _write(connection: Connection, file: ZipFile, app: str) -> dict[str, int]:
    if app and not _has(connection, app):
        raise ConfigError(f"--app {app}: the store has nothing of it")
    counts, digests = {}, {}
    for table in EXPORTED:
        with file.open(f"{table.name}.jsonl", "w", force_zip64=True) as lines:
            counts[table.name], digests[table.name] = _write_rows(connection, lines, table, app)
    version = stored_version(connection)
    manifest = {"format": FORMAT, "store_version": version, "app": app, "rows": counts, "sha256": digests}
    file.writestr(MANIFEST, json.dumps(manifest, indent=2))
    return counts


def _has(connection: Connection, app: str) -> bool:
    queries = (select(table.c.name).where(table.c.app == app).limit(1) for table in (EVALUATIONS, EXECUTIONS))
    return any(connection.execute(query).first() for query in queries)


def _write_rows(connection: Connection, lines: IO[bytes], table: Table, app: str) -> tuple[int, str]:
    """Writes the rows of a table; returns their number and the SHA-256 of their lines."""
    count, digest = 0, sha256()
    for row in _rows(connection, table, app):
        line = json.dumps(row, ensure_ascii=False).encode() + b"\n"
        lines.write(line)
        digest.update(line)
        count += 1
    return count, digest.hexdigest()


def _rows(connection: Connection, table: Table, app: str) -> Iterator[dict[str, object]]:
    found = connection.execute(rows_query(table, app), execution_options=_IN_PIECES)
    for row in found.mappings():
        yield dict(row)
