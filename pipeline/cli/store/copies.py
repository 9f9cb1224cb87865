"""The subcommands `export`, `import` and `backup`."""

from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from time import time_ns

from turnwise.pipeline.cli.store.base import StoreCommand
from turnwise.pipeline.cli.store.overwriting import overwritten
from turnwise.pipeline.io.terminal import complain, printable, say
from turnwise.pipeline.settings.user import current_user
from turnwise.schemas.config import ConfigError


def _add_new_file(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the file to write; it must not exist")


def _add_export_arguments(parser: ArgumentParser) -> None:
    _add_new_file(parser)
    parser.add_argument(
        "--app",
        default="",
        metavar="NAME",
        help="only this app (projects/P/locations/L/apps/A)",
    )


def _add_import_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a file that export wrote")


def _export(options: Namespace) -> int:
    from turnwise.pipeline.store.engine import open_store
    from turnwise.pipeline.store.maintenance.exporting import export_store

    with closing(open_store(options.store, read_only=True)) as store:
        counts = export_store(store, options.file, options.app)
    say(printable(f"{options.file}: {_counts_text(counts)}"))
    return 0


def _import(options: Namespace) -> int:
    from turnwise.pipeline.store.engine import open_store
    from turnwise.pipeline.store.maintenance.enforcing import enforce_erasures
    from turnwise.pipeline.store.maintenance.export_file import ExportFile
    from turnwise.pipeline.store.maintenance.importing import import_store
    from turnwise.pipeline.store.tables import FAILURE_ROWS

    with closing(ExportFile(options.file)) as file, closing(open_store(options.store, create=True)) as store:
        done = import_store(store, file)
        enforced = enforce_erasures(store, current_user(), time_ns())
        erased = +(enforced.rows + Counter({FAILURE_ROWS.name: done.emptied_here}))
        left = enforced.left + (overwritten(store) if erased else [])
    say(printable(f"{options.file}: {_counts_text(done.rows)}"))
    if erased:
        say(f"erased, as the export or the store says: {_counts_text(erased)}")
    if done.left_out or done.emptied:
        complain(f"{done.left_out} rows are left out and {done.emptied} emptied: what they are of was erased")
    for line in left:
        complain(printable(f"left: {line}"))
    return 1 if done.left_out or done.emptied or left else 0


def _backup(options: Namespace) -> int:
    from turnwise.pipeline.store.engine import open_store
    from turnwise.pipeline.store.maintenance.backup import back_up
    from turnwise.pipeline.store.urls import is_sqlite_url

    if not is_sqlite_url(options.store):
        raise ConfigError("backup: is for SQLite; copy PostgreSQL by pg_dump, or by turnwise store export")
    with closing(open_store(options.store, read_only=True)) as store:
        size = back_up(store, options.file)
    say(printable(f"{options.file}: {size} bytes, sound"))
    return 0


def _counts_text(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{table} {number}" for table, number in counts.items())


EXPORT = StoreCommand("export", "write a store into a zip file", _add_export_arguments, _export)
IMPORT = StoreCommand(
    "import",
    "read an export into a store",
    _add_import_arguments,
    _import,
    "Exit status: 0, all of it is in the store; 1, something was erased and left out, or may quote that.",
)
BACKUP = StoreCommand("backup", "copy a SQLite store while others write", _add_new_file, _backup)
