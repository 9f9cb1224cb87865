"""Reads files and splits them into JSON records, arrays element by element. Local files need no Beam."""

import codecs
import gzip
import io
import json
import os
import re
import zipfile
import zlib
from collections.abc import Callable, Container, Iterator, Sequence
from itertools import chain, islice
from typing import Any, BinaryIO, NamedTuple, cast

from pydantic_core import from_json

from turnwise.pipeline.io import containers
from turnwise.pipeline.io.bigquery_source import part_records, prepare_query, result_parts
from turnwise.pipeline.io.sinks import plain_value
from turnwise.pipeline.io.terminal import complain
from turnwise.pipeline.settings.options import is_bigquery
from turnwise.pipeline.store.urls import shown_place
from turnwise.schemas import score
from turnwise.schemas.conversation import Record
from turnwise.schemas.jsonio import JsonValue, dump_json, is_local, is_store_url, key_twice, no_utf8
from turnwise.schemas.score import Failure, IncompleteReadError, Stage, record_failure
from turnwise.transforms.formats.messages.kinds import events_of
from turnwise.transforms.formats.reading import FIRST_ELEMENTS, is_one_file, is_one_record

_SPACE = " \t\n\r"
_NO_SPACE = re.compile(rf"[^{_SPACE}]")
_MARKS = re.compile(r'\\.?|["\[\]{},]', re.DOTALL)
_DECODER = json.JSONDecoder()


class ArrayPart(NamedTuple):
    """The text between two commas of an array, without the space around it.

    It ends at `,`, at `]`, or nowhere (""); of one over the limit it is a beginning over the limit. It has a
    value if it is valid: one JSON value, not nested too deeply to be read.
    """

    text: bytes
    ends_at: str
    is_valid: bool = False
    value: JsonValue = None


class ArrayText:
    """The text of an array, from the current element on."""

    def __init__(self, file: BinaryIO | gzip.GzipFile, limit: int) -> None:
        """Takes a file whose text begins with a bracket; parts of more than `limit` bytes are shortened."""
        self._file, self._limit = file, limit
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("surrogateescape")
        self._text, self._position = "", 0
        self._pass_space()
        self._position += 1

    def rest(self) -> bytes:
        """Returns what follows the array: as much of it as a failure keeps."""
        self._pass_space()
        while len(self._text) - self._position < score.KEPT_RECORD_BYTES and self._more():
            pass
        return _bytes(self._text[self._position :])

    def part(self) -> ArrayPart:
        """Reads up to the next comma; of what is no JSON value (yet), brackets and quotes tell the end."""
        self._pass_space()
        marks, searched, start = _Marks(), 0, b""
        while start or (part := self._decoded()) is None:
            end = marks.end(self._text, self._position + searched)
            text = start or _bytes(self._text[self._position : end if end >= 0 else None])
            if end >= 0:
                return self._ended(text, end)
            if len(text) > self._limit:  # only its start is kept, however long it is
                start = text[: max(self._limit + 1, score.KEPT_RECORD_BYTES)]
                self._position = len(self._text)
            searched = len(self._text) - self._position
            if not self._more():
                return ArrayPart(start or text, "")
        return part

    def _decoded(self) -> ArrayPart | None:
        """Reads up to the next comma if one JSON value stands before it, and all of that was read."""
        try:
            value, end = _DECODER.raw_decode(self._text, self._position)
            text = self._text[self._position : end].encode()
        except (ValueError, RecursionError):
            return None
        behind = _NO_SPACE.search(self._text, end)
        if behind is None or behind.group() not in ",]":
            return None
        return self._ended(text, behind.start())._replace(is_valid=True, value=value)

    def _ended(self, text: bytes, end: int) -> ArrayPart:
        self._position = end + 1
        return ArrayPart(text, "," if self._text[end] == "," else "]")

    def _pass_space(self) -> None:
        while (char := _NO_SPACE.search(self._text, self._position)) is None:
            self._position = len(self._text)
            if not self._more():
                return
        self._position = char.start()

    def _more(self) -> bool:
        """Reads as much again as is held, at least a block; returns whether there was more."""
        held = self._text[self._position :]
        data = self._file.read(max(containers.READ_BYTES, len(held)))
        self._text, self._position = held + self._decoder.decode(data, final=not data), 0
        return bool(data)


class _Marks:
    """Searches the end of an element in a text that is given piece by piece."""

    def __init__(self) -> None:
        self._depth, self._is_string, self._is_escaped = 0, False, False

    def end(self, text: str, start: int) -> int:
        """Returns where the comma or bracket stands that ends the element; -1: not from `start` on."""
        if start < len(text):
            start, self._is_escaped = start + self._is_escaped, False
        for mark in _MARKS.finditer(text, start):
            sign = mark.group()
            if sign[0] == "\\":
                self._is_escaped = len(sign) == 1
            elif sign == '"':
                self._is_string = not self._is_string
            elif self._is_string:
                continue
            elif sign in "[{":
                self._depth += 1
            elif self._depth == 0:
                return mark.start()
            elif sign != ",":
                self._depth -= 1
        return -1


def _bytes(text: str) -> bytes:
    return text.strip(_SPACE).encode("utf-8", "surrogateescape")


class ArrayFault(NamedTuple):
    """What could not be read of an array, and why."""

    text: bytes
    error: ValueError


def array_elements(file: BinaryIO | gzip.GzipFile, limit: int) -> Iterator[bytes | ArrayFault]:
    """Yields the elements of a JSON array, written anew; if malformed or stating a key twice, unchanged.

    Of an element of more than `limit` bytes only a beginning of more bytes is yielded. If the end of an
    element cannot be determined, one fault names the first that was not read. Elements are counted from 1.
    """
    array, number, ends_at = ArrayText(file, limit), 0, ","
    while ends_at == ",":
        part = array.part()
        ends_at, elements = part.ends_at, list(_elements(part, limit))
        number += len(elements)
        yield from elements
        if not part.ends_at:
            what = f"from element {number + 1} on nothing was read"
            problem = f"the array is cut off, or a bracket or a quote is missing: {what}"
            yield ArrayFault(part.text, IncompleteReadError(problem))
        elif len(elements) > 1:
            problem = f"a comma is missing before element {number}; both sides were read"
            yield ArrayFault(part.text, ValueError(problem))
        elif not elements and (part.ends_at == "," or number):
            yield ArrayFault(b"", ValueError(f"an element is missing after element {number}"))
    if ends_at and (rest := array.rest()):
        problem = f"what follows the array's end (element {number}) is not read"
        yield ArrayFault(rest, IncompleteReadError(problem))


def _elements(part: ArrayPart, limit: int) -> Iterator[bytes | ArrayFault]:
    """Yields the elements of a part; of a truncated part only a complete object."""
    if not part.ends_at:
        try:
            json.loads(part.text)
        except ValueError:
            return
        except RecursionError:  # it is nested too deeply for this reader alone
            pass
        if part.text.startswith(b"{"):
            yield part.text
    elif len(part.text) > limit:
        yield part.text
    elif part.is_valid:
        try:
            yield dump_json(part.value) if key_twice(part.text, part.value) is None else part.text
        except ValueError as error:
            yield ArrayFault(part.text, error)
    elif part.text:
        # Objects may follow each other without a comma; anything else is one text.
        rest, texts = part.text.decode("utf-8", "surrogateescape"), []
        try:
            while rest:
                _, end = _DECODER.raw_decode(rest)
                texts.append(rest[:end].encode("utf-8", "surrogateescape"))
                rest = rest[end:].lstrip()
        except (ValueError, RecursionError):
            texts = [part.text]
        yield from texts


SUFFIXES = (
    *(".json", ".jsonl", ".ndjson", ".json.gz", ".jsonl.gz", ".ndjson.gz", ".avro"),
    *(".yaml", ".yml", ".parquet", ".eval", ".adk/session.db"),
)
"""Suffixes of the files that are read in a directory."""
OTHER_SUFFIXES = (".tsv", ".xlsx", ".xls", ".ods", ".md", ".html", ".xml", ".py")
"""Suffixes of files that hold no records."""

_LINES_TRIED = 3
_FIRST_LINES = 2
_LARGEST_ARRAY = 1 << 30
GZIP_MAGIC = b"\x1f\x8b"
BOM = b"\xef\xbb\xbf"


class EmptyFileError(ValueError):
    """A file that should hold one JSON text holds none: one record is missing."""


def reading_error(error: Exception) -> Exception:
    """Returns the error of a file that raised while it was read: unless it is empty, its rest is unknown."""
    if isinstance(error, EOFError | gzip.BadGzipFile | zlib.error | zipfile.BadZipFile):
        return IncompleteReadError(f"the file is cut off or damaged: get it again ({error})")
    return error if isinstance(error, EmptyFileError) else IncompleteReadError(error)


SHORTENED = "the file became shorter while it was read"


class SizedPath(NamedTuple):
    """A file, or the URL of a database: bytes (0: unknown), and its change in seconds since the epoch."""

    path: str
    size: int
    changed: float = 0.0


def read_records(path: str, limit: int, size: int = 0) -> Iterator[Record | Failure]:
    """Yields the records of a path or URL; raises IncompleteReadError: it is shorter than when listed."""
    if is_store_url(path):
        yield from contained_records(containers.database_texts(path), limit)
        return
    if is_bigquery(path):
        query = prepare_query(path)
        complain(query.plan)
        for part in result_parts(query, 1):
            yield from part_records(part, limit)
        return
    with containers.open_path(path) as whole:
        size = max(size, os.fstat(whole.fileno()).st_size if is_local(path) else 0)
        is_gzip = whole.read(len(GZIP_MAGIC)) == GZIP_MAGIC
        whole.seek(0)
        with gzip.GzipFile(fileobj=whole) if is_gzip else whole as file:
            yield from split_records(path, file, limit)
            if is_local(path):
                is_short = os.fstat(whole.fileno()).st_size < size
            else:  # the reads of a service may end early without an error
                is_short = not whole.closed and whole.tell() < size and not whole.read(1)
            if is_short:
                raise IncompleteReadError(SHORTENED)


def file_records(
    path: str | SizedPath | Failure,
    limit: int,
    stage: Stage = "read",
    named: Container[str] = (),
    unread: Callable[[], object] = lambda: None,
) -> Iterator[Record | Failure]:
    """Yields the records of one of the `listed_files`; one of more than `limit` bytes is a failure.

    `stage` is that of the failure of a file that breaks off; `unread` is called if a file that an option
    named gave nothing but failures.
    """
    if isinstance(path, Failure):
        yield path
        return
    file, kinds = path if isinstance(path, SizedPath) else SizedPath(path, 0), set[type]()
    try:
        for record in read_records(file.path, limit, file.size):
            kinds.add(type(record))
            yield record
    except Exception as error:
        kinds.add(Failure)
        yield record_failure(stage, reading_error(error), Record(shown_place(file.path), 0, b""))
    if kinds == {Failure} and file.path in named:
        unread()


def split_records(path: str, file: BinaryIO | gzip.GzipFile, limit: int) -> Iterator[Record | Failure]:
    """Returns the records of an open file by its suffix: Avro, one JSON text (or array), or JSON Lines.

    A record larger than `limit` bytes is a failure; reading continues. Raises NotTextError or EmptyFileError.
    """
    head = file.read(containers.KIND_BYTES)
    if not head and path.endswith(".gz") and not isinstance(file, gzip.GzipFile):
        raise ValueError("the file is empty; a gzip file never is")
    file.seek(0)
    if path.removesuffix(".gz").endswith(".avro"):
        import fastavro

        if not head.startswith(b"Obj\x01"):
            raise ValueError("is no Avro file, although its name ends in .avro")
        return _avro_records(path, fastavro.reader(cast(BinaryIO, file)))
    open_container = containers.container(path, head)
    if open_container:
        return contained_records(open_container(path, file, limit), limit)
    containers.check_text(head)
    if path.removesuffix(".gz").endswith(".json"):
        return _document_records(path, file, limit)
    return _line_records(path, file, limit)


def _avro_records(path: str, rows: Any) -> Iterator[Record]:
    try:
        for position, row in enumerate(rows, 1):
            yield Record(path, position, json.dumps(row, default=plain_value, ensure_ascii=False).encode())
    except Exception as error:
        raise ValueError(f"the Avro file cannot be read, and may be damaged: {error}") from None


def contained_records(texts: containers.Texts, limit: int) -> Iterator[Record | Failure]:
    """Yields the records of the texts in a container; positions count on within its name."""
    positions: dict[str, int] = {}
    for name, text in texts:
        path = name.removesuffix(".json") if "!" not in name else name
        try:
            for record in split_records(name, io.BytesIO(text), limit):
                positions[path] = position = positions.get(path, 0) + 1
                if isinstance(record, Record):
                    record = record._replace(source=path, position=position)
                yield record
        except Exception as error:
            start = Record(path, 0, text[: score.KEPT_RECORD_BYTES])
            yield record_failure("read", reading_error(error), start)


def holds_lines(path: str, file: BinaryIO, limit: int) -> bool:
    """Returns whether an open file is one record a line, and not compressed; NotTextError: it is binary."""
    head = file.read(containers.KIND_BYTES)
    file.seek(0)
    if not named_as_lines(path) or head.startswith(GZIP_MAGIC) or containers.container(path, head):
        return False
    containers.check_text(head)
    return not (_is_one_file(file, limit) or _is_document(file, limit))


def named_as_lines(path: str) -> bool:
    """Returns whether a file of that name is read line by line, unless its content says otherwise."""
    return not path.removesuffix(".gz").endswith((".avro", ".json"))


def _is_one_file(file: BinaryIO | gzip.GzipFile, limit: int) -> bool:
    head = [file.readline(limit + 2) for _ in range(_FIRST_LINES)]
    file.seek(0)
    values = [_value(line.removeprefix(BOM)) for line in head]
    return is_one_file([{"line": value} if isinstance(value, list) else value for value in values])


def _line_records(path: str, file: BinaryIO | gzip.GzipFile, limit: int) -> Iterator[Record | Failure]:
    if _is_one_file(file, limit):
        return _whole_file(path, file.read(limit + 1), limit)
    if _is_document(file, limit):
        return _document_records(path, file, limit)
    return line_records(path, file.readline, limit)


def _is_document(file: BinaryIO | gzip.GzipFile, limit: int) -> bool:
    """Returns whether a file is JSON whose first line is none, as it is printed for people or streamed."""
    lines = (file.readline(limit + 2).removeprefix(BOM) for _ in range(_FIRST_LINES))
    first = next((line.strip() for line in lines if line.strip()), b"")
    file.seek(0)
    if not first.startswith((b"{", b"[", b"data:", b"event:")) or _value(first) is not None:
        return False
    text = file.read(limit + 1).removeprefix(BOM)
    file.seek(0)
    if len(text) > limit or _value(text) is not None:
        return len(text) <= limit or first == b"["
    decoded = text.decode("utf-8", "replace")
    has_texts = b"\n" in text.strip() and (_breaks_off(text) or bool(_texts_in(decoded)[0]))
    return (has_texts or bool(events_of(decoded))) and not _is_json_lines(text)


def line_records(
    path: str, readline: Callable[[int], bytes], limit: int, position: int = 0
) -> Iterator[Record | Failure]:
    """Yields the lines of a file that are not empty, given what reads so many bytes of a line at most."""
    longest = len(BOM) + limit + 2
    while line := readline(longest):
        position += 1
        line = line.removeprefix(BOM) if position == 1 else line
        if len(line) - line.endswith(b"\n") > limit:
            yield _oversized(path, position, line, limit)
            while line and not line.endswith(b"\n"):
                line = readline(limit)
        elif not line.endswith(b"\n") and _breaks_off(line):
            yield _cut(path, position, line)
        elif not line.isspace():
            yield Record(path, position, line.rstrip(b"\r\n"))


def _whole_file(path: str, text: bytes, limit: int) -> Iterator[Record | Failure]:
    """Yields the lines of a file as one record, an array; a line that is no JSON is a failure of its own."""
    if len(text) > limit:
        yield _oversized(path, 1, text, limit)
        return
    lines = [line.strip() for line in text.removeprefix(BOM).split(b"\n")]
    whole: list[bytes] = []
    for position, text_of_line in enumerate(lines, 1):
        line, value = text_of_line, _value(text_of_line)
        if isinstance(value, dict | list):
            whole.append(line if isinstance(value, dict) else b'{"line":' + line + b"}")
        elif position == len(lines) and _breaks_off(line):
            yield _cut(path, position, line)
        elif line:
            error = ValueError("the line is no JSON object; the other lines of the file were read")
            yield record_failure("read", error, Record(path, position, line))
    yield Record(path, 1, b"[" + b",".join(whole) + b"]")


def _oversized(path: str, position: int, start: bytes, limit: int) -> Failure:
    record = Record(path, position, start[: score.KEPT_RECORD_BYTES])
    error = score.oversized_error(limit)
    # NUL bytes are what a crash leaves in the place of lines.
    return record_failure("read", IncompleteReadError(error) if b"\0" in start else error, record)


def _document_records(path: str, file: BinaryIO | gzip.GzipFile, limit: int) -> Iterator[Record | Failure]:
    block = file.read(containers.READ_BYTES).removeprefix(BOM)
    while block.isspace():
        block = file.read(containers.READ_BYTES)
    file.seek(0)
    is_array, is_one_of_several = block.lstrip().startswith(b"["), False
    if is_array:
        # The first line may be an array, and others follow.
        lines = (
            text for text in iter(lambda: file.readline(containers.READ_BYTES), b"") if not text.isspace()
        )
        is_line = isinstance(_value(next(lines, b"").removeprefix(BOM)), list)
        is_one_of_several = is_line and next(lines, None) is not None
        file.seek(0)
    if is_array and not is_one_of_several:
        elements = array_elements(file, limit)
        first = list(islice(elements, FIRST_ELEMENTS))
        # They tell whether the array is one record; if any is malformed, one does.
        values = [_value(text) if isinstance(text, bytes) else None for text in first]
        is_whole = all(text == b"null" for text, value in zip(first, values, strict=True) if value is None)
        if not is_one_record(values if is_whole else values[:1]):
            for position, element in enumerate(chain(first, elements), 1):
                yield _apart(path, position, element, limit)
            return
        file.seek(0)
    largest = _LARGEST_ARRAY if is_array else limit
    text = file.read(largest + 1)
    if len(text) > largest:
        yield _oversized(path, 1, text, largest)
    else:
        yield from _text_records(path, text.removeprefix(BOM), limit)


def _text_records(path: str, text: bytes, limit: int) -> Iterator[Record | Failure]:
    if _value(text) is not None:
        yield Record(path, 1, text)
    elif _is_json_lines(text):
        yield from _line_records(path, io.BytesIO(text), limit)
    elif (unread := no_utf8(text)) is not None:
        yield record_failure("read", unread, Record(path, 1, text))
    elif events := events_of(text.decode()):
        if is_one_record(events):
            yield Record(path, 1, dump_json(events))
        else:
            yield from _events(path, events, limit)
        last = text.rpartition(b"\n")[2]
        if _breaks_off(last.removeprefix(b"data:")):
            yield _cut(path, len(events) + 1, last)
    elif not text or text.isspace():
        raise EmptyFileError("the file holds no JSON text")
    else:  # texts that stand before the place where one is broken, and the rest
        decoded = text.decode()
        values, rest = _texts_in(decoded)
        yield from _events(path, values, limit)
        position, data = len(values) + 1, rest.encode()
        line = decoded.count("\n", 0, len(decoded.rstrip()) - len(rest)) + 1
        if _breaks_off(data):
            yield _cut(path, position, data, line)
        elif values:
            why = f"from line {line} on, the file is no JSON, and not read"
            if rest.startswith(","):
                why += ": put texts with commas between them into one array, [...], or remove the commas"
            yield record_failure("read", IncompleteReadError(why), Record(path, position, data))
        else:
            yield Record(path, 1, data)


def _events(path: str, events: Sequence[JsonValue], limit: int) -> Iterator[Record | Failure]:
    for position, event in enumerate(events, 1):
        try:
            yield _apart(path, position, dump_json(event), limit)
        except ValueError as error:
            shown = repr(event).encode("utf-8", "backslashreplace")
            yield record_failure("read", error, Record(path, position, shown))


def _apart(path: str, position: int, text: bytes | ArrayFault, limit: int) -> Record | Failure:
    if isinstance(text, ArrayFault):
        return record_failure("read", text.error, Record(path, position, text.text))
    return Record(path, position, text) if len(text) <= limit else _oversized(path, position, text, limit)


def _cut(path: str, position: int, text: bytes, line: int = 0) -> Failure:
    what = f"from line {line or position} on" if position > 1 else "in its first record"
    error = IncompleteReadError(f"the file breaks off {what}, in the middle of a JSON text")
    return record_failure("read", error, Record(path, position, text))


def _breaks_off(text: bytes) -> bool:
    """Returns whether a text is JSON, or several JSON texts, of which the last has no end."""
    _, rest = _texts_in(text.decode("utf-8", "replace"))
    try:
        from_json(rest)
    except ValueError as error:
        return rest.startswith(("{", "[")) and str(error).startswith(("EOF", "unexpected end"))
    return False


def _texts_in(text: str) -> tuple[list[JsonValue], str]:
    """Returns the JSON objects and arrays that a text begins with, and what follows them."""
    values: list[JsonValue] = []
    rest = text.strip()
    while rest.startswith(("{", "[")):
        try:
            value, end = _DECODER.raw_decode(rest)
        except (ValueError, RecursionError):
            break
        values.append(value)
        rest = rest[end:].lstrip()
    return values, rest


def _value(text: bytes | str) -> JsonValue:
    """Returns the value of a JSON text, also of one in another encoding than UTF-8; None: it is none."""
    try:
        return json.loads(text)
    except UnicodeDecodeError:
        return _value(text.decode("utf-8", "surrogateescape")) if isinstance(text, bytes) else None
    except (ValueError, RecursionError):
        return None


def _is_json_lines(text: bytes) -> bool:
    """Returns whether a text that is not one JSON text holds JSON Lines: one of its first lines is JSON."""
    lines = text.strip().split(b"\n")[:_LINES_TRIED]
    return len(lines) > 1 and any(isinstance(_value(line), dict) for line in lines)
