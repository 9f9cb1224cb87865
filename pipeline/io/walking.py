"""Finds local files and reports unreadable ones."""

import os
import re
import stat
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple, TypeAlias

from turnwise.pipeline.io.records import OTHER_SUFFIXES, SUFFIXES
from turnwise.schemas.config import ConfigError
from turnwise.schemas.jsonio import is_local
from turnwise.transforms.text.cleaning import path_glob_matches

_KINDS = {
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFDIR: "a directory",
}
_FILES = (*SUFFIXES, *OTHER_SUFFIXES)


class FoundFile(NamedTuple):
    """A regular file; links are followed."""

    path: str
    stat: os.stat_result


class Unreadable(NamedTuple):
    """A file or directory that cannot be read."""

    path: str
    error: Exception


Seen: TypeAlias = FoundFile | Unreadable


def walk(directory: str, is_wanted: Callable[[str], bool], enters: Callable[[str], bool]) -> Iterator[Seen]:
    """Yields the files below a directory. Visits each directory once, even if several links lead to it.

    Args:
        directory: Where to start.
        is_wanted: Returns by its path whether a file is yielded.
        enters: Returns by its path whether a directory is visited.
    """
    waiting, visited = deque([directory]), set[tuple[int, int]]()
    while waiting:
        place = waiting.popleft()
        try:
            entries = _entries(place, visited)
        except FileNotFoundError:
            continue
        except OSError as error:
            yield Unreadable(place, error)
            continue
        for entry in entries:
            if not _is_directory(entry):
                if is_wanted(entry.path) or (_is_broken(entry) and enters(entry.path)):
                    yield from look_at(entry.path)
            elif enters(entry.path):
                # Links last: a directory is found under its own path before a link to it.
                (waiting.append if entry.is_symlink() else waiting.appendleft)(entry.path)


def _entries(directory: str, visited: set[tuple[int, int]]) -> list["os.DirEntry[str]"]:
    about = os.stat(directory)
    identity = (about.st_dev, about.st_ino)
    if identity in visited:
        return []
    visited.add(identity)
    with os.scandir(directory) as entries:
        return list(entries)


def _is_directory(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _is_broken(entry: "os.DirEntry[str]") -> bool:
    """Returns whether an entry is a broken link that may have led to a directory."""
    return entry.is_symlink() and not entry.name.endswith(_FILES) and not os.path.exists(entry.path)


def look_at(path: str) -> Iterator[Seen]:
    """Yields a file, or why it cannot be read; nothing if it does not exist."""
    try:
        about = os.stat(path)
    except FileNotFoundError:
        if os.path.islink(path):
            yield Unreadable(path, FileNotFoundError("is a link to a path that does not exist"))
        return
    except OSError as error:
        yield Unreadable(path, error)
        return
    problem = other_kind(about) or name_problem(path)
    yield Unreadable(path, ValueError(problem)) if problem else FoundFile(path, about)


def other_kind(about: os.stat_result) -> str | None:
    """Returns the problem of a path that is no regular file; None if it is one."""
    if stat.S_ISREG(about.st_mode):
        return None
    return f"is {_KINDS.get(stat.S_IFMT(about.st_mode), 'no file')}; only regular files are read"


def name_problem(path: str) -> str | None:
    """Returns the problem of a path that is not UTF-8; None if there is none."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return "the path is not UTF-8; rename it"
    return None


def shown_path(path: str) -> str:
    r"""Returns a path as UTF-8 text; other bytes are escaped as `\xNN`."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def files_at(path: str) -> Iterator[Seen]:
    """Yields the files of a local path: a directory (supported suffixes only), a file, or a glob."""
    if os.path.isdir(path):
        return walk(path, lambda name: name.endswith(SUFFIXES), lambda _: True)
    return look_at(path) if os.path.lexists(path) else matches(path)


def _is_other(path: str) -> bool:
    return not path.endswith(SUFFIXES) and not os.path.basename(path).startswith(".")


def other_files(paths: Sequence[str]) -> list[str]:
    """Returns the files of local directories that are not read because of their names, as shown.

    Files that another one of the paths names are left out: they are read. So are hidden files.
    """
    local = [path for path in paths if is_local(path)]
    named = (seen for path in local if not os.path.isdir(path) for seen in files_at(path))
    read = {os.path.realpath(seen.path) for seen in named}
    others = (
        seen.path
        for path in local
        if os.path.isdir(path)
        for seen in walk(path, _is_other, lambda _: True)
        if isinstance(seen, FoundFile) and os.path.realpath(seen.path) not in read
    )
    return sorted(set(map(shown_path, others)))


def matches(pattern: str) -> Iterator[Seen]:
    """Yields the files that a glob matches: `*` within a name, `**` over any number of directories.

    Raises:
        ConfigError: The glob has a wrong range of characters; one line.
    """
    root = glob_root(pattern)
    prefix = "" if root else f"{os.curdir}{os.sep}"
    pattern = prefix + pattern
    try:
        path_glob_matches(pattern, "")
    except ValueError as error:
        raise ConfigError(str(error)) from None
    for seen in walk(
        root or os.curdir, partial(path_glob_matches, pattern), lambda path: _may_hold(pattern, path)
    ):
        yield seen._replace(path=seen.path.removeprefix(prefix))


def glob_root(pattern: str) -> str:
    """Returns the directory below which a glob can match; empty for the current one."""
    fixed = re.match(r"[^[*?]*", pattern)
    return os.path.dirname(fixed.group(0)) if fixed else ""


def _may_hold(pattern: str, directory: str) -> bool:
    """Returns whether a glob can match a file below a directory."""
    parts, depth = pattern.split(os.sep), directory.count(os.sep) + 1
    start = parts[:depth]
    if any("**" in part for part in start):
        return True
    return depth < len(parts) and path_glob_matches(os.sep.join(start), directory)
