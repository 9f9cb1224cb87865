"""Finds the files that are watched."""

import glob
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from apache_beam.io.filesystems import FileSystems

from pipeline.records import OTHER_SUFFIXES, SUFFIXES
from schemas.config import ConfigError

_UNFINISHED = (".tmp", ".part", ".partial", ".swp", "~")


class Found(NamedTuple):
    """A file that was seen."""

    path: str
    stat: os.stat_result


def check_paths(paths: Sequence[str]) -> None:
    """Raises ConfigError for a path that nothing can come from."""
    for path in paths:
        if "://" in path:
            raise ConfigError(
                f"--input {path}: a stream in this process watches local files; name a --runner"
            )
        if not path.strip():
            raise ConfigError("--input: an empty path")
        if not glob.has_magic(path) and not Path(path).exists():
            raise ConfigError(f"--input {path}: no such file or directory")
        if Path(path).suffix.lower() in OTHER_SUFFIXES and not Path(path).is_dir():
            raise ConfigError(f"--input {path}: is none of {', '.join(SUFFIXES)}")


def find_files(paths: Sequence[str]) -> list[Found]:
    """Returns the files of paths (files, directories, globs), by name; not the hidden and unfinished ones."""
    found = {seen.path: seen for path in paths for seen in _files_of(path)}
    return [found[path] for path in sorted(found)]


def _files_of(path: str) -> Iterator[Found]:
    try:
        if os.path.isdir(path):
            yield from _walk(path)
        elif os.path.isfile(path):
            yield Found(path, os.stat(path))
        elif glob.has_magic(path):
            yield from _matches(path)
    except OSError:
        return


def _walk(directory: str) -> Iterator[Found]:
    with os.scandir(directory) as entries:
        for entry in entries:
            try:
                if entry.name.startswith("."):
                    continue
                if entry.name.endswith(SUFFIXES):
                    if entry.is_file():
                        yield Found(entry.path, entry.stat())
                elif entry.is_dir():
                    yield from _walk(entry.path)
            except OSError:
                continue


def _matches(pattern: str) -> Iterator[Found]:
    for found in FileSystems.match([pattern])[0].metadata_list:
        name = os.path.basename(found.path)
        if not name.startswith(".") and not name.endswith(_UNFINISHED):
            try:
                yield Found(found.path, os.stat(found.path))
            except OSError:
                continue
