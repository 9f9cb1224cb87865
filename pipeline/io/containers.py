"""Files that hold records in another form than JSON text, and what kind a file is."""

import codecs
import csv
import io
import json
import os
import re
import shutil
import sqlite3
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import datetime
from itertools import chain, groupby, islice, zip_longest
from json import loads
from operator import methodcaller
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, cast
from urllib.parse import quote

import yaml

from turnwise.pipeline.io.sinks import plain_row
from turnwise.pipeline.settings.options import check_google
from turnwise.schemas import jsonio
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.adk_sessions import session_record
from turnwise.transforms.formats.messages.messages_base import OTHER_BRANCHES
from turnwise.transforms.formats.reading import FIRST_ELEMENTS, is_one_record

Texts: TypeAlias = Iterator[tuple[str, bytes]]
"""Names, each ending in `.json`, and JSON texts: a document or an array each."""

ZIP_MAGIC = b"PK\x03\x04"
_ZSTD = 93
_LOCAL_HEADER = 30
_SAMPLES, _HEADERS = "samples/", ("header.json", "_journal/start.json")
_MEMBERS = (".json", ".jsonl", ".ndjson", ".yaml", ".yml", ".csv")
_PACKED = (".gz", ".bz2", ".xz", ".zst", ".zip", ".tar", ".eval", ".avro", ".parquet", ".db")


def container(path: str, head: bytes) -> Callable[[str, Any, int], Texts] | None:
    """Returns how a file is opened, by its first bytes and its suffix; None: it is no container."""
    if head.startswith(ZIP_MAGIC):
        return _zip_texts
    if head.startswith(SQLITE_MAGIC):
        return _session_texts
    name = path.removesuffix(".gz").lower()
    if name.endswith((".yaml", ".yml")):
        return _yaml_texts
    if name.endswith(".parquet"):
        return _parquet_texts
    return _csv_texts if name.endswith(".csv") else None


def check_container(path: str, head: bytes) -> bool:
    """Returns whether a local file is a container; raises ValueError if it is a broken one."""
    opened = container(path, head)
    if opened is _zip_texts:
        _archive(path).close()
    elif opened is _session_texts:
        check_database(path)
    elif opened is _parquet_texts:
        if not head.startswith(b"PAR1"):
            raise ValueError("is no Parquet file, although its name ends in .parquet")
        with _opened_parquet(path):
            pass
    return opened is not None


def _archive(file: Any) -> zipfile.ZipFile:
    try:
        archive = zipfile.ZipFile(file)
    except zipfile.BadZipFile as error:
        raise ValueError(f"the zip archive cannot be read: {error}") from None
    if "[Content_Types].xml" in archive.NameToInfo:
        raise ValueError(f"is a spreadsheet or document of an office program; {AS_CSV}")
    return archive


def _yaml_texts(path: str, file: Any, limit: int) -> Texts:
    try:
        text = _whole(file, limit, "the YAML file")
        documents = [value for value in yaml.load_all(text, _CheckedLoader) if value is not None]
    except (yaml.YAMLError, RecursionError) as error:
        if isinstance(error, yaml.reader.ReaderError) and (unread := jsonio.no_utf8(text)) is not None:
            raise unread from None
        raise ValueError(f"not YAML: {' '.join(str(error).split())[:300]}") from None
    for document in documents:
        yield f"{path}.json", json.dumps(document, default=str, ensure_ascii=False).encode()


def _whole(file: Any, limit: int, what: str) -> bytes:
    text: bytes = file.read(limit + 1)
    if len(text) > limit:
        raise ValueError(f"{what} is larger than {limit / 1024 / 1024:g} MB")
    return text


def _csv_texts(path: str, file: Any, limit: int) -> Texts:
    """Yields the rows of a CSV file as one array of objects; cells that hold JSON stay texts."""
    text = _whole(file, limit, "the CSV file")
    if text.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise ValueError(f"the file is {_other_text('UTF-16')}")
    if (unread := jsonio.no_utf8(text)) is not None:
        raise unread
    lines = io.StringIO(text.decode("utf-8-sig"), newline="")
    rows = csv.reader(lines, strict=True, skipinitialspace=b', "' in text)
    end, is_short, objects = 0, False, []
    try:
        names = next(rows, [])
        if names in (["sep="], ["sep=", ""]):  # Excel's own line
            names = next(rows, [])
        if others := [mark for mark in ";\t|" if len(names) == 1 and mark in names[0]]:
            raise ValueError(f"the CSV file divides its columns by {others[0]!r}; {AS_CSV}")
        if twice := next((name for name in names if name and names.count(name) > 1), None):
            raise ValueError(f"the CSV file names the column {twice!r} twice")
        end = rows.line_num
        # Spreadsheets also write columns and rows that are empty. What has no name has that of its place.
        for number, cells in enumerate(filter(any, rows), 1):
            if any(cells[len(names) :]):
                raise ValueError(f"row {number} of the CSV file has more cells than the header names")
            is_short = len(cells) < len(names)
            row = enumerate(zip_longest(names, cells[: len(names)]), 1)
            objects.append({name or f"column {at}": cell or None for at, (name, cell) in row if name or cell})
            end = rows.line_num
    except csv.Error as error:
        what = f"from line {end + 1} on, the CSV file cannot be read: {error}"
        raise ValueError(f"{what} (is a quote there not closed, or not doubled?)") from None
    if is_short and not text.endswith((b"\n", b"\r")):
        raise ValueError(f"the CSV file breaks off in its last row ({len(objects)}), which lacks cells")
    yield f"{path}.json", jsonio.dump_json(objects)


def _zip_texts(path: str, file: Any, limit: int) -> Texts:
    """Yields the members of an archive; of an Inspect log its samples, each with the log's header."""
    with _archive(file) as archive:
        # macOS adds what its file system knows of each file.
        held = [info for info in archive.infolist() if not info.filename.startswith("__MACOSX/")]
        members = [info for info in held if info.filename.lower().endswith(_MEMBERS)]
        names = {info.filename: info for info in members}
        headers = [names[name] for name in _HEADERS if name in names]
        samples = [info for info in members if info.filename.startswith(_SAMPLES)]
        if headers and (samples or names.keys() <= set(_HEADERS)):
            header: JsonObject = loads(_content(archive, file, headers[0], limit))
            for info in samples:
                sample: JsonValue = loads(_content(archive, file, info, limit))
                yield f"{path}!{info.filename}", jsonio.dump_json({**header, "samples": [sample]})
            return
        for info in members:
            yield f"{path}!{info.filename}", _content(archive, file, info, limit)
        inner = [info.filename for info in held if info.filename.lower().endswith(_PACKED)]
        if inner:
            raise ValueError(f"{inner[0]} in the archive is not read: unpack it there, or beside the archive")


def _content(archive: zipfile.ZipFile, file: Any, info: zipfile.ZipInfo, limit: int) -> bytes:
    """Returns a member's content; zstd, which Python's own module does not know, is unpacked here."""
    if info.file_size > limit:
        raise ValueError(f"{info.filename} is larger than {limit / 1024 / 1024:g} MB")
    if info.flag_bits & 1:
        raise ValueError(f"{info.filename} in the archive is encrypted: unpack it first")
    if info.compress_type != _ZSTD:
        return archive.read(info)
    import zstandard

    file.seek(info.header_offset)
    header = file.read(_LOCAL_HEADER)
    file.seek(int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little"), io.SEEK_CUR)
    packed = zstandard.ZstdDecompressor().stream_reader(file.read(info.compress_size))
    content: bytes = packed.read(info.file_size + 1)  # no more than that, however much is packed
    if len(content) != info.file_size:
        raise ValueError(f"{info.filename} in the archive does not have the size that the archive states")
    return content


_MOST_ALIASED = 100_000
"""The largest number of values and characters that the aliases of a file stand for."""
_MERGE = "tag:yaml.org,2002:merge"


class _CheckedLoader(yaml.SafeLoader):
    """A safe loader that refuses keys that stand twice in a mapping, and aliases that stand for too much."""

    def __init__(self, stream: Any) -> None:
        super().__init__(stream)
        self._size = self._aliased = 0
        self._sizes: dict[str, int] = {}

    def compose_document(self) -> yaml.Node | None:
        self._sizes.clear()  # a document has anchors of its own
        return super().compose_document()

    def compose_node(self, parent: Any, index: Any) -> yaml.Node | None:
        event, before, problem = self.peek_event(), self._size, ""
        if isinstance(event, yaml.AliasEvent):
            if event.anchor in self.anchors and event.anchor not in self._sizes:
                problem = f"the alias *{event.anchor[:60]} stands in what it names"
            size = self._sizes.get(event.anchor, 0)
            self._size += size
            self._aliased += size
            if self._aliased > _MOST_ALIASED:
                problem = (
                    f"aliases stand for more than {_MOST_ALIASED:,} values and characters: write them out"
                )
            if problem:
                raise yaml.MarkedYAMLError(problem=problem, problem_mark=event.start_mark)
        else:
            self._size += 1 + len(getattr(event, "value", ""))
        node = super().compose_node(parent, index)
        if not isinstance(event, yaml.AliasEvent) and event.anchor is not None:
            self._sizes[event.anchor] = self._size - before
        return node

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.tag != _MERGE:
                if key.value in seen:
                    problem = f"the key {key.value[:60]!r} stands twice"
                    raise yaml.MarkedYAMLError(problem=problem, problem_mark=key.start_mark)
                seen.add(key.value)
        return node


# Sessions in the tables of a database: those of google-adk's services, and of the OpenAI Agents SDK.

_NEVER_READ = ("actions",)
"""A column that in older databases holds pickled objects."""
_AGENTS, _BRANCHES = "agent_messages", "message_structure"
_SESSION_KEYS = ("app_name", "user_id", "id")
_EVENT_KEYS = ("app_name", "user_id", "session_id")
_KEYS_OF_STATES: Mapping[str, Sequence[str]] = {"app": ("app_name",), "user": ("app_name", "user_id")}


class _Database(NamedTuple):
    """How a database is read: table -> columns, statement -> rows, and what orders rows of one time."""

    tables: Mapping[str, Sequence[str]]
    rows: Callable[[str], Iterator[JsonObject]]
    order_column: str


def _session_records(database: _Database) -> Iterator[JsonObject]:
    """Returns sessions as records that are read one by one; raises ValueError at once: there are none."""
    if {"sessions", "events"} <= set(database.tables):
        if {"session_id", "timestamp"} <= set(database.tables["events"]):
            return _adk_records(database)
        shown = ", ".join(database.tables["events"][:8])
        raise ValueError(f"the database holds a table of events of another form (columns: {shown})")
    if _AGENTS in database.tables:
        return _agents_records(database)
    shown = ", ".join(sorted(database.tables)[:8]) or "none"
    what = "the database is without sessions of google-adk or the OpenAI Agents SDK"
    raise ValueError(f"{what} (tables: {shown}); a store is named by its URL in --eval_cases")


def _adk_records(database: _Database) -> Iterator[JsonObject]:
    """Yields sessions with their events; both are read in one order, so that memory stays flat."""
    chosen, of_events = (
        ", ".join(f'{alias}."{name}"' for name in database.tables[table] if name not in _NEVER_READ)
        for table, alias in (("sessions", "s"), ("events", "e"))
    )
    joins, order = "", "s.app_name, s.user_id, s.id"
    for kind, keys in _KEYS_OF_STATES.items():
        if f"{kind}_states" in database.tables:
            equal = " AND ".join(f"{kind}s.{key} = s.{key}" for key in keys)
            joins += f" LEFT JOIN {kind}_states AS {kind}s ON {equal}"
            chosen += f", {kind}s.state AS {kind}_state"
    sessions = database.rows(f"SELECT {chosen} FROM sessions AS s{joins} ORDER BY {order}")
    pairs = zip(_SESSION_KEYS, _EVENT_KEYS, strict=True)
    same = " AND ".join(f"s.{of_session} = e.{of_event}" for of_session, of_event in pairs)
    source = f"events AS e JOIN sessions AS s ON {same}"
    by_time = f"{order}, e.timestamp, e.{database.order_column}"
    events = database.rows(f"SELECT {of_events} FROM {source} ORDER BY {by_time}")
    groups = groupby(events, lambda event: [event.get(name) for name in _EVENT_KEYS])
    key, group = next(groups, (None, None))
    for session in sessions:
        of_session: list[JsonObject] = []
        if group is not None and key == [session.get(name) for name in _SESSION_KEYS]:
            of_session = list(group)
            key, group = next(groups, (None, None))
        yield session_record(session, of_session, "actions" in database.tables["events"])


def _agents_records(database: _Database) -> Iterator[JsonObject]:
    """Yields the items of each session; those of the newest branch, if the SDK divided them into branches."""
    column = "id" if "id" in database.tables[_AGENTS] else database.order_column
    chosen = f"SELECT m.session_id, m.message_data, m.{column} AS place"
    source = f"FROM {_AGENTS} AS m"
    if {"message_id", "branch_id", "id"} <= set(database.tables.get(_BRANCHES, ())):
        chosen += ", b.branch_id, b.id AS branch_place"
        source += f" LEFT JOIN {_BRANCHES} AS b ON b.message_id = m.{column}"
    rows = database.rows(f"{chosen} {source} ORDER BY m.session_id, m.{column}")
    for name, of_session in groupby(rows, lambda row: row.get("session_id")):
        items = list(of_session)
        newest = max(items, key=lambda row: row.get("branch_place") or 0).get("branch_id")
        kept = [row for row in items if row.get("branch_id") in (None, newest)]
        places = {row["place"] for row in kept}
        left = {row["place"]: row for row in items if row["place"] not in places}
        others = {OTHER_BRANCHES: list(map(_message, left.values()))} if left else {}
        yield {"conversation_id": str(name), "input": list(map(_message, kept)), **others}


def _message(row: JsonObject) -> JsonValue:
    try:
        return loads(row["message_data"])
    except (TypeError, ValueError):
        return row["message_data"]


SQLITE_MAGIC = b"SQLite format 3\0"
_TABLES = "SELECT t.name, c.name FROM sqlite_master t JOIN pragma_table_info(t.name) c WHERE t.type = 'table'"
_SERVER_TABLES = (
    "SELECT table_name, column_name FROM information_schema.columns "
    "WHERE table_schema = ANY (current_schemas(false)) ORDER BY table_name, ordinal_position"
)
_ROWS_AT_ONCE, _MOST_BATCHES = 200, 100


def _session_texts(path: str, file: Any, limit: int) -> Texts:
    """Yields the sessions of a SQLite file; raises ValueError if it is broken, or holds none."""
    with tempfile.TemporaryDirectory() as directory:
        local = path
        if not os.path.isfile(path):
            local = os.path.join(directory, "copy.db")
            with open(local, "wb") as copy:
                shutil.copyfileobj(file, copy)
        with _sqlite(local) as database:
            # Of a damaged page, SQLite may give fewer rows without an error.
            for row in database.rows("PRAGMA quick_check(1)"):
                if row["quick_check"] != "ok":
                    raise ValueError(f"the SQLite database is damaged: {row['quick_check']}")
            for record in _session_records(database):
                yield f"{path}.json", jsonio.dump_json(record)


def database_texts(url: str) -> Texts:
    """Yields the sessions of a PostgreSQL database as they are at one time, each as JSON.

    Raises ConfigError for the URL or driver, StoreError without an answer, ValueError without sessions.
    """
    with _postgresql(url) as database:
        for record in _session_records(database):
            yield f"{jsonio.shown_url(url)}.json", jsonio.dump_json(record)


def check_database(path: str) -> None:
    """Raises the errors of `database_texts` if a URL, or a local SQLite file, is no database of sessions."""
    with (_postgresql if jsonio.is_store_url(path) else _sqlite)(path) as database:
        _session_records(database)


@contextmanager
def _sqlite(path: str) -> Iterator[_Database]:
    try:
        with closing(sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True)) as connection:
            connection.row_factory = sqlite3.Row
            tables = jsonio.grouped(connection.execute(_TABLES))
            yield _Database(tables, lambda statement: map(dict, connection.execute(statement)), "rowid")
    except sqlite3.Error as error:
        raise ValueError(f"the SQLite database cannot be read: {error}") from None


@contextmanager
def _postgresql(url: str) -> Iterator[_Database]:
    from sqlalchemy import text

    from turnwise.pipeline.store.database import connected

    with connected(url) as connection:
        streamed = connection.execution_options(stream_results=True, max_row_buffer=_ROWS_AT_ONCE)

        def rows(statement: str) -> Iterator[JsonObject]:
            for row in streamed.execute(text(statement)).mappings():
                yield {k: v.isoformat(" ") if isinstance(v, datetime) else v for k, v in row.items()}

        tables: dict[str, list[str]] = jsonio.grouped(connection.execute(text(_SERVER_TABLES)))
        yield _Database(tables, rows, "ctid")


def _parquet_texts(path: str, file: Any, limit: int) -> Texts:
    """Yields JSON arrays of some rows of a Parquet file, so that memory does not grow with it.

    Maps become objects, times RFC 3339, bytes text or base64. Columns without a value are left out of a row.
    """
    with _opened_parquet(file) as table:
        batches = (
            array.cast(_in_micros(array.type), safe=False).to_pylist(maps_as_pydicts="strict")
            for array in map(methodcaller("to_struct_array"), table.iter_batches(batch_size=_ROWS_AT_ONCE))
        )
        for rows in batches:
            if is_one_record([plain_row(row) for row in rows[:FIRST_ELEMENTS]]):
                # The rows may be the messages of one chat: so many are read at once as no chat has.
                rows += chain.from_iterable(islice(batches, _MOST_BATCHES))
            yield f"{path}.json", jsonio.dump_json([plain_row(row) for row in rows])


def _in_micros(kind: Any) -> Any:
    """Returns an Arrow type with microseconds for nanoseconds, which Python's times do not hold."""
    import pyarrow as pa

    if getattr(kind, "unit", "") == "ns":
        others = pa.duration if pa.types.is_duration(kind) else pa.time64
        return pa.timestamp("us", kind.tz) if pa.types.is_timestamp(kind) else others("us")
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_in_micros(field.type)) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(kind.key_type, _in_micros(kind.item_type))
    return pa.list_(_in_micros(kind.value_type)) if hasattr(kind, "value_field") else kind


@contextmanager
def _opened_parquet(file: Any) -> Iterator[Any]:
    from pyarrow import ArrowException
    from pyarrow.parquet import ParquetFile

    try:
        with ParquetFile(file) as table:
            yield table
    except (ArrowException, OSError, ValueError) as error:
        why = " ".join(str(error).split())[:300]
        why = "a map or a row holds a key twice" if "duplicate field names" in why else why
        raise ValueError(f"the Parquet file cannot be read: {why}") from None


# Lists and opens the files of an output directory. Local paths need no Beam; others use its filesystems.

RUN_FOLDER = re.compile(r"run-(\d{8}T\d{6}Z)-[0-9a-f]{8}")
"""The name of the folder that holds the tables of one execution of a run, with its start."""
_ANY_RUN_FOLDER = "run-*"
READ_BYTES = 1 << 18
"""Bytes that are read at once; long lines are read several times faster than with Python's own 8 KiB."""


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
    if jsonio.is_local(directory):
        return list(_local_files(Path(directory)))
    return [file for _, file in _matched(directory, "*")]


def list_run_folders(directory: str) -> dict[str, list[FolderFile]]:
    """Returns the folders of runs in a directory, finished or not, with their files; raises OSError."""
    if jsonio.is_local(directory):
        paths = [path for path in Path(directory).glob(_ANY_RUN_FOLDER) if not path.is_symlink()]
        folders = {path.name: list(_local_files(path)) for path in paths if path.is_dir()}
    else:
        matched = _matched(directory, f"{_ANY_RUN_FOLDER}/*")
        folders = jsonio.grouped((path.split("/")[-2], file) for path, file in matched)
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
    if jsonio.is_local(path):
        return Path(path).exists()
    from apache_beam.io.filesystems import FileSystems

    check_google(path, path)
    with _os_errors():
        return bool(FileSystems.exists(path))


def open_path(path: str) -> io.BufferedReader:
    """Opens a file for reading as it is, without decompressing it; raises OSError."""
    if jsonio.is_local(path):
        return io.BufferedReader(io.FileIO(path), READ_BYTES)
    from apache_beam.io.filesystem import CompressionTypes
    from apache_beam.io.filesystems import FileSystems

    with _os_errors():
        file = FileSystems.open(path, compression_type=CompressionTypes.UNCOMPRESSED)
    # Those of Google Cloud Storage give lines by reading each byte alone.
    return io.BufferedReader(cast(io.RawIOBase, file), READ_BYTES)


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


def _other_text(code: str) -> str:
    return f"{code} text; only UTF-8 is read: convert it, with iconv -f {code} -t UTF-8 FILE > NEW_FILE"


_CODES = ("UTF-32LE", "UTF-32BE", "UTF-16LE", "UTF-16BE")
_KINDS: tuple[tuple[int, tuple[bytes, ...], str], ...] = (
    (0, (b"SQLite format 3\0",), "a SQLite database; a store is named as sqlite:///PATH, by --eval_cases"),
    (0, (b"PAR1",), "a Parquet file; its name must end in .parquet"),
    (0, (b"ARROW1", b"FEA1", b"ORC"), "an Arrow, Feather or ORC file; convert it to Parquet"),
    (0, (b"\x1e",), r"a JSON text sequence (RFC 7464); convert it, with tr -d '\036' < FILE > NEW_FILE"),
    (0, (b"Obj\x01",), "an Avro file; its name must end in .avro"),
    (0, (b"PK\x03\x04", b"PK\x05\x06"), "a zip archive"),
    (257, (b"ustar",), "a tar archive; unpack it first, with tar -xf FILE"),
    (0, (b"7z\xbc\xaf'\x1c", b"Rar!\x1a\x07"), "a 7z or RAR archive; unpack it first"),
    (0, (b"\x1f\x8b",), "compressed twice; unpack it first, with gunzip FILE"),
    (4, (b"1AY&SY",), "compressed by bzip2, which is not read; unpack it first, with bunzip2 FILE"),
    (0, (b"\xfd7zXZ\0",), "compressed by xz, which is not read; unpack it first, with unxz FILE"),
    (0, (b"(\xb5/\xfd",), "compressed by zstd, which is not read; unpack it first, with unzstd FILE"),
    (0, (b'\x04"M\x18', b"\xff\x06\0\0sNaPpY"), "compressed by lz4 or Snappy; unpack it first"),
    (0, (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05"), "a Python pickle"),
    (0, (b"\x89PNG\r\n", b"\xff\xd8\xff", b"GIF8", b"BM", b"II*\0", b"MM\0*"), "an image"),
    (0, (b"RIFF", b"OggS", b"fLaC", b"ID3", b"\x1aE\xdf\xa3"), "an image, a sound or a video"),
    (4, (b"ftyp",), "a video"),
    (0, (b"%PDF-", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), "a PDF or Microsoft Office document"),
    (0, (b"\x7fELF", b"MZ", b"\xac\xed\0\x05", b"\x89HDF\r\n", b"\x93NUMPY"), "a program, or data of one"),
    (0, (b"\xff\xfe\0\0", b"\0\0\xfe\xff"), _other_text("UTF-32")),
    (0, (b"\xff\xfe{", b"\xff\xfe[", b"\xfe\xff\0"), _other_text("UTF-16")),
    *((0, tuple(sign.encode(code) for sign in "{["), _other_text(code)) for code in _CODES),
)
_TEXT = frozenset(b"{[ \t\r\n")
AS_CSV = "save it as CSV, divided by commas, under a name that ends in .csv"
TABLES = {".tsv": "a table divided by tabs", **dict.fromkeys((".xlsx", ".xls", ".ods"), "a spreadsheet")}
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
    # Of a table, the first line names the columns.
    first, *others = head.decode("utf-8", "ignore").splitlines() or [""]
    for mark, divided_by in ((",", "commas"), ("\t", "tabs"), (";", "semicolons")):
        names = [cell.strip().strip('"') for cell in first.split(mark)]
        is_divided = not "".join(others[:1]).strip() or mark in others[0]
        if len(names) > 1 and all(map(_COLUMN.fullmatch, names)) and is_divided:
            table = f"table divided by {divided_by}; {AS_CSV}"
            if mark == ",":
                table = f"CSV file with the columns {', '.join(names)[:80]}; its name must end in .csv"
            raise NotTextError(f"is a {table}")
