"""Lists and opens the files of an output directory. Local paths need no Beam; others use its filesystems."""

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from turnwise.pipeline.settings.extras import check_google
from turnwise.schemas.jsonio import is_local

RUN_FOLDER = re.compile(r"run-(\d{8}T\d{6}Z)-[0-9a-f]{8}")
"""The name of the folder that holds the tables of one execution of a run, with its start."""
_ANY_RUN_FOLDER = "run-*"
_BUFFER = 1 << 18


class FolderFile(NamedTuple):
    """A file in a folder.

    Attributes:
        name: Its name without the folder.
        size: Bytes.
        changed: When it was last changed, in seconds since 1970; 0: unknown.
    """

    name: str
    size: int
    changed: float


def join_path(directory: str, name: str) -> str:
    """Returns the path of a file in a directory."""
    return f"{directory.rstrip('/')}/{name}" if directory.strip("/") else f"/{name}"


def list_files(directory: str) -> list[FolderFile]:
    """Returns the files in a directory, without those in folders of it; none if it does not exist.

    Raises:
        OSError: It cannot be listed.
    """
    if is_local(directory):
        return list(_local_files(Path(directory)))
    return [file for _, file in _matched(directory, "*")]


def list_run_folders(directory: str) -> dict[str, list[FolderFile]]:
    """Returns the folders of runs in a directory, finished or not, with their files.

    Raises:
        OSError: It cannot be listed.
    """
    found: dict[str, list[FolderFile]] = {}
    if is_local(directory):
        for path in Path(directory).glob(_ANY_RUN_FOLDER):
            if path.is_dir() and not path.is_symlink():
                found[path.name] = list(_local_files(path))
    else:
        for path_of_file, file in _matched(directory, f"{_ANY_RUN_FOLDER}/*"):
            found.setdefault(path_of_file.split("/")[-2], []).append(file)
    return {name: files for name, files in found.items() if RUN_FOLDER.fullmatch(name)}


def _local_files(directory: Path) -> Iterator[FolderFile]:
    if not directory.exists():
        return
    for path in directory.iterdir():
        try:
            stated = path.stat()
        except OSError:  # it was removed, or is a link to nowhere
            continue
        if path.is_file():
            yield FolderFile(path.name, stated.st_size, stated.st_mtime)


def _matched(directory: str, pattern: str) -> Iterator[tuple[str, FolderFile]]:
    from apache_beam.io.filesystems import FileSystems

    check_google(directory, directory)
    (found,) = FileSystems.match([join_path(directory, pattern)])
    for file in found.metadata_list:
        name = file.path.rsplit("/", 1)[-1]
        yield file.path, FolderFile(name, file.size_in_bytes, file.last_updated_in_seconds or 0.0)


def path_exists(path: str) -> bool:
    """Returns whether there is a file; raises OSError if that cannot be found out."""
    if is_local(path):
        return Path(path).exists()
    from apache_beam.io.filesystems import FileSystems

    check_google(path, path)
    with _os_errors():
        return bool(FileSystems.exists(path))


def open_path(path: str) -> BinaryIO:
    """Opens a file for reading; raises OSError."""
    if is_local(path):
        return open(path, "rb")
    from apache_beam.io.filesystems import FileSystems

    check_google(path, path)
    with _os_errors():
        return buffered(FileSystems.open(path))


def buffered(file: BinaryIO) -> BinaryIO:
    """Returns a file with a buffer: those of Google Cloud Storage give lines by reading each byte alone."""
    return io.BufferedReader(cast(io.RawIOBase, file), _BUFFER)


@contextmanager
def _os_errors() -> Iterator[None]:
    """Raises OSError for the errors of services, which have classes of their own."""
    try:
        yield
    except OSError:
        raise
    except Exception as error:
        raise OSError(" ".join(str(error).split())) from error
