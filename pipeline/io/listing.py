"""Lists and opens the files of an output directory. Local paths need no Beam; others use its filesystems."""

import codecs
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
    """A file in a folder; `changed` in seconds since 1970, 0: unknown."""

    name: str
    size: int
    changed: float


def join_path(directory: str, name: str) -> str:
    """Returns the path of a file in a directory."""
    return f"{directory.rstrip('/')}/{name}" if directory.strip("/") else f"/{name}"


def list_files(directory: str) -> list[FolderFile]:
    """Returns the files of a directory, without those in folders; none if it is not there; raises OSError."""
    if is_local(directory):
        return list(_local_files(Path(directory)))
    return [file for _, file in _matched(directory, "*")]


def list_run_folders(directory: str) -> dict[str, list[FolderFile]]:
    """Returns the folders of runs in a directory, finished or not, with their files; raises OSError."""
    folders: dict[str, list[FolderFile]] = {}
    if is_local(directory):
        for path in Path(directory).glob(_ANY_RUN_FOLDER):
            if path.is_dir() and not path.is_symlink():
                folders[path.name] = list(_local_files(path))
    else:
        for path_of_file, file in _matched(directory, f"{_ANY_RUN_FOLDER}/*"):
            folders.setdefault(path_of_file.split("/")[-2], []).append(file)
    return {name: files for name, files in folders.items() if RUN_FOLDER.fullmatch(name)}


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
    (match,) = FileSystems.match([join_path(directory, pattern)])
    for file in match.metadata_list:
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


KIND_BYTES = 512
"""Number of bytes needed to detect the kind of a file."""

_KINDS: tuple[tuple[int, tuple[bytes, ...], str], ...] = (
    (0, (b"SQLite format 3\0",), "a SQLite database; a store is named as sqlite:///PATH, by --eval_cases"),
    (0, (b"PAR1",), "a Parquet file; its name must end in .parquet"),
    (0, (b"ARROW1",), "an Arrow file; convert it to Parquet"),
    (0, (b"FEA1",), "a Feather file; convert it to Parquet"),
    (0, (b"ORC",), "an ORC file; convert it to Parquet"),
    (0, (b"Obj\x01",), "an Avro file; its name must end in .avro"),
    (0, (b"\x89HDF\r\n",), "an HDF5 file"),
    (0, (b"\x93NUMPY",), "a NumPy file"),
    (0, (b"PK\x03\x04", b"PK\x05\x06"), "a zip archive"),
    (257, (b"ustar",), "a tar archive"),
    (0, (b"7z\xbc\xaf'\x1c",), "a 7z archive"),
    (0, (b"Rar!\x1a\x07",), "a RAR archive"),
    (0, (b"\x1f\x8b",), "compressed twice"),
    (4, (b"1AY&SY",), "compressed by bzip2, which is not read"),
    (0, (b"\xfd7zXZ\0",), "compressed by xz, which is not read"),
    (0, (b"(\xb5/\xfd",), "compressed by zstd, which is not read"),
    (0, (b'\x04"M\x18',), "compressed by lz4, which is not read"),
    (0, (b"\xff\x06\0\0sNaPpY",), "compressed by Snappy, which is not read"),
    (0, (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05"), "a Python pickle"),
    (0, (b"\xac\xed\0\x05",), "Java objects"),
    (0, (b"\x89PNG\r\n", b"\xff\xd8\xff", b"GIF8", b"BM", b"II*\0", b"MM\0*"), "an image"),
    (0, (b"RIFF",), "an image, a sound or a video"),
    (0, (b"OggS",), "a sound or a video"),
    (0, (b"fLaC", b"ID3"), "a sound"),
    (4, (b"ftyp",), "a video"),
    (0, (b"\x1aE\xdf\xa3",), "a video"),
    (0, (b"%PDF-",), "a PDF document"),
    (0, (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",), "a Microsoft Office document"),
    (0, (b"\x7fELF", b"MZ"), "a program"),
    (0, (b"\xff\xfe\0\0", b"\0\0\xfe\xff"), "UTF-32 text; only UTF-8 is read"),
    (
        0,
        (b"\xff\xfe{", b"\xff\xfe[", b"\xfe\xff\0", b"{\0", b"[\0", b"\0{", b"\0["),
        "UTF-16 text; only UTF-8 is read",
    ),
)
_TEXT = frozenset(b"{[ \t\r\n")
AS_CSV = "save it as CSV, divided by commas, under a name that ends in .csv"
TABLES = {
    ".tsv": "a table divided by tabs",
    **dict.fromkeys((".xlsx", ".xls", ".ods"), "a spreadsheet"),
}
"""Suffix of a file of a table that is not read -> what it is."""
_COLUMN = re.compile(r"[^\W\d][\w.:/-]{0,40}")


class NotTextError(ValueError):
    """A file is of a known binary format."""


def check_text(head: bytes) -> None:
    """Raises NotTextError if the first bytes of a file are those of a known binary format, or of a table."""
    head = head.removeprefix(codecs.BOM_UTF8)
    if not head or (head[0] in _TEXT and head[1:2] != b"\0"):
        return
    for offset, marks, kind in _KINDS:
        if head.startswith(marks, offset):
            raise NotTextError(f"is {kind}")
    if kind := _table_kind(head):
        raise NotTextError(f"is {kind}")


def _table_kind(head: bytes) -> str:
    """Returns what a text is whose first line names the columns of a table; "": it is none."""
    first, *others = head.decode("utf-8", "ignore").splitlines() or [""]
    for mark, name in ((",", "commas"), ("\t", "tabs"), (";", "semicolons")):
        names = [cell.strip().strip('"') for cell in first.split(mark)]
        if (
            len(names) < 2
            or not all(map(_COLUMN.fullmatch, names))
            or ("".join(others[:1]).strip() and mark not in others[0])
        ):
            continue
        if mark == ",":
            return f"a CSV file with the columns {', '.join(names)[:80]}; its name must end in .csv"
        return f"a table divided by {name}; {AS_CSV}"
    return ""
