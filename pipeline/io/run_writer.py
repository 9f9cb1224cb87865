"""The output directory of a run, on any filesystem of Beam: cleared, locked, and ended by `run.json`."""

import fcntl
import json
import logging
import os
import pickle
import re
import secrets
import time
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from errno import EAGAIN, EDQUOT, EFBIG, EINVAL, ENOLCK, ENOSPC, ENOSYS, ENOTSUP, EOPNOTSUPP
from functools import partial
from itertools import chain
from pathlib import Path
from shutil import disk_usage
from socket import gethostname
from tempfile import gettempdir
from typing import Any, BinaryIO, NamedTuple, TextIO
from uuid import uuid4

import apache_beam as beam
from apache_beam.io.filesystems import FileSystems
from apache_beam.pvalue import AsSingleton, PCollection
from apache_beam.transforms.window import GlobalWindows
from apache_beam.utils.windowed_value import WindowedValue
from msgspec import Struct

from turnwise.pipeline.io import containers, sinks
from turnwise.pipeline.io.containers import join_path
from turnwise.pipeline.runs.directory import REPORT_DATA
from turnwise.pipeline.settings.options import DEFAULT_OUTPUT_FORMAT, SinkPlace
from turnwise.schemas.config import ConfigError
from turnwise.schemas.jsonio import JsonObject, is_local
from turnwise.schemas.rows import TABLES, ConversationRow, MetricsByAppVersionRow, ReadAgain, plain_rows
from turnwise.schemas.run import RUN_FILE, RunInfo
from turnwise.transforms.beam.steps import OF_RUN, InspectedDoFn
from turnwise.transforms.review.problems import add_candidates, to_read

SINGLE_FILES = ("metrics_by_app_version", "metrics_by_turn", "metrics_by_slice")
AGGREGATED = "aggregated_metrics"
PROGRESS_FILE = "progress.sqlite"
ALERTS_FILE = "alerts.jsonl"
RECEIVED_FILE = "received.sqlite"
_PARTIAL = r"[a-z_.]+\.[0-9a-f]{32}\.partial"
_OURS = (
    r"(scores|results|conversations|failures)-\d{5}(-of-\d{5})?\.(SUFFIX)"
    r"|(progress|received)\.sqlite(-wal|-shm)?|alerts\.jsonl"
    r"|metrics_by_(app_version|turn|slice)\.(SUFFIX)|(aggregated_metrics|run)\.json"
    rf"|{_PARTIAL}|report\.html|calibration\.json"
)
_REPORT_DATA = re.compile(r"\d{3,}\.js")
_IDLE_SECONDS = 3 * 24 * 3600
_LOG = logging.getLogger(__name__)


def folder_name() -> str:
    """Returns the name of a folder for the tables of one execution of a run."""
    return time.strftime("run-%Y%m%dT%H%M%SZ-", time.gmtime()) + secrets.token_hex(4)


def partial_path(directory: str, name: str, number: int | None = None) -> str:
    """Returns a unique temporary path for a file of the directory; those of numbers are in their order."""
    stem = uuid4().hex
    stem = stem if number is None else f"{number:08x}{stem[8:]}"
    return FileSystems.join(directory, f"{name}.{stem}.partial")


def write_partial(directory: str, name: str, content: bytes) -> str:
    """Writes a file under a unique temporary name and returns its path."""
    partial = partial_path(directory, name)
    with FileSystems.create(partial) as file:
        file.write(content)
    return partial


def publish(directory: str, files: Sequence[tuple[str, str]]) -> None:
    """Renames temporary files (path, name) to their final names; skips those already renamed."""
    final = {partial: FileSystems.join(directory, name) for partial, name in files}
    # An engine may repeat a partly completed step.
    waiting = [path for path in final if FileSystems.exists(path) or not FileSystems.exists(final[path])]
    if waiting:
        FileSystems.rename(waiting, [final[path] for path in waiting])


def earlier_files(directory: str) -> list[str]:
    """Returns the files of earlier runs in a directory, finished or not; `run.json` comes first."""
    folders = containers.list_run_folders(directory)
    within = [_of_runs(join_path(directory, folder), files) for folder, files in folders.items()]
    paths = [*_flat_files(directory), *chain.from_iterable(within)]
    return sorted(paths, key=lambda path: path != join_path(directory, RUN_FILE))


def _flat_files(directory: str) -> list[str]:
    """Returns the files of runs that lie in the directory itself, and those of a report in its folder."""
    data = join_path(directory, REPORT_DATA)
    files = containers.list_files(data)
    scripts = [join_path(data, file.name) for file in files if _REPORT_DATA.fullmatch(file.name)]
    return [*_of_runs(directory, containers.list_files(directory)), *scripts]


def _of_runs(directory: str, files: Iterable[containers.FolderFile]) -> list[str]:
    names = re.compile(_OURS.replace("SUFFIX", "|".join(sinks.file_formats())))
    return [join_path(directory, file.name) for file in files if names.fullmatch(file.name)]


def clear_directory(directory: str) -> None:
    """Removes the files of earlier runs, finished or not, and no other files."""
    paths = earlier_files(directory)
    _remove_files(paths[:1])
    _remove_files(paths[1:])


def clear_unfinished(directory: str) -> None:
    """Removes what unfinished runs left in a local directory; elsewhere another one may be writing."""
    if not is_local(directory):
        return
    current = current_folder(directory)
    folders = containers.list_run_folders(directory).items()
    partial = [file for file in containers.list_files(directory) if re.fullmatch(_PARTIAL, file.name)]
    others = [_of_runs(join_path(directory, name), files) for name, files in folders if name != current]
    _remove_files([*_of_runs(directory, partial), *chain.from_iterable(others)])


def _clear_replaced(directory: str, folder: str, kept: Collection[str], replaced: str | None) -> None:
    """Removes what is not current when a run, whose folder keeps some files, has replaced another one's."""
    now = time.time()
    paths = [path for path in _flat_files(directory) if path != join_path(directory, RUN_FILE)]
    for name, files in containers.list_run_folders(directory).items():
        if name == folder:
            files = [file for file in files if file.name not in kept]
        elif name != replaced and not _is_idle(files, now):
            continue  # another execution may be writing into it
        paths += _of_runs(join_path(directory, name), files)
    _remove_files(paths)


def _is_idle(files: Sequence[containers.FolderFile], now: float) -> bool:
    """Returns whether nothing was written into a folder for days, as far as its filesystem states times."""
    return all(0 < file.changed < now - _IDLE_SECONDS for file in files)


def _remove_files(paths: Sequence[str]) -> None:
    """Removes files; one that is gone is none to remove, and what cannot be removed is logged."""
    try:
        if paths and is_local(paths[0]):
            for path in map(Path, paths):
                path.unlink(missing_ok=True)
            for folder in {Path(path).parent for path in paths}:
                if containers.RUN_FOLDER.fullmatch(folder.name) or folder.name == REPORT_DATA:
                    with suppress(OSError):  # it holds files of others
                        folder.rmdir()
        elif paths:
            FileSystems.delete(list(paths))
    except OSError as error:
        _LOG.warning("files of an earlier run cannot be removed: %s", " ".join(str(error).split()))


def check_directory(
    directory: str, overwrite: bool, may_go_on: bool = False, *, was_killed: bool | None = None
) -> None:
    """Raises ConfigError if a directory cannot be used, or holds an earlier run and `overwrite` is false.

    What a run left that was killed, or met a full disk, is no earlier run: no `run.json` names it. One that
    still writes into a local directory is found by `locked`; elsewhere, one counts as dead when nothing in
    its folder has changed for three days.

    Args:
        directory: The output directory.
        overwrite: Whether an earlier run may be replaced.
        may_go_on: Whether a run may go on although its process ended, as a job on other machines does.
        was_killed: Whether a dead process has left its lock; None: it is not locked yet.
    """
    if is_local(directory) and Path(directory).exists() and not Path(directory).is_dir():
        raise ConfigError(f"--output {directory}: is not a directory")
    if any(char in directory for char in "*?[]"):
        raise ConfigError(f"--output {directory}: must not contain the characters * ? [ ]")
    paths = [] if overwrite else earlier_files(directory)
    if paths and not may_go_on and not containers.path_exists(join_path(directory, RUN_FILE)):
        if was_killed is None:
            marks = (join_path(directory, name) for name in (_LOCK_FILE, _LEASE_FILE))
            was_killed = any(map(containers.path_exists, marks))
        if is_local(directory):
            paths = [path for path in paths if not re.fullmatch(_PARTIAL, Path(path).name)]
            in_folder = containers.RUN_FOLDER.fullmatch
            paths = [path for path in paths if not (was_killed and in_folder(Path(path).parent.name))]
        else:
            now, folders = time.time(), containers.list_run_folders(directory).items()
            idle = {join_path(directory, name) for name, files in folders if _is_idle(files, now)}
            paths = [path for path in paths if path.rpartition("/")[0] not in idle]
    if paths:
        name = paths[0].removeprefix(directory).strip("/")
        fault = ": holds a run that has not ended" if name.endswith(".partial") else ": holds an earlier run"
        raise ConfigError(f"--output {directory}{fault} ({name}); --overwrite replaces it")


def name_full_disk(error: OSError, directory: str) -> OSError:
    """Returns an error of a full disk with the directory that is full: of output or temporary files."""
    if error.filename is not None or error.errno not in (ENOSPC, EDQUOT, EFBIG):
        return error
    full, temporary = directory, gettempdir()
    # What is free on one file system differs from look to look, and does not matter to a limit of sizes.
    if error.errno != EFBIG and os.path.isdir(directory) and os.path.isdir(temporary):
        is_apart = os.stat(directory).st_dev != os.stat(temporary).st_dev
        if is_apart and disk_usage(temporary).free < disk_usage(directory).free:
            full = temporary
    return OSError(error.errno, error.strerror, full)


def write_run_file(directory: str, document: JsonObject, folder: str = "") -> None:
    """Writes or replaces `run.json`, which marks a finished run, in one step (by a file in `folder`)."""
    path, content = join_path(directory, RUN_FILE), sinks.document_content(document)
    if not is_local(directory):
        with FileSystems.create(path) as file:
            file.write(content)
        return
    aside = Path(partial_path(join_path(directory, folder) if folder else directory, RUN_FILE))
    aside.parent.mkdir(parents=True, exist_ok=True)
    with aside.open("wb") as local:
        local.write(content)
        local.flush()
        os.fsync(local.fileno())
    os.replace(aside, path)


def read_run_file(directory: str) -> JsonObject:
    """Reads `run.json`."""
    with containers.open_path(join_path(directory, RUN_FILE)) as file:
        document: JsonObject = json.loads(file.read())
    return document


def current_folder(directory: str) -> str | None:
    """Returns the folder of the run that is current; "." for one without; None: there is no `run.json`."""
    if not containers.path_exists(join_path(directory, RUN_FILE)):
        return None
    try:
        return str(read_run_file(directory).get("folder", "."))
    except (ValueError, AttributeError):
        return "."


class Owner(NamedTuple):
    """The process that writes into a directory, and its run."""

    host: str
    pid: int
    run_id: str = ""
    create_time: str = ""


_LOCK_FILE, _LEASE_FILE = ".turnwise.lock", ".turnwise.lease"
_ENDING_SECONDS, _PAUSE_SECONDS = 10.0, 0.1
_NO_LOCKS = (ENOLCK, ENOSYS, ENOTSUP, EOPNOTSUPP, EINVAL)


@contextmanager
def locked(directory: str, run: RunInfo | None = None) -> Iterator[Owner | None]:
    """Creates a local directory and locks it while the body runs. The lock ends with the process.

    On a filesystem without locks a file that only one process can create stands for one: it holds until it is
    removed, or until the process that it names has ended, if that ran on this machine. Yields the process
    that was killed while it held the lock before, or None. Raises ConfigError if another run is writing to
    it.
    """
    if not is_local(directory):
        yield None
        return
    path = Path(directory) / _LOCK_FILE
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file, killed = _locked_file(path)
    except BlockingIOError as error:
        hint = error.filename or ""
        raise ConfigError(f"--output {directory}: another run is writing into it{hint}") from None
    except OSError as error:
        raise ConfigError(f"--output {directory}: {error.strerror}") from None
    with file:
        try:
            with suppress(OSError):  # a full disk has no room for it
                holder = Owner(gethostname(), os.getpid(), *((run.run_id, run.create_time) if run else ()))
                file.truncate(0)
                file.write(json.dumps(holder))
                file.flush()
            yield killed
        finally:
            path.unlink(missing_ok=True)
            path.with_name(_LEASE_FILE).unlink(missing_ok=True)


def _locked_file(path: Path) -> tuple[TextIO, Owner | None]:
    """Opens and locks a file, and returns who left it; raises BlockingIOError if another process holds it."""
    patience = time.monotonic() + _ENDING_SECONDS
    while True:
        file = path.open("a+")
        file.seek(0)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = _owner(file.read())
            file.close()
            if error.errno in _NO_LOCKS:
                return _leased_file(path.with_name(_LEASE_FILE))
            # The workers of a killed run hold its lock until they notice.
            if holder is None or not _is_dead(holder) or time.monotonic() > patience:
                raise
            time.sleep(_PAUSE_SECONDS)
            continue
        # An owner that ended between the two calls has removed the file: then the next one locks another.
        if os.fstat(file.fileno()).st_nlink:
            return file, _owner(file.read())
        file.close()


def _leased_file(path: Path) -> tuple[TextIO, Owner | None]:
    """Creates a file, and returns who left it; raises BlockingIOError if its process may be alive."""
    killed: Owner | None = None
    with suppress(FileNotFoundError):
        killed = _owner(path.read_text())
        if killed is None or not _is_dead(killed):
            who = f"process {killed.pid} of {killed.host}" if killed else "a process"
            raise BlockingIOError(EAGAIN, "", f": {who}; remove {path} if that has ended")
        path.unlink()
    try:
        return path.open("x+"), killed
    except FileExistsError:
        raise BlockingIOError(EAGAIN, "") from None


def _owner(text: str) -> Owner | None:
    try:
        return Owner(*json.loads(text))
    except (ValueError, TypeError):
        return None


def _is_dead(owner: Owner) -> bool:
    """Returns whether a process of this machine has ended; of others nobody can say."""
    try:
        if owner.host == gethostname():
            os.kill(owner.pid, 0)
    except OSError as error:
        return isinstance(error, ProcessLookupError)
    return False


# The last steps of a run: its files get their names, then `run.json` names them.

BY_VERSION = SINGLE_FILES[0]
STORED = "stored"
_PUBLISHED = "published"
_FASTEST = 1


class Finished(NamedTuple):
    """What is known of a run when its tables are written.

    Attributes:
        counts: Numbers by name.
        to_read: The conversations to read first, in order.
        versions: Rows of `metrics_by_app_version`.
        tables: `folder` and `files` of `run.json`: where its tables are.
        stored: Number of a service, and an element of the collections that it returned.
    """

    counts: dict[str, int]
    to_read: Sequence[ConversationRow]
    versions: Iterable[MetricsByAppVersionRow]
    tables: JsonObject
    stored: Sequence[tuple[int, Any]] = ()


Conclude = Callable[[Finished], JsonObject]
"""Returns the content of `run.json`; the tables of the run can be read."""


class Written(NamedTuple):
    """Output of one bundle for a table: a file, or, for a small table, the rows.

    Attributes:
        shard: Path of the file; None: there is none.
        rows: The rows, where there is no file.
        packed: Rows that this program encoded and compressed, in place of `rows`.
    """

    table: str
    shard: str | None
    row_count: int
    rows: Sequence[Any] = ()
    packed: bytes = b""

    def all_rows(self) -> Sequence[Any]:
        """Returns the rows."""
        rows: Sequence[Any] = pickle.loads(zlib.decompress(self.packed)) if self.packed else self.rows
        return rows


class _NamedFile(NamedTuple):
    """A file of a run, with its final name; `parts` if it is not written yet."""

    table: str
    folder: str
    name: str
    row_count: int
    shard: str | None
    parts: Sequence[Written] = ()


Told = dict[str, int] | list[ConversationRow] | Written | str
"""What a step tells of its part of a run: counts, conversations to read first, what was written, a folder."""


class _AllTold:
    def __init__(self, parts: Iterable[Told]) -> None:
        self.counts, self.written = Counter[str](), list[Written]()
        candidates: list[ConversationRow] = []
        for item in parts:
            if isinstance(item, dict):
                self.counts.update(item)
            elif isinstance(item, Written):
                self.written.append(item)
            elif isinstance(item, list):
                add_candidates(candidates, item)
        self.to_read = to_read(candidates)

    def rows(self, table: str) -> Iterator[Any]:
        return (row for part in self.written if part.table == table for row in part.all_rows())

    def files(self, folder: str, suffix: str) -> Iterator[_NamedFile]:
        for table in TABLES:
            parts = [part for part in self.written if part.table == table]
            if table in SINGLE_FILES or not parts:
                name = table if table in SINGLE_FILES else f"{table}-00000-of-00001"
                row_count = sum(part.row_count for part in parts)
                yield _NamedFile(table, folder, f"{name}.{suffix}", row_count, None, parts)
                continue
            for i, (_, shard, row_count) in enumerate(sorted(part[:3] for part in parts)):
                name = f"{table}-{i:05}-of-{len(parts):05}.{suffix}"
                yield _NamedFile(table, folder, name, row_count, shard)
        parts = [part for part in self.written if part.table == AGGREGATED]
        yield _NamedFile(AGGREGATED, folder, f"{AGGREGATED}.json", 1, None, parts)


def named_files(
    element: tuple[str, Iterable[Told]], output_format: str, folder: tuple[str, str]
) -> Iterator[tuple[str, _NamedFile]]:
    """Yields all files of a run with their final names, each under a key of its own."""
    for file in _AllTold(element[1]).files(folder[1], output_format):
        yield file.name, file


def publish_named(
    element: tuple[str, Iterable[_NamedFile]], directory: str, output_format: str
) -> tuple[str, Written]:
    """Gives a file its final name, and returns it under the key of the run."""
    file = _published(directory, output_format, next(iter(element[1])))
    return OF_RUN, Written(_PUBLISHED, None, 1, [file])


def _published(directory: str, output_format: str, file: _NamedFile) -> _NamedFile:
    """Renames a file, or writes it; returns it without its rows."""
    folder = join_path(directory, file.folder)
    path = file.shard or partial_path(folder, file.table)
    if not file.shard:
        with FileSystems.create(path) as out:  # part by part: there may be as many app versions as scores
            parts = (part.all_rows() for part in file.parts)
            if file.table == AGGREGATED:
                out.writelines(_aggregated_content(chain.from_iterable(parts)))
            else:
                sinks.write_table(out, parts, file.table, output_format)
    publish(folder, [(path, file.name)])
    return file._replace(parts=())


def _aggregated_content(documents: Iterable[JsonObject]) -> Iterator[bytes]:
    """Yields the document of all app versions, given those of some in order."""
    head, tail = sinks.document_content({"metricsByAppVersion": [0]}).split(b"0")
    before = head
    for document in filter(None, documents):
        yield before + sinks.document_content(document)[len(head) : -len(tail)]
        before = b"," + head[head.rindex(b"\n") :]
    yield sinks.document_content({}) if before is head else tail


class ConcludeFn(InspectedDoFn):
    """Replaces `run.json`, and removes what is not current any more; names the files, where no step did."""

    def __init__(self, directory: str, suffix: str, conclude: Conclude, discard: Callable[[], None]) -> None:
        self._directory, self._format = directory, suffix
        self._conclude, self._discard = conclude, discard

    def process(self, element: tuple[str, Iterable[Told]], begun: tuple[str, str]) -> None:
        """Writes `run.json` of everything that was published, once, also if a runner repeats it.

        Raises OSError if a file is not there.
        """
        _, folder = begun
        replaced = current_folder(self._directory)
        if replaced != folder:
            parts = _AllTold(element[1])
            named = parts.files(folder, self._format)
            published = (_published(self._directory, self._format, file) for file in named)
            files = sorted([*parts.rows(_PUBLISHED)] or published)
            path = join_path(self._directory, folder)
            sizes = {file.name: file.size for file in containers.list_files(path)}
            of_tables: dict[str, JsonObject] = {}
            for file in files:
                if file.name not in sizes:
                    raise OSError(f"{join_path(path, file.name)}: is gone: another program removed it")
                about = {"rows": file.row_count, "bytes": sizes[file.name]}
                of_tables.setdefault(file.table, {})[file.name] = about
            tables = {"folder": folder, "files": of_tables}
            versions = ReadAgain(partial(parts.rows, BY_VERSION))
            finished = Finished(dict(parts.counts), parts.to_read, versions, tables, [*parts.rows(STORED)])
            write_run_file(self._directory, self._conclude(finished), folder)
            _clear_replaced(self._directory, folder, {file.name for file in files}, replaced)
        self._discard()


# Writes the tables of a run as files, all of them or none, and in the end its `run.json`.

TableRows = tuple[str, Sequence[Any]]
"""Name of a table, and some of its rows."""
_TOLD = beam.typehints.KV[str, Any]
"""One type, because some runners flatten only collections of one coder."""
_SMALL = frozenset((*SINGLE_FILES, AGGREGATED))


class Sink:
    """Takes the tables of a run, and ends it; this one writes nothing, for runs that only count."""

    def write_tables(self, rows: "PCollection[TableRows]", tables: Sequence[str], part: str = "") -> None:
        """Adds the steps that write lists of rows of some tables; `part` distinguishes several writers."""

    def finish(self, root: beam.Pipeline, reports: "Sequence[PCollection[tuple[str, Told]]]") -> None:
        """Adds the steps that run after everything is written, given what the other steps told."""


class RunSink(Sink):
    """Files in a folder of a directory, on any filesystem of Beam, all of them or none; services beside them.

    Tables are written as shards under names of their own. When every table is complete, all files get their
    final names. Then `run.json`, which names the folder and its files, is replaced, whatever process runs the
    step.

    Attributes:
        folder_name: Name of the folder; None: it is chosen when the pipeline runs.
        written: What was written, and what the services returned if the end of the run needs it.
    """

    def __init__(
        self,
        directory: str,
        output_format: str,
        conclude: Conclude | None,
        places: Sequence[SinkPlace] = (),
        *,
        folder: str | None = None,
        number: int | None = None,
    ) -> None:
        """Opens the services of `places`; a `folder` that is chosen when the pipeline runs is no other's.

        `conclude`: None: another process ends the run. Shards of a lower `number` come first, in all tables
        alike.
        """
        self._directory, self._format, self._conclude = directory, output_format, conclude
        self._services = [sinks.open_service(sink_place) for sink_place in places]
        # Their end needs what they returned for the tables.
        self._completed = [given for given in places if sinks.find_service(given.option, given.url).complete]
        self._chosen: PCollection[Any] | None = None
        self._write = _WriteRowsFn(directory, output_format, number)
        self.folder_name = folder
        self.written: list[PCollection[Any]] = []

    def write_tables(self, rows: "PCollection[TableRows]", tables: Sequence[str], part: str = "") -> None:
        """Writes `TABLE-*.SUFFIX`; keeps small tables, which are one file each, for the end of the run."""
        for table in tables if self._services else ():
            of_table = rows | f"Rows_{table}{part}" >> beam.FlatMap(_of_table, table)
            for number, service in enumerate(self._services):
                stored = service.write_table(of_table, table, part)
                if stored is not None:
                    keep = beam.FlatMap(_kept_stored, number, bool(self._completed))
                    self.written.append(stored | f"Stored{number or ''}_{table}{part}" >> keep)
        folder = AsSingleton(self.begun(rows.pipeline))
        self.written.append(rows | f"Write_{tables[0]}{part}" >> beam.ParDo(self._write, folder))

    def begun(self, root: beam.Pipeline) -> "PCollection[Any]":
        """Returns the folder of the run, as the first that is told of it."""
        if self._chosen is None:
            choose = partial(_choose_folder, stated=self.folder_name)
            self._chosen = root | "Write_Start" >> beam.Impulse() | "Write_Folder" >> beam.Map(choose)
        return self._chosen

    def finish(self, root: beam.Pipeline, reports: "Sequence[PCollection[tuple[str, Told]]]") -> None:
        """Gives files their final names, by the workers where no disk is local, and writes `run.json`."""
        if self._conclude is None:
            return
        begun = self.begun(root)
        parts, folder = [*self.written, *reports, begun], AsSingleton(begun)  # there may be nothing else
        if not is_local(self._directory):
            named = (
                gathered(parts, "Write_All", "Write_Gather")
                | "Write_Name" >> beam.FlatMap(named_files, self._format, folder)
                | "Write_Spread" >> beam.GroupByKey()
            )
            parts.append(named | "Write_Publish" >> beam.Map(publish_named, self._directory, self._format))
        discard = partial(sinks.discard_services, self._completed)
        conclude = ConcludeFn(self._directory, self._format, self._conclude, discard)
        over = gathered(parts, "Write_Told", "Write_End")
        _ = over | "Write_Run" >> beam.ParDo(conclude, folder).with_output_types(Any)


def gathered(parts: "Sequence[PCollection[Any]]", flatten: str, group: str) -> "PCollection[Any]":
    """Adds two steps, so named, that gather what was told of a run under its key."""
    for part in parts:
        part.element_type = _TOLD
    return parts | flatten >> beam.Flatten() | group >> beam.GroupByKey()


def _choose_folder(_: bytes, stated: str | None) -> tuple[str, str]:
    return OF_RUN, stated or folder_name()


def _of_table(rows: TableRows, table: str) -> Iterator[Sequence[Any]]:
    if rows[0] == table:
        yield plain_rows(rows[1])


def _kept_stored(element: Any, number: int, is_kept: bool) -> Iterator[tuple[str, Written]]:
    if is_kept:
        yield OF_RUN, Written(STORED, None, 1, [(number, element)])


class _WriteRowsFn(InspectedDoFn):
    """Writes the rows of a bundle into a separate file of each table; rows of small tables are kept."""

    def __init__(self, directory: str, output_format: str, number: int | None) -> None:
        self._directory, self._format, self._number = directory, output_format, number

    def start_bundle(self) -> None:
        self._files: dict[str, _Shard] = {}

    def process(self, element: TableRows, folder: tuple[str, str]) -> list[tuple[str, Written]]:
        table, rows = element
        if table in _SMALL:
            # There may be thousands of app versions and slices.
            packed = zlib.compress(pickle.dumps(rows, pickle.HIGHEST_PROTOCOL), _FASTEST)
            return [(OF_RUN, Written(table, None, len(rows), packed=packed))]
        if table not in self._files:
            path = partial_path(join_path(self._directory, folder[1]), table, self._number)
            file = FileSystems.create(path)
            self._files[table] = _Shard(path, file, sinks.row_writer(file, table, self._format))
        shard = self._files[table]
        shard.writer.write(rows if self._format == DEFAULT_OUTPUT_FORMAT else plain_rows(rows))
        shard.row_count += len(rows)
        return []

    def finish_bundle(self) -> Iterator[WindowedValue]:
        for table, shard in self._files.items():
            shard.writer.finish()
            shard.file.close()
            yield GlobalWindows.windowed_value((OF_RUN, Written(table, shard.path, shard.row_count)))


class _Shard(Struct):
    path: str
    file: BinaryIO
    writer: sinks.RowWriter
    row_count: int = 0
