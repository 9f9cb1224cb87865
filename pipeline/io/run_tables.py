"""Finds the files of a run's tables: those that `run.json` names, or those that are there."""

import re
from collections.abc import Iterable, Mapping

from turnwise.pipeline.io.listing import FolderFile, join_path, list_files, open_path
from turnwise.pipeline.io.sinks.base import table_rows
from turnwise.schemas.config import ConfigError
from turnwise.schemas.rows import TABLES
from turnwise.schemas.run import RunDocument, RunFile

SHARD = re.compile(r"([a-z_]+?)(?:-(\d{5})(?:-of-(\d{5}))?)?\.([a-z0-9]+)")
"""The name of a file of a table: table, number, number of all, suffix."""
_AGAIN = "copy the directory again, or score the logs again"


def table_files(directory: str, document: RunDocument) -> dict[str, list[str]]:
    """Returns table -> paths of its files; raises ConfigError where files or rows are missing."""
    place = directory if document.folder == "." else join_path(directory, document.folder)
    try:
        listed = {file.name: file for file in list_files(place)}
    except OSError as error:
        raise ConfigError(f"{place}: {' '.join(str(error).split())}") from None
    if document.files is None:
        return _found_tables(place, listed, document.output_format)
    _check_named(directory, place, document.files, listed)
    for table, files in document.files.items():
        for name, stated in files.items():
            if listed[name].size != stated.bytes:
                _check_changed(join_path(place, name), table, document.output_format, stated)
    return {table: [join_path(place, name) for name in files] for table, files in document.files.items()}


def _check_named(
    directory: str,
    place: str,
    files: Mapping[str, Mapping[str, RunFile]],
    listed: Mapping[str, FolderFile],
) -> None:
    """Raises ConfigError unless every file that `run.json` names is there."""
    names = [name for own in files.values() for name in own]
    missing = [name for name in names if name not in listed]
    if missing:
        raise ConfigError(
            f"{directory}: {len(missing)} of {len(names)} files that run.json names are missing, such as "
            f"{join_path(place, missing[0])}; {_AGAIN}"
        )


def _found_tables(directory: str, names: Iterable[str], suffix: str) -> dict[str, list[str]]:
    """Returns the paths of every table, where `run.json` does not name them.

    The files of a batch state how many there are (`scores-00000-of-00002`). Those of a stream do not, and
    their numbers have gaps: a file that was rewritten without replaced rows got the next number.

    Raises:
        ConfigError: Files of a batch are missing.
    """
    shards: dict[str, dict[int, str]] = {}
    totals: dict[str, set[int]] = {}
    for name in names:
        match = SHARD.fullmatch(name)
        if match is None or match[4] != suffix:
            continue
        table, number, total = match[1], int(match[2] or 0), match[3]
        shards.setdefault(table, {})[number] = name
        totals.setdefault(table, set()).add(int(total) if total else 0)
    if any(map(any, totals.values())):
        for table, numbers in shards.items():
            _check_complete(directory, table, numbers, totals[table])
    return {
        table: [join_path(directory, numbers[i]) for i in sorted(numbers)]
        for table, numbers in shards.items()
    }


def _check_complete(directory: str, table: str, numbers: Mapping[int, str], totals: set[int]) -> None:
    total = max(totals) or max(numbers) + 1
    missing = total - len(numbers)
    if len(totals) > 1 or missing:
        what = f"{missing} of {total} files of {table} are missing" if missing else f"{table} is of two runs"
        raise ConfigError(f"{directory}: {what}")


def _check_changed(path: str, table: str, output_format: str, stated: RunFile) -> None:
    """Counts the rows of a file of another size than `run.json` states.

    Raises:
        ConfigError: It cannot be read, has another number of rows, or is no table.
    """
    if table not in TABLES:
        raise ConfigError(f"{path}: has not the {stated.bytes} bytes that run.json states; {_AGAIN}")
    try:
        with open_path(path) as file:
            number = sum(1 for _ in table_rows(file, table, output_format))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {' '.join(str(error).split())}") from None
    if number != stated.rows:
        raise ConfigError(f"{path}: holds {number} rows, and run.json counts {stated.rows}; {_AGAIN}")
