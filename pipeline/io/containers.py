"""Files that hold records in another form than JSON text: YAML, CSV, Parquet, zip, SQLite."""

import csv
import io
import json
import zipfile
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

from turnwise.pipeline.io.parquet_files import check_parquet, parquet_texts
from turnwise.pipeline.io.sqlite_files import SQLITE_MAGIC, check_sessions, session_texts
from turnwise.schemas.jsonio import JsonValue, dump_json

Texts: TypeAlias = Iterator[tuple[str, bytes]]
"""Names, each ending in `.json`, and JSON texts: a document or an array each."""

_ZIP_MAGIC = b"PK\x03\x04"
_ZSTD = 93
_LOCAL_HEADER = 30
_NO_CELL = "no cell"
"""Stands for a cell that a row of a CSV file does not have."""
_SAMPLES, _HEADERS = "samples/", ("header.json", "_journal/start.json")
_MEMBERS = (".json", ".jsonl", ".ndjson", ".yaml", ".yml", ".csv")
_PACKED = (".gz", ".bz2", ".xz", ".zst", ".zip", ".tar", ".eval", ".avro", ".parquet", ".db")


def container(path: str, head: bytes) -> Callable[[str, Any, int], Texts] | None:
    """Returns how a file is opened, by its first bytes and its suffix; None: it is no container."""
    if head.startswith(_ZIP_MAGIC):
        return _zip_texts
    if head.startswith(SQLITE_MAGIC):
        return session_texts
    name = path.removesuffix(".gz").lower()
    if name.endswith((".yaml", ".yml")):
        return _yaml_texts
    if name.endswith(".parquet"):
        return parquet_texts
    return _csv_texts if name.endswith(".csv") else None


def check_container(path: str, head: bytes) -> bool:
    """Returns whether a local file is a container.

    Raises:
        ValueError: It is a broken one, or a database without sessions.
    """
    opened = container(path, head)
    if opened is _zip_texts:
        with open(path, "rb") as file:
            _archive(file).close()
    elif opened is session_texts:
        check_sessions(path)
    elif opened is parquet_texts:
        check_parquet(path)
    return opened is not None


def _archive(file: Any) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(file)
    except zipfile.BadZipFile as error:
        raise ValueError(f"the zip archive cannot be read: {error}") from None


def _yaml_texts(path: str, file: Any, limit: int) -> Texts:
    import yaml

    from turnwise.pipeline.io.yaml_loader import CheckedLoader

    text = file.read(limit + 1)
    if len(text) > limit:
        raise ValueError(f"the YAML file is larger than {limit / 1024 / 1024:g} MB")
    try:
        documents = [one for one in yaml.load_all(text, CheckedLoader) if one is not None]
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError(f"not YAML: {' '.join(str(error).split())[:300]}") from None
    for document in documents:
        yield f"{path}.json", json.dumps(document, default=str, ensure_ascii=False).encode()


def _csv_texts(path: str, file: Any, limit: int) -> Texts:
    """Yields the rows of a CSV file as one array of objects; cells that hold JSON stay texts."""
    text = file.read(limit + 1)
    if len(text) > limit:
        raise ValueError(f"the CSV file is larger than {limit / 1024 / 1024:g} MB")
    rows = csv.DictReader(io.StringIO(text.decode("utf-8-sig")), strict=True, restval=_NO_CELL)
    end, is_short, found = 0, False, []
    try:
        _check_header(rows.fieldnames or ())
        end = rows.line_num
        for place, row in enumerate(rows, 1):
            if any(row.pop(None, ())):
                raise ValueError(f"row {place} of the CSV file has more cells than the header names")
            is_short = any(cell is _NO_CELL for cell in row.values())
            found.append({key: None if cell is _NO_CELL else cell or None for key, cell in row.items()})
            end = rows.line_num
    except csv.Error as error:
        said = f"from line {end + 1} on, the CSV file cannot be read: {error}"
        raise ValueError(f"{said} (is a quote there not closed, or not doubled?)") from None
    if is_short and not text.endswith((b"\n", b"\r")):
        raise ValueError(f"the CSV file breaks off in its last row ({len(found)}), which lacks cells")
    yield f"{path}.json", dump_json(found)


def _check_header(names: Sequence[str]) -> None:
    others = [mark for mark in ";\t|" if len(names) == 1 and mark in names[0]]
    if others:
        raise ValueError(f"the CSV file divides its columns by {others[0]!r}, not by a comma; convert it")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"the CSV file names the column {twice!r} twice")


def _zip_texts(path: str, file: Any, limit: int) -> Texts:
    """Yields the members of an archive; of an Inspect log its samples, each with the log's header."""
    with _archive(file) as archive:
        members = [info for info in archive.infolist() if info.filename.lower().endswith(_MEMBERS)]
        names = {info.filename: info for info in members}
        headers = [names[name] for name in _HEADERS if name in names]
        samples = [info for info in members if info.filename.startswith(_SAMPLES)]
        if headers and (samples or names.keys() <= set(_HEADERS)):
            header = _json(_content(archive, file, headers[0], limit))
            for info in samples:
                sample = _json(_content(archive, file, info, limit))
                yield f"{path}!{info.filename}", dump_json({**header, "samples": [sample]})
            return
        for info in members:
            yield f"{path}!{info.filename}", _content(archive, file, info, limit)
        packed = [info.filename for info in archive.infolist() if info.filename.lower().endswith(_PACKED)]
        if packed:
            raise ValueError(
                f"{packed[0]} in the archive is not read: unpack it there, or beside the archive"
            )


def _json(text: bytes) -> Any:
    value: JsonValue = json.loads(text)
    return value


def _content(archive: zipfile.ZipFile, file: Any, info: zipfile.ZipInfo, limit: int) -> bytes:
    """Returns a member's content; zstd, which Python's own module does not know, is unpacked here."""
    if info.file_size > limit:
        raise ValueError(f"{info.filename} is larger than {limit / 1024 / 1024:g} MB")
    if info.compress_type != _ZSTD:
        return archive.read(info)
    import zstandard

    file.seek(info.header_offset)
    header = file.read(_LOCAL_HEADER)
    file.seek(int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little"), io.SEEK_CUR)
    return zstandard.ZstdDecompressor().decompressobj().decompress(file.read(info.compress_size))
