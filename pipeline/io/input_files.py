"""Lists the input files of a run, with their sizes and times of change."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from turnwise.pipeline.io.files import file_patterns, remote_files
from turnwise.pipeline.io.walking import Unreadable, files_at
from turnwise.pipeline.settings.options import is_bigquery
from turnwise.schemas.jsonio import is_local, is_store_url
from turnwise.schemas.run import InputFile, InputFiles, input_files


def list_inputs(paths: Sequence[str], option: str = "--input") -> InputFiles | None:
    """Returns the files and tables that an option names, as they are now; None: there are others.

    Raises:
        ConfigError: A path does not exist, or cannot be read.
        OSError: A filesystem does not answer.
    """
    tables = [_table_state(path) for path in paths if is_bigquery(path)]
    if None in tables or any(map(is_store_url, paths)):
        return None
    patterns = file_patterns(option, [path for path in paths if not is_bigquery(path)])
    remote = [pattern for pattern in patterns if not is_local(pattern)]
    return input_files(
        [*_local(patterns), *_remote(remote), *(one for table in tables for one in table or ())]
    )


def _table_state(path: str) -> list[InputFile] | None:
    from turnwise.pipeline.io.bigquery.changes import table_state

    return table_state(path)


def _local(patterns: Sequence[str]) -> Iterator[InputFile]:
    for pattern in patterns:
        for seen in files_at(pattern) if is_local(pattern) else ():
            if not isinstance(seen, Unreadable):
                yield InputFile(seen.path, seen.stat.st_size, _time(seen.stat.st_mtime))


def _remote(patterns: Sequence[str]) -> Iterator[InputFile]:
    for file in remote_files(patterns):
        yield InputFile(file.path, file.size_in_bytes, _time(file.last_updated_in_seconds))


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds")


def names_nothing(path: str) -> bool:
    """Returns whether a local path or glob names no file."""
    return is_local(path) and next(files_at(path), None) is None
