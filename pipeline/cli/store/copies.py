"""The subcommand `backup`."""

from argparse import ArgumentParser, Namespace
from contextlib import closing

from turnwise.pipeline.cli.store.base import StoreCommand
from turnwise.pipeline.io.terminal import printable, say
from turnwise.schemas.config import ConfigError


def _add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the file to write; it must not exist")


def _run(options: Namespace) -> int:
    from turnwise.pipeline.store.copies import back_up
    from turnwise.pipeline.store.database import open_store
    from turnwise.schemas.jsonio import is_sqlite_url

    if not is_sqlite_url(options.store):
        raise ConfigError("backup: is for SQLite; copy PostgreSQL by pg_dump")
    with closing(open_store(options.store, read_only=True)) as store:
        size = back_up(store, options.file)
    say(printable(f"{options.file}: {size} bytes, sound"))
    return 0


BACKUP = StoreCommand("backup", "copy a SQLite store while others write", _add_arguments, _run)
