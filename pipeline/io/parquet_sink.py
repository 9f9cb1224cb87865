"""A dataset of Parquet files in hive partitions, in which a run replaces its own files."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from apache_beam.io.filesystems import FileSystems

from turnwise.pipeline.io.run_writer import publish
from turnwise.pipeline.io.staging import (
    VERSION,
    StagedRows,
    check_folder,
    lost_rows,
    make_folder,
    matching,
    partition,
    remove_earlier,
    run_stem,
    staging_directory,
    staging_folder,
)
from turnwise.pipeline.settings.options import SinkPlace
from turnwise.schemas.config import ConfigError
from turnwise.schemas.jsonio import is_local
from turnwise.schemas.rows import DATE, WAREHOUSE_TABLES


def prepare_dataset(sink_place: SinkPlace) -> None:
    """Makes the folder in which rows of a run are staged; raises ConfigError if it cannot be written."""
    try:
        make_folder(staging_folder(sink_place))
    except Exception as error:  # Beam's file systems raise errors of many libraries.
        raise ConfigError(
            f"--store {sink_place.url}: cannot be written: {' '.join(str(error).split())}"
        ) from None


def complete_dataset(sink_place: SinkPlace, staged: Sequence[StagedRows]) -> list[str]:
    """Puts the files of a run into their partitions, in place of those of an earlier run with the same id.

    It can be repeated after an error: files that are in their place stay there. Returns what was not written,
    one line each; raises OSError if files could not be written or removed.
    """
    directory = staging_directory(sink_place)
    try:
        for part in staged:
            if part.path:
                check_folder(part.path)
        for table in WAREHOUSE_TABLES:
            _replace(
                directory, table, sink_place, [part for part in staged if part.table == table and part.path]
            )
    except OSError as error:
        rows = sum(part.rows for part in staged)
        text = " ".join(str(error).split())
        raise OSError(f"--store {sink_place.url}: not all of {rows} rows were written: {text}") from None
    finally:
        remove_earlier(sink_place)
    return lost_rows(sink_place, staged)


def _replace(directory: str, table: str, sink_place: SinkPlace, staged: Sequence[StagedRows]) -> None:
    names = dict(_final_names(table, sink_place, staged))
    new = {FileSystems.join(directory, name): path for path, name in names.items()}
    if is_local(directory):
        for file in new:
            Path(file).parent.mkdir(parents=True, exist_ok=True)
    # In all partitions of the table: the day of an earlier run with this id may have been another one.
    of_run = re.compile(re.escape(run_stem(sink_place.run_id)) + r"\.\d{5}\.parquet")
    paths = matching(FileSystems.join(directory, table, "*", "*", f"{run_stem(sink_place.run_id)}.*.parquet"))
    old = {path for path in paths if of_run.fullmatch(path.rpartition("/")[2])}
    arrived = {file for file, path in new.items() if file in old and not FileSystems.exists(path)}
    stale = old - arrived - _replaceable(old, set(new))
    if stale:
        FileSystems.delete(sorted(stale))
    publish(directory, list(names.items()))


def _final_names(
    table: str, sink_place: SinkPlace, staged: Sequence[StagedRows]
) -> Iterator[tuple[str, str]]:
    """Yields path and final name of every file."""
    numbers = Counter[str]()
    for part in sorted(staged, key=lambda part: part.path):
        folder = f"{table}/{partition(DATE.name, sink_place.date)}/{partition(VERSION, part.version)}"
        yield part.path, f"{folder}/{run_stem(sink_place.run_id)}.{numbers[folder]:05}.parquet"
        numbers[folder] += 1


def _replaceable(old: set[str], new: set[str]) -> set[str]:
    """Returns the files that one rename replaces: those that are alone in their partition, before and after.

    Of several files a reader would see old and new ones at once.
    """
    counted = Counter(file.rpartition("/")[0] for files in (old, new) for file in files)
    return {file for file in old & new if counted[file.rpartition("/")[0]] == 2}
