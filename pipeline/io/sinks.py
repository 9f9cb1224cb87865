"""Sinks of tables, one object each, their registry, and what is done with `--store`. Does not import Beam."""

import io
import json
import logging
import re
from base64 import b64encode
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime, time
from decimal import Decimal
from functools import partial
from hashlib import blake2b
from importlib import import_module
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, NamedTuple, Protocol

import orjson
from msgspec import Struct

from turnwise.pipeline.settings import options as declared
from turnwise.pipeline.settings.options import DEFAULT_OUTPUT_FORMAT, SinkPlace
from turnwise.pipeline.store.urls import Broken, absolute_url
from turnwise.schemas import jsonio
from turnwise.schemas.config import ConfigError
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.schemas.registry import Registry, error_text, hook_errors
from turnwise.schemas.rows import avro_schema, json_columns, score_lines, with_json_texts
from turnwise.schemas.score import RAISED

if TYPE_CHECKING:
    from apache_beam.pvalue import PCollection


# The state of a run in its service.


class RunRecord(NamedTuple):
    """How a service keeps the state of runs.

    Attributes:
        begin: Writes that a run begins, given what is known of its `run.json`.
        complete: Writes that it is complete, given its `run.json`, before that is written; once or again.
        break_off: Writes that it broke off, unless it was complete: the state and why.

    >>> import turnwise
    >>> states = {}
    >>> record = turnwise.RunRecord(
    ...     begin=lambda place, document: states.update({place.run_id: "RUNNING"}),
    ...     complete=lambda place, document: states.update({place.run_id: "COMPLETED"}),
    ...     break_off=lambda place, state, why: states.update({place.run_id: state}),
    ... )
    >>> desk = turnwise.SinkKind(name="desk", help="desk://HOST", schemes=("desk",), record=record)
    >>> desk.record is record
    True
    """

    begin: Callable[[SinkPlace, JsonObject], None]
    complete: Callable[[SinkPlace, JsonObject], None]
    break_off: Callable[[SinkPlace, Broken, str], None]


@contextmanager
def recorded(
    record: RunRecord | None, sink_place: SinkPlace | None, document: JsonObject, goes_on: bool = False
) -> Iterator[None]:
    """Writes that a run begins, given what is known of its `run.json`, and if it breaks off that it did.

    `goes_on`: the run may go on elsewhere when this process ends. Without a record nothing is written.
    """
    if record is None or sink_place is None:
        yield
        return
    record.begin(sink_place, document)
    try:
        yield
    except KeyboardInterrupt:
        if not goes_on:
            record.break_off(sink_place, "CANCELLED", "interrupted")
        raise
    except BaseException as error:
        record.break_off(sink_place, "ERROR", error_text(error))
        raise


def plain_row(row: JsonObject) -> JsonObject:
    """Returns a row as JSON without the columns that have no value."""
    return {key: plain_value(value) for key, value in row.items() if value is not None}


def plain_value(value: Any) -> JsonValue:
    """Returns a value of a table as JSON.

    Times become RFC 3339 (UTC where they state no zone), bytes text or base64, decimals numbers, or text
    where a number would lose digits.
    """
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, dict):
        return {str(key): plain_value(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain_value(item) for item in value]
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).isoformat()
    if isinstance(value, Decimal):
        if not value.is_finite():
            return str(value)
        if value == value.to_integral_value():
            return int(value)
        number = float(value)
        return number if Decimal(repr(number)) == value else f"{value:f}".rstrip("0")
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return b64encode(value).decode()
    return value.isoformat() if isinstance(value, date | time) else str(value)


class StreamChange(NamedTuple):
    """All rows of one thing: a conversation, a window of one app version, or a lost record.

    A later change of the thing replaces them: the one with the higher revision or, with the same one, the one
    that was written first later. The same change may be written several times, and counts once.

    Attributes:
        revision: Number that grows with its changes.
        time: Its time, in seconds since the epoch; None: unknown.
        rows: Table -> rows; none of any table: the thing is no more.

    >>> import turnwise
    >>> change = turnwise.StreamChange("nightly", "c1", 0, None, {"scores": [{"value": 1.0}]})
    >>> [*change.rows]
    ['scores']
    """

    run_id: str
    thing: str
    revision: int
    time: float | None
    rows: Mapping[str, Sequence[Mapping[str, Any]]]

    @property
    def change_id(self) -> str:
        """The same for equal changes only."""
        content = jsonio.dump_json([self.run_id, self.thing, self.revision, dict(self.rows)])
        return blake2b(content, digest_size=16).hexdigest()


class RefusedRow(NamedTuple):
    """A row of a change that a service did not take, and why, in one line; the others count.

    >>> import turnwise
    >>> turnwise.RefusedRow("5f3a", "the column `value` is too long").why
    'the column `value` is too long'
    """

    change_id: str
    why: str


class ChangeWriter(Protocol):
    """Writes the changes of a stream to a service; several threads may use it.

    Attributes:
        stop: If it is set, the stream is to end, and a service that does not answer is not waited for.
    """

    stop: Event

    def write(self, changes: Sequence[StreamChange]) -> Sequence[RefusedRow]:
        """Writes changes, each as a whole or not at all, and returns the rows that are not taken.

        Raises OSError if the changes were not written.
        """


class RowWriter(Protocol):
    """Writes the rows of one table into one open file."""

    def write(self, rows: Sequence[JsonObject]) -> None:
        """Adds rows."""

    def finish(self) -> None:
        """Completes the content; the file stays open."""


class TableSink(Protocol):
    """Writes the tables of a run."""

    def write_table(self, rows: "PCollection[Any]", table: str, part: str = "") -> "PCollection[Any] | None":
        """Adds the steps that write lists of rows; `part` distinguishes several writers of one table.

        Returns what is complete when the rows are written; None: the end of the run does not wait for it.
        """


class StepSink(NamedTuple):
    """Writes some tables of a run, each by one step, whose DoFn takes lists of rows."""

    label: str
    tables: Container[str]
    writer: Callable[[str], Any]

    def write_table(self, rows: "PCollection[Any]", table: str, part: str = "") -> "PCollection[Any] | None":
        from apache_beam import ParDo

        if table not in self.tables:
            return None
        written: PCollection[Any] = rows | f"{self.label}_{table}{part}" >> ParDo(self.writer(table))
        return written


class SinkKind(Struct, frozen=True, kw_only=True):
    """A sink of tables: a format of files, or a service.

    Add one with `register_sink`, in a module that an entry point of the group `turnwise.sinks` or `--plugin`
    names. A format of files has `writer` and `read`, and its name is `--output_format` and the suffix of the
    files. A service has `schemes` and `open`, and `--store` gives its address, or another `option`.

    Attributes:
        help: What it is, in one line; of a service how its addresses look.
        writer: Returns what writes rows of a table into an open file.
        read: Yields the rows of a table from a file; it may leave out those whose compact JSON does not hold
            the third argument.
        schemes: Schemes of its addresses.
        option: The option that gives its address.
        open: Returns the sink of a run; raises ConfigError if it cannot be opened. A run that is only
            translated opens it, too.
        append: Returns what writes the changes of a stream; None: it takes batches only.
        prepare: Tries before a run whether rows can be written; raises ConfigError if they cannot.
        check: Raises ConfigError if a package that an address needs is missing; given the option and it.
        absolute: Returns an address as every worker understands it.
        folder: Returns the folder that an address names, which is SCHEME:PATH then; None: it is SCHEME://...
        complete: Called when all tables are written, once or again with the same: given the elements of the
            collections that write_table returned; returns what was not written, one line each.
        discard: Called when a run has ended, in whatever way: removes what it has staged.
        left: Returns what an interrupted run left there, as part of a sentence.
        replaced: Returns how many of a run's results another one of the same run replaced; None: unknown.
        record: Keeps the state of runs; None: the service does not.

    >>> import turnwise
    >>> class Nothing:
    ...     def write_table(self, rows, table, part=""):
    ...         pass
    >>> turnwise.SinkKind(name="null", help="null://", schemes=("null",), open=lambda _: Nothing()).name
    'null'
    """

    name: str
    help: str
    writer: Callable[[BinaryIO, str], RowWriter] | None = None
    read: Callable[[BinaryIO, str, bytes], Iterator[JsonObject]] | None = None
    schemes: tuple[str, ...] = ()
    option: Literal["--store", "--scores_to"] = "--store"
    open: Callable[[SinkPlace], TableSink] | None = None
    append: Callable[[SinkPlace], ChangeWriter] | None = None
    prepare: Callable[[SinkPlace], None] = lambda given: None
    check: Callable[[str, str], None] = lambda option, url: None
    absolute: Callable[[str], str] = lambda url: url
    folder: Callable[[str], str] | None = None
    complete: Callable[[SinkPlace, Sequence[Any]], Sequence[str]] | None = None
    discard: Callable[[SinkPlace], None] = lambda given: None
    left: Callable[[SinkPlace], str] = lambda given: f"{jsonio.shown_url(given.url)} may hold rows of it"
    replaced: Callable[[SinkPlace, int], int | None] | None = None
    record: RunRecord | None = None


def deferred(module: str, name: str) -> Any:
    """Returns a function of a module of `pipeline`, which is imported when it is called."""

    def call(*arguments: Any) -> Any:
        return getattr(import_module(f"turnwise.pipeline.{module}"), name)(*arguments)

    return call


_SCHEMES: dict[str, str] = {}


def _fault(item: object) -> str | None:
    if not isinstance(item, SinkKind):
        return "it is no SinkKind"
    if not item.name.isalnum():
        return f"{item.name!r} cannot be the suffix of a file"
    if (item.writer is None) != (item.read is None) or (item.open is None) != (not item.schemes):
        return "writer and read, and schemes and open, belong together"
    for scheme in item.schemes:
        if _SCHEMES.setdefault(scheme, item.name) != item.name:
            return f"the scheme {scheme} is taken"
    return None if item.writer or item.open else "it has neither writer nor open"


_LOG = logging.getLogger(__name__)
SINKS: Registry[SinkKind] = Registry("sink", "turnwise.sinks", "turnwise.pipeline.io.sinks", _fault)
"""Name -> sink."""


def register_sink(item: SinkKind) -> SinkKind:
    """Adds a sink, for all runs of this process, and returns it.

    Raises:
        TypeError: It is no `SinkKind`, lacks a part, or its name or a scheme is taken.

    >>> import turnwise
    >>> turnwise.register_sink(turnwise.SinkKind(name="null", help="null://"))
    Traceback (most recent call last):
    TypeError: SinkKind 'null' cannot be used as sink: it has neither writer nor open
    >>> class Nothing:
    ...     def write_table(self, rows, table, part=""):
    ...         pass
    >>> null = turnwise.SinkKind(name="null", help="null://", schemes=("null",), open=lambda _: Nothing())
    >>> turnwise.register_sink(null) is null
    True
    """
    return SINKS.add(item)


def file_formats() -> dict[str, SinkKind]:
    """Returns the sinks that `--output_format` can name."""
    return {name: kind for name, kind in SINKS.items() if kind.writer}


def services(option: str, is_streaming: bool = False) -> str:
    """Returns the address patterns of the services, or of those that take streams, that an option names."""
    kinds = (kind for _, kind in sorted(SINKS.items()) if kind.append or (kind.schemes and not is_streaming))
    return ", ".join(_addresses(kind) for kind in kinds if kind.option == option)


def _addresses(kind: SinkKind) -> str:
    """Returns how the addresses of a service look: its help, or its schemes where its help names none."""
    names_scheme = any(f"{scheme}:" in kind.help for scheme in kind.schemes)
    return kind.help if names_scheme else ", ".join(f"{scheme}://..." for scheme in kind.schemes)


def find_service(option: str, url: str) -> SinkKind:
    """Returns the sink of an address; raises ConfigError if no sink of the option has its scheme."""
    scheme, _, rest = url.partition(":")
    what = f"{option} {jsonio.shown_url(url)}"
    for kind in SINKS.values():
        if scheme.lower() in kind.schemes:
            if kind.option != option:
                raise ConfigError(f"{what}: name it by {kind.option}")
            if rest and (rest.startswith("/") or kind.folder):
                return kind
            raise ConfigError(f"{what}: an address of {kind.name} is {_addresses(kind)}")
    schemes = sorted(k for kind in SINKS.values() if kind.option == option for k in kind.schemes)
    hint = jsonio.did_you_mean(scheme.lower(), schemes) or f" ({services(option)})"
    fault = "is no store" if option == "--store" else "is no receiver of scores"
    raise ConfigError(f"{what}: {fault}{hint}")


def folder_of(address: str) -> str:
    """Returns the folder that an address of a service names; any other address, or path, as it is."""
    scheme = address.partition(":")[0].lower()
    folders = (kind.folder(address) for kind in SINKS.values() if kind.folder and scheme in kind.schemes)
    return next(folders, address)


def open_service(sink_place: SinkPlace) -> TableSink:
    """Returns the service of a place; raises ConfigError if it cannot be opened."""
    kind = find_service(sink_place.option, sink_place.url)
    assert kind.open
    with hook_errors(f"sink {kind.name}: open"):
        sink = kind.open(sink_place)
    if not callable(getattr(sink, "write_table", None)):
        given = type(sink).__name__
        raise ConfigError(f"sink {kind.name}: open returned {given}, which has no method write_table")
    return sink


class _Writers:
    """Writes changes to several services, one after the other; if one fails, all are repeated."""

    def __init__(self, writers: Sequence[ChangeWriter]) -> None:
        self.stop, self._writers = Event(), writers

    def write(self, changes: Sequence[StreamChange]) -> list[RefusedRow]:
        refused: list[RefusedRow] = []
        for writer in self._writers:
            writer.stop = self.stop
            refused += writer.write(changes)
        return refused


def open_changes(places: Sequence[SinkPlace]) -> ChangeWriter:
    """Returns what writes a stream's changes to its services; raises ConfigError if one cannot be opened."""
    writers = []
    for sink_place in places:
        kind = find_service(sink_place.option, sink_place.url)
        assert kind.append
        with hook_errors(f"sink {kind.name}: append"):
            writers.append(kind.append(sink_place))
    return _Writers(writers)


def check_appends(sink_place: SinkPlace) -> None:
    """Raises ConfigError if a service takes no streams."""
    if not find_service(sink_place.option, sink_place.url).append:
        able = services(sink_place.option, is_streaming=True)
        what = f"{jsonio.shown_url(sink_place.url)}: takes no stream; one goes to {able}"
        raise ConfigError(f"{sink_place.option} {what}, or into JSON Lines in --output, which DuckDB reads")


def prepare_service(sink_place: SinkPlace) -> None:
    """Raises ConfigError, before anything runs, if rows cannot be written to a service."""
    kind = find_service(sink_place.option, sink_place.url)
    with hook_errors(f"sink {kind.name}: prepare"):
        kind.prepare(sink_place)


def complete_service(sink_place: SinkPlace, elements: Sequence[Any]) -> list[str]:
    """Ends the writing of a run's tables to its service; returns what was not written, one line each."""
    complete = find_service(sink_place.option, sink_place.url).complete
    try:
        return list(complete(sink_place, elements)) if complete else []
    except (ConfigError, OSError) as error:
        return [str(error)]
    except RAISED as error:
        return [f"{sink_place.option} {jsonio.shown_url(sink_place.url)}: {error_text(error)}"]


def discard_services(places: Sequence[SinkPlace]) -> None:
    """Removes what a run has staged for its services; what cannot be removed is logged."""
    for sink_place in places:
        try:
            find_service(sink_place.option, sink_place.url).discard(sink_place)
        except RAISED as error:
            _LOG.warning("staged rows of a run cannot be removed: %s", error_text(error))


@contextmanager
def discarding(sink_place: SinkPlace | None, goes_on: bool = False) -> Iterator[None]:
    """Removes in the end what a run has staged, unless a signal came and it goes on elsewhere."""
    interrupted = False
    try:
        yield
    except KeyboardInterrupt:
        interrupted = True
        raise
    finally:
        if sink_place and not (interrupted and goes_on):
            discard_services([sink_place])


def row_writer(file: BinaryIO, table: str, output_format: str) -> RowWriter:
    """Returns a writer for the rows of a table into a file."""
    writer = SINKS[output_format].writer
    assert writer
    return writer(file, table)


def table_rows(file: BinaryIO, table: str, output_format: str) -> Iterator[JsonObject]:
    """Yields the rows of a file of a table; raises OSError if it cannot be read as one of its format."""
    read = SINKS[output_format].read
    assert read
    try:
        yield from read(file, table, b"")
    except OSError:
        raise
    except (Exception, SystemExit) as error:
        raise OSError(f"sink {output_format}: read: {error_text(error)}") from error


def write_table(file: BinaryIO, parts: Iterable[Sequence[JsonObject]], table: str, suffix: str) -> None:
    """Writes the whole file of a small table, given its rows in parts."""
    writer = row_writer(file, table, suffix)
    for rows in parts:
        writer.write(rows)
    writer.finish()


def table_content(parts: Iterable[Sequence[JsonObject]], table: str, output_format: str) -> bytes:
    """Returns what `write_table` writes."""
    content = io.BytesIO()
    write_table(content, parts, table, output_format)
    return content.getvalue()


def document_content(document: JsonObject) -> bytes:
    """Returns a document as JSON that a person can read."""
    return json.dumps(document, indent=2, ensure_ascii=False).encode() + b"\n"


# Files: JSON Lines and Avro.

_BLOCK = 256 * 1024
_RESULTS = "results"
_NAME_MARK = re.compile(r" result(?:, trial \S+)?(?: \(.*?\))? - ")


class JsonLinesWriter:
    """Rows as JSON Lines, in blocks; a row of the results table is the CES EvaluationResult itself."""

    def __init__(self, file: BinaryIO, table: str) -> None:
        self._file, self._table = file, table
        self._waiting, self._size = list[bytes](), 0

    def write(self, rows: Sequence[Any]) -> None:
        if self._table == "scores":
            lines = [score_lines(rows)]
        else:
            lines = []
            for row in rows:
                value = row["result"] if self._table == _RESULTS else row
                try:
                    lines.append(orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE))
                except TypeError:
                    lines.append(jsonio.dump_json(value) + b"\n")
        self._waiting += lines
        self._size += sum(map(len, lines))
        if self._size >= _BLOCK:
            self.finish()

    def finish(self) -> None:
        self._file.write(b"".join(self._waiting))
        self._waiting, self._size = [], 0


def _rows(file: BinaryIO, table: str, mark: bytes) -> Iterator[JsonObject]:
    rows = (jsonio.load_json(line) for line in file if mark in line)
    if table != _RESULTS:
        yield from rows
        return
    for result in rows:
        turns = result.get("goldenResult", {}).get("turnReplayResults")
        part = turns[0] if turns else result.get("scenarioResult", {})
        # One that holds no result says it in its name alone.
        name = part.get("conversation") or _NAME_MARK.split(result["displayName"], maxsplit=1)[-1]
        yield {"result": result, "conversation_id": name, "verdict": result.get("evaluationStatus")}


register_sink(SinkKind(name=DEFAULT_OUTPUT_FORMAT, help="JSON Lines", writer=JsonLinesWriter, read=_rows))


class AvroWriter:
    """Rows as Avro records; a column that holds a JSON object is its JSON text."""

    def __init__(self, file: BinaryIO, table: str) -> None:
        from fastavro.write import Writer

        self._columns = json_columns(table)
        self._writer: Any = Writer(file, avro_schema(table), codec="deflate")

    def write(self, rows: Sequence[JsonObject]) -> None:
        for row in rows:
            self._writer.write(with_json_texts(row, self._columns))

    def finish(self) -> None:
        self._writer.flush()


def _avro_rows(file: BinaryIO, table: str, mark: bytes) -> Iterator[JsonObject]:
    import fastavro

    columns = json_columns(table)
    for row in fastavro.reader(file):
        if isinstance(row, dict):
            texts = {name: row[name] for name in columns if name in row}
            yield row | {name: None if text is None else json.loads(text) for name, text in texts.items()}


register_sink(SinkKind(name="avro", help="Avro", writer=AvroWriter, read=_avro_rows))


# Services. Each is known to every run, and its libraries are imported by runs that name it.


def _check_tables(option: str, url: str) -> None:
    try:
        deferred("io.bigquery_source", "parse_dataset")(url)
    except ValueError as error:
        raise ConfigError(f"{option} {url}: {error}") from None
    declared.check_extra(f"{option} {url}", "turnwise[gcp]")


def _folder(url: str) -> str:
    return url.partition(":")[2].rstrip("/") or "/"


def _check_dataset(option: str, url: str) -> None:
    if any(char in url for char in "*?[]"):
        raise ConfigError(f"{option} {url}: must not contain the characters * ? [ ]")
    declared.check_places(f"{option} parquet:", [_folder(url)])


def _absolute_dataset(url: str) -> str:
    folder = url.partition(":")[2].removeprefix("file://")
    return url if "://" in folder else f"parquet:{Path(folder).absolute()}"


def _check_receiver(option: str, url: str) -> None:
    if not url.partition("://")[2].strip("/"):
        raise ConfigError(f"{option} {url}: must be otlp://HOST:PORT, or otlps:// with TLS")
    declared.check_extra(f"{option} {url}", "turnwise[otlp]", "opentelemetry.exporter.otlp.proto.http")


_in_store, _staged = partial(deferred, "io.store"), partial(deferred, "io.staging")
_in_bigquery, _as_events = partial(deferred, "io.bigquery_sink"), partial(deferred, "io.otlp_sink")
for _service in (
    SinkKind(
        name="store",
        help="sqlite:///FILE, postgresql://...",
        schemes=jsonio.SCHEMES,
        open=_in_store("open_sink"),
        check=declared.check_store,
        absolute=absolute_url,
        left=_in_store("left_in_store"),
        replaced=_in_store("replaced_in_store"),
        record=RunRecord(*map(_in_store, ("begin_run", "complete_run", "break_off_run"))),
    ),
    SinkKind(
        name="bigquery",
        help="bigquery://PROJECT/DATASET",
        schemes=("bigquery",),
        open=_staged("open_staging"),
        append=_in_bigquery("BigQueryChanges"),
        prepare=_in_bigquery("try_tables"),
        check=_check_tables,
        complete=_in_bigquery("complete_tables"),
        discard=_staged("discard_staged"),
        left=lambda given: f"{given.url} holds all of it or nothing",
    ),
    SinkKind(
        name="parquet",
        help="parquet:FOLDER, parquet:gs://BUCKET/FOLDER",
        schemes=("parquet",),
        folder=_folder,
        open=_staged("open_staging"),
        prepare=_staged("prepare_dataset"),
        check=_check_dataset,
        absolute=_absolute_dataset,
        complete=_staged("complete_dataset"),
        discard=_staged("discard_staged"),
        left=lambda given: f"{given.url} holds nothing of it, unless it was just being completed",
    ),
    SinkKind(
        name="otlplogs",
        help="otlp://HOST:PORT",
        schemes=("otlp", "otlps"),
        option="--scores_to",
        open=_as_events("open_receiver"),
        append=_as_events("OtlpChanges"),
        prepare=_as_events("try_receiver"),
        check=_check_receiver,
        complete=_as_events("lost_scores"),
        left=lambda given: f"{given.url} may have scores of it",
    ),
):
    register_sink(_service)
