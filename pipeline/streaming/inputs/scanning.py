"""Finds the files of watched paths."""

import glob
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from turnwise.pipeline.io.files import Seen, check_file, glob_root, look_at, matches, name_problem, walk
from turnwise.pipeline.io.records import SUFFIXES
from turnwise.schemas.config import ConfigError
from turnwise.schemas.jsonio import is_local

_UNFINISHED = (".tmp", ".part", ".partial", ".swp", "~")


def check_paths(paths: Sequence[str]) -> None:
    """Raises ConfigError for a path that cannot be watched."""
    for path in paths:
        if not is_local(path):
            raise ConfigError(
                f"--input {path}: a stream in this process reads local files only; name a --runner"
            )
        if not path.strip():
            raise ConfigError("--input: an empty path")
        if problem := name_problem(path):
            raise ConfigError(f"--input {path}: {problem}")
        if not glob.has_magic(path) and not Path(path).exists():
            raise ConfigError(f"--input {path}: no such file or directory")
        if os.path.lexists(path) and not os.path.isdir(path):
            _check_file(path)


def _check_file(path: str) -> None:
    try:
        check_file(path)
    except OSError:
        # An unreadable file may become readable; until then it is a failure of the stream.
        return
    except ValueError as error:
        raise ConfigError(f"--input {path}: {error}") from None


def find_files(paths: Sequence[str]) -> list[Seen]:
    """Returns the files of paths (files, directories, globs) by name, without hidden and partial files."""
    found = {seen.path: seen for path in paths for seen in _files_of(path)}
    return [found[path] for path in sorted(found)]


def root_of(path: str) -> str:
    """Returns the directory to watch for a path: the path itself, or the fixed start of a glob."""
    return (glob_root(path) or os.curdir) if glob.has_magic(path) and not os.path.lexists(path) else path


def _files_of(path: str) -> Iterator[Seen]:
    if os.path.isdir(path):
        yield from walk(path, _is_record_file, _is_visible)
    elif os.path.lexists(path):
        yield from look_at(path)
    elif glob.has_magic(path):
        yield from (seen for seen in matches(path) if _is_finished(seen.path))


def _is_record_file(path: str) -> bool:
    return path.endswith(SUFFIXES) and _is_visible(path)


def _is_visible(path: str) -> bool:
    return not os.path.basename(path).startswith(".")


def _is_finished(path: str) -> bool:
    return _is_visible(path) and not path.endswith(_UNFINISHED)
