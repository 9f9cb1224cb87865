"""Finds, lists and reads input files, and joins events in temporary ones. Local files need no Beam."""

import json
import os
import re
import sqlite3
import stat
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from hashlib import blake2b, file_digest
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

from turnwise.pipeline.io import containers
from turnwise.pipeline.io.bigquery_source import prepare_query, table_state
from turnwise.pipeline.io.records import GZIP_MAGIC, OTHER_SUFFIXES, SUFFIXES, SizedPath, file_records
from turnwise.pipeline.settings.options import check_google, is_bigquery
from turnwise.pipeline.store.urls import StoreError, shown_place
from turnwise.schemas.case import EvalCase
from turnwise.schemas.config import ConfigError, MatchCasesBy, RedactConfig
from turnwise.schemas.conversation import Record
from turnwise.schemas.jsonio import is_local, is_sqlite_url, is_store_url
from turnwise.schemas.rows import TABLES
from turnwise.schemas.run import RUN_FILE, InputFile, InputFiles, input_files
from turnwise.schemas.score import Failure, IncompleteReadError, Stage, record_failure
from turnwise.transforms.formats import reading
from turnwise.transforms.formats.events import ConversationEvent, named_events
from turnwise.transforms.matching.sample import CaseIndex, packed_case
from turnwise.transforms.text.patterns import path_glob_matches

if TYPE_CHECKING:
    from apache_beam.io.filesystem import FileMetadata


UNREAD_FILES = "unread_files"
"""Counter of files that an option names, of which not one record could be read."""
READ_PART, UNREAD_PART = "read part of ", "unread part of "
"""Starts of the names of counters, by file: parts of a named file that gave records, or only failures."""
WORKER = "worker "
"""Start of the names of the counters of the records that each worker read."""


def file_patterns(option: str, paths: Sequence[str]) -> list[str]:
    """Returns paths and globs of an option; raises ConfigError: one is absent, unreadable or binary."""
    patterns: list[str] = []
    for path in paths:
        try:
            patterns += _patterns_of(path)
        except (ConfigError, StoreError) as error:
            raise ConfigError(f"{option}: {error}") from None
        except ValueError as error:
            raise ConfigError(f"{option} {shown_place(path)}: {error}") from None
    return patterns


def _patterns_of(path: str) -> list[str]:
    if is_bigquery(path):
        prepare_query(path)
        return [path]
    if is_sqlite_url(path):
        path = path.partition(":///")[2]
    elif is_store_url(path):
        containers.check_database(path)
        return [path]
    if not is_local(path):
        return [f"{path}**{suffix}" for suffix in SUFFIXES] if path.endswith("/") else [path]
    if not path.strip():
        raise ValueError("an empty path")
    if problem := name_problem(path):
        raise ValueError(problem)
    try:
        if os.path.isdir(path):
            os.scandir(path).close()
            if next(files_at(path), None) is None:
                raise ValueError(f"no file in it ends in {', '.join(SUFFIXES)}{_beside(path)}")
        elif os.path.lexists(path):
            check_file(path)
        elif next(files_at(path), None) is None:
            raise ValueError(f"no such file{_AS_FILE if path == '-' else ''}")
    except OSError as error:
        raise ValueError(error.strerror or str(error)) from None
    return [path]


def _beside(path: str) -> str:
    """Names a file of a directory that holds none with a known suffix, and what it is; "": it is empty."""
    others = other_files([path])
    if not others:
        return ""
    kind = "holds no JSON"
    with suppress(OSError), open(others[0], "rb") as file:
        head = file.read(containers.KIND_BYTES)
        kind = "begins with JSON: name the file itself" if head.lstrip()[:1] in (b"{", b"[") else kind
        try:
            containers.check_text(head)
        except containers.NotTextError as error:
            kind = str(error)
    more = f"; there are {len(others) - 1} more" if others[1:] else ""
    return f"; {others[0]} {kind}{more}"


def check_file(path: str) -> None:
    """Raises ValueError or OSError if a local file cannot be read or is binary."""
    for seen in look_at(path):
        if isinstance(seen, Unreadable):
            raise seen.error
    suffix = Path(path).suffix.lower()
    if suffix in containers.TABLES:
        raise ValueError(f"is {containers.TABLES[suffix]}; {containers.AS_CSV}")
    if suffix in OTHER_SUFFIXES:
        raise ValueError(f"is none of {', '.join(SUFFIXES)}")
    with open(path, "rb") as file:
        head = file.read(containers.KIND_BYTES)
    is_other = path.endswith(".avro") or head.startswith(GZIP_MAGIC)
    if not is_other and not containers.check_container(path, head):
        containers.check_text(head)


def listed_files(patterns: list[str]) -> list[SizedPath | Failure]:
    """Returns the files that paths and globs name, each once, by name; then failures of unreadable paths."""
    stores = [path for path in patterns if is_store_url(path) or is_bigquery(path)]
    files = {path: SizedPath(path, 0) for path in stores}
    for file in remote_files([path for path in patterns if not is_local(path) and path not in files]):
        files[file.path] = SizedPath(file.path, file.size_in_bytes or 0, file.last_updated_in_seconds)
    local = {seen.path: seen for path in patterns if is_local(path) for seen in files_at(path)}
    failures: dict[str, Failure] = {}
    inodes = set[tuple[int, int]]()
    for path, seen in sorted(local.items()):
        if isinstance(seen, Unreadable):
            error = IncompleteReadError(seen.error)
            failures[path] = record_failure("read", error, Record(shown_path(path), 0, b""))
        elif (identity := (seen.stat.st_dev, seen.stat.st_ino)) not in inodes:
            inodes.add(identity)
            files[path] = SizedPath(path, seen.stat.st_size, seen.stat.st_mtime)
    return [*sorted(files.values()), *failures.values()]


def remote_files(patterns: Sequence[str]) -> Iterator["FileMetadata"]:
    """Yields the files on other filesystems that globs match."""
    if patterns:
        from apache_beam.io.filesystems import FileSystems

        for pattern in patterns:
            check_google(pattern, pattern)
        for match in FileSystems.match(list(patterns)):
            yield from match.metadata_list


def list_inputs(paths: Sequence[str], option: str = "--input") -> InputFiles | None:
    """Returns the files and tables as they are; None: there are others. Raises ConfigError and OSError."""
    listed: list[InputFile] = []
    for path in paths:
        if is_bigquery(path):
            if (state := table_state(path)) is None:
                return None
            listed += state
    if any(map(is_store_url, paths)):
        return None
    patterns = file_patterns(option, [path for path in paths if not is_bigquery(path)])
    files = (file for file in listed_files(patterns) if isinstance(file, SizedPath))
    return input_files(listed + [InputFile(file.path, file.size, _time(file.changed)) for file in files])


def content_digest(path: str) -> str:
    """Returns a digest of what the files of a path hold, wherever they lie; for a store, the path."""
    if is_store_url(path) or is_bigquery(path) or names_nothing(path):
        return shown_place(path)
    digests: list[str] = []
    for listed in listed_files(file_patterns("--eval_cases", [path])):
        if isinstance(listed, Failure):  # the run says why
            continue
        with containers.open_path(listed.path) as file:
            digests.append(file_digest(file, partial(blake2b, digest_size=16)).hexdigest())
    return " ".join(sorted(digests))


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds")


def reads_output(path: str, output: str) -> bool:
    """Returns whether a directory or glob would name what a run writes; raises ValueError: a wrong glob."""
    if is_local(path) != is_local(output) or is_store_url(path):
        return False
    read, written = (os.path.realpath(name) if is_local(name) else name for name in (path, output))
    if os.path.isdir(path) or (not is_local(path) and path.endswith("/")) or read == written:
        return f"{written}/".startswith(f"{read.rstrip('/')}/")
    pattern, directory = (os.path.abspath(name) if is_local(name) else name for name in (path, output))
    tables = (f"run-1/{table}{part}.jsonl" for table in TABLES for part in ("", "-00000-of-00001"))
    files = (containers.join_path(directory, name) for name in (RUN_FILE, *tables))
    return any(path_glob_matches(pattern, name) for name in files)


def names_nothing(path: str) -> bool:
    """Returns whether a local path or glob names no file."""
    return is_local(path) and next(files_at(path), None) is None


_DIGITS_OF_DATE = 5


def holds_unread(path: str) -> bool:
    """Returns whether a local folder, or that of a path that names no file, holds files that nothing reads.

    Hidden files do not count. The folder of a file or glob whose own name has a date,
    `logs/2026-11-21*.jsonl`, holds all dates.
    """
    if not is_local(path):
        return False
    if os.path.isdir(path):
        return bool(other_files([path]))
    folder, name = os.path.split(path.rstrip("/"))
    if sum(map(str.isdecimal, name)) >= _DIGITS_OF_DATE or not names_nothing(path):
        return False
    names = (os.path.basename(seen.path) for seen in matches(os.path.join(folder, "*")))
    return any(not name.startswith(".") for name in names)


class OpenedFile(NamedTuple):
    """A file whose records follow, or why it cannot be read at all."""

    path: str
    failure: Failure | None = None


class JoinedEvents(NamedTuple):
    """A conversation of events of one format, or failures; with the files of the events, in order."""

    format: str
    contents: Sequence[reading.LoggedConversation | Failure]
    sources: Sequence[str]


F = TypeVar("F")
Read: TypeAlias = OpenedFile | reading.ReadRecord | JoinedEvents


def read_files(option: str, paths: Sequence[str], reader: reading.AnyReader, limit: int) -> Iterator[Read]:
    """Yields every file and what its records hold, redacted; at the end joined events. Raises ConfigError."""
    with EventJoin() as joining:
        contents: list[str] = []
        for path in paths:  # of an agent's folder its files, but for its configs
            files = [path] if agent_folder(path) is None else [seen.path for seen in files_at(path)]
            contents += (name for name in files if name == path or os.path.basename(name) != _CONFIG)
        for file in listed_files(file_patterns(option, contents)):
            if isinstance(file, Failure):
                yield OpenedFile(file.source or "", file)
                continue
            yield OpenedFile(shown_place(file.path))
            for record in file_records(file, limit):
                read = (
                    reading.ReadRecord(None, [record]) if isinstance(record, Failure) else reader.read(record)
                )
                for item in read.contents:
                    if isinstance(item, ConversationEvent):
                        joining.add(item)
                yield read._replace(contents=_redacted(read.contents, reader.redact))
        for events, joined in joining.joined(Counter()):
            sources = list(dict.fromkeys(event.record.source for event in events))
            yield JoinedEvents(events[0].kind, _redacted(joined, reader.redact), sources)


def _redacted(items: Sequence[F], config: RedactConfig | None) -> Sequence[F]:
    """Returns what records hold with markers; for commands that write it without scoring it."""
    if config is None:
        return items
    # Imported late: the help and runs without redaction do not load its detectors.
    from turnwise.transforms.scoring.redaction import redact_failure, redacted

    done = list[Any](items)
    for index, item in enumerate(done):
        if isinstance(item, Failure):
            redact_failure(item, config)
        elif isinstance(item, reading.LoggedConversation):
            name = item.conversation.conversation_id
            done[index] = item._replace(conversation=redacted(item.conversation, config, [name]))
        elif isinstance(item, reading.FoundCase):
            done[index] = item._replace(case=redacted(item.case, config, [item.case.eval_id]))
    return done


def whole_items(reads: Iterator[Read]) -> Iterator[reading.LoggedConversation | reading.FoundCase | Failure]:
    """Yields the conversations, cases and failures of what was read, without the files."""
    for read in reads:
        if isinstance(read, OpenedFile):
            if read.failure is not None:
                yield read.failure
            continue
        yield from (item for item in read.contents if not isinstance(item, ConversationEvent))


def read_cases(
    records: Iterable[tuple[Record, EvalCase] | Record | Failure],
    reader: reading.CaseReader,
    counts: Counter[str],
    match_by: MatchCasesBy | None = None,
) -> tuple[CaseIndex, list[Failure]]:
    """Returns eval cases and failures of reading; a case that is given as an object is checked."""
    index, failures = CaseIndex(match_by), list[Failure]()
    for item in records:
        if isinstance(item, Failure):
            counts["rejected_cases"] += 1
            failures.append(item)
            continue
        record, given = (item, None) if isinstance(item, Record) else item
        for case in reading.parse_case(reader, record, counts, given):
            if isinstance(case, Failure):
                failures.append(case)
            else:
                index.add([packed_case(*case)])
    return index, failures + index.distinct(counts)


def case_records(
    option: str, paths: Sequence[str], limit: int, store_app: str = "", stage: Stage = "read"
) -> Iterator[Record | Failure]:
    """Yields the records of files and stores; raises ConfigError if one is not there or cannot be opened."""
    for file in listed_files(file_patterns(option, [path for path in paths if not is_store_url(path)])):
        yield from file_records(file, limit, stage)
    urls = [path for path in dict.fromkeys(paths) if is_store_url(path)]
    if urls:
        from turnwise.pipeline.store.database import try_store
        from turnwise.pipeline.store.rows import store_records

        for url in urls:
            try_store(option, url, read_only=True).close()
            yield from store_records(url, store_app)


ADK_HISTORY, _SESSIONS = (".adk", "eval_history"), "session.db"
OWN_RESULTS = "turnwise-"
"""How the names of results in a history begin that are no recordings: `turnwise convert` wrote them."""
_ADK = ADK_HISTORY[0]
_CASES, _RESULT, _SESSION = (".evalset.json", ".test.json"), ".evalset_result.json", ".session.json"
_CONFIG = "test_config.json"
_AGENT = ("agent.py", "root_agent.yaml", "__init__.py")


class AgentInputs(NamedTuple):
    """Logs, cases and configs of an agent's folder by google-adk's names, or of a run with folders."""

    logs: list[str]
    cases: list[str]
    configs: list[str]


def agent_folder(path: str) -> AgentInputs | None:
    """Returns what a folder with `.adk`, or with an agent's code and an eval set, holds; None: it is none."""
    if not is_local(path) or not os.path.isdir(path):
        return None
    folder = Path(path)
    if not ((folder / _ADK).is_dir() or any((folder / name).is_file() for name in _AGENT)):
        return None
    below = sorted(str(file) for file in folder.rglob("*.json") if file.is_file())
    cases = [name for name in below if name.endswith(_CASES)]
    logs = [name for name in below if name.endswith(_SESSION)]
    results = sorted(folder.joinpath(*ADK_HISTORY).glob(f"*{_RESULT}"))
    logs += [str(file) for file in results if not file.name.startswith(OWN_RESULTS)]
    if (sessions := folder / _ADK / _SESSIONS).is_file():
        logs.append(str(sessions))
    if not (folder / _ADK).is_dir() and not cases:
        return None
    homes = dict.fromkeys([*(os.path.dirname(name) for name in cases), path])
    configs = [str(file) for home in homes if (file := Path(home) / _CONFIG).is_file()]
    return AgentInputs(logs, cases, configs)


def agent_inputs(logs: Sequence[str], cases: Sequence[str], config: str | None) -> AgentInputs:
    """Returns the inputs of a run: of agent folders among the logs what they hold.

    Eval sets of a folder are cases, unless cases are named; its `test_config.json` is the config, unless one
    is named, as in `adk eval`. Raises ConfigError if a folder holds no recording, or several configs.
    """
    inputs = AgentInputs([], [*cases], [])
    for path in logs:
        folder = agent_folder(path)
        if folder is None:
            inputs.logs.append(path)
            continue
        if not folder.logs:
            names = f"{'/'.join(ADK_HISTORY)}/*{_RESULT}, but for {OWN_RESULTS}*, and *{_SESSION}"
            eval_set = folder.cases[0] if folder.cases else "EVAL_SET"
            step = f"without a recording ({names}); run `adk eval {path} {eval_set}` first, or name logs"
            raise ConfigError(f"--input {path}: the folder of an ADK agent {step}")
        inputs.logs.extend(folder.logs)
        inputs.cases.extend(() if cases else folder.cases)
        inputs.configs.extend(folder.configs)
    if config is not None:
        return inputs._replace(configs=[config])
    if len(set(inputs.configs)) > 1:
        names = ", ".join(sorted(set(inputs.configs)))
        raise ConfigError(f"several configs are found, name one with --config: {names}")
    return inputs


_KINDS = {stat.S_IFIFO: "a FIFO", stat.S_IFSOCK: "a socket", stat.S_IFDIR: "a directory"}
_KINDS |= {stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}
_AS_FILE = "; only regular files are read: write what it gives to one first"
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
    """Yields the wanted files below a directory, each directory once, whatever links lead to it."""
    waiting, visited = deque([directory]), set[tuple[int, int]]()
    while waiting:
        folder = waiting.popleft()
        try:
            about = os.stat(folder)
            if (identity := (about.st_dev, about.st_ino)) in visited:
                continue
            visited.add(identity)
            with os.scandir(folder) as scanned:
                entries = list(scanned)
        except FileNotFoundError:
            continue
        except OSError as error:
            yield Unreadable(folder, error)
            continue
        for entry in entries:
            try:
                is_directory = entry.is_dir()
            except OSError:
                is_directory = False
            if not is_directory:
                # A broken link may have led to a directory.
                is_broken = entry.is_symlink() and not entry.name.endswith(_FILES)
                is_rejected = is_broken and not os.path.exists(entry.path) and enters(entry.path)
                if is_wanted(entry.path) or is_rejected:
                    yield from look_at(entry.path)
            elif enters(entry.path):
                # Links last: a directory is found under its own path before a link to it.
                (waiting.append if entry.is_symlink() else waiting.appendleft)(entry.path)


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
    problem = name_problem(path)
    if not stat.S_ISREG(about.st_mode):
        problem = f"is {_KINDS.get(stat.S_IFMT(about.st_mode), 'no file')}{_AS_FILE}"
    yield Unreadable(path, ValueError(problem)) if problem else FoundFile(path, about)


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
        return walk(path, lambda name: name.endswith(SUFFIXES) and not _is_shadow(name), lambda _: True)
    return look_at(path) if os.path.lexists(path) else matches(path)


def _is_shadow(path: str) -> bool:
    """Returns whether a file only has what macOS knows of another one, as its archives hold it."""
    folder, name = os.path.split(path)
    return name.startswith("._") and os.path.lexists(os.path.join(folder, name[2:]))


def other_files(paths: Sequence[str]) -> list[str]:
    """Returns the files that local directories hold and nothing reads, as shown; hidden ones are left out."""

    def is_other(path: str) -> bool:
        return not path.endswith(SUFFIXES) and not os.path.basename(path).startswith(".")

    local = [path for path in paths if is_local(path)]
    named = (seen for path in local if not os.path.isdir(path) for seen in files_at(path))
    read = {os.path.realpath(seen.path) for seen in named}
    walks = (walk(path, is_other, lambda _: True) for path in local if os.path.isdir(path))
    files = (seen.path for seen in chain.from_iterable(walks) if isinstance(seen, FoundFile))
    return sorted({shown_path(path) for path in files if os.path.realpath(path) not in read})


def matches(pattern: str) -> Iterator[Seen]:
    """Yields the files of a glob, `*` in a name, `**` over directories; raises ConfigError: a wrong range."""
    root = glob_root(pattern)
    prefix = "" if root else f"{os.curdir}{os.sep}"
    pattern = prefix + pattern
    try:
        path_glob_matches(pattern, "")
    except ValueError as error:
        raise ConfigError(str(error)) from None
    matching = walk(root or os.curdir, partial(path_glob_matches, pattern), partial(_may_hold, pattern))
    for seen in matching:
        yield seen._replace(path=seen.path.removeprefix(prefix))


def glob_root(pattern: str) -> str:
    """Returns the directory below which a glob can match; empty for the current one."""
    fixed = re.match(r"[^[*?]*", pattern)
    return os.path.dirname(fixed.group(0)) if fixed else ""


def _may_hold(pattern: str, directory: str) -> bool:
    parts, depth = pattern.split(os.sep), directory.count(os.sep) + 1
    start = parts[:depth]
    if any("**" in part for part in start):
        return True
    return depth < len(parts) and path_glob_matches(os.sep.join(start), directory)


# Events, joined in a temporary file, so that memory does not grow with their number.


class EventJoin:
    """All events of some input, in a temporary database that ends with the `with` statement."""

    def __init__(self) -> None:
        # The empty name is SQLite's for a file of its own that it deletes.
        self._database = sqlite3.connect("", isolation_level=None)
        self._database.execute("CREATE TABLE events (key TEXT, is_group INTEGER, event TEXT, data BLOB)")
        self._database.execute("CREATE INDEX by_key ON events (is_group, key)")
        self._database.execute("BEGIN")

    def __enter__(self) -> "EventJoin":
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    def add(self, event: ConversationEvent) -> None:
        """Keeps an event; raises OSError if the disk is full."""
        source, position, data = event.record[:3]
        # As JSON in ASCII, because SQLite refuses lone surrogates in texts.
        fields = json.dumps((*event[:6], source, position, *event[7:]))
        row = (json.dumps(event.group or event.session_id), bool(event.group), fields, data)
        try:
            self._database.execute("INSERT INTO events VALUES (?, ?, ?, ?)", row)
        except sqlite3.OperationalError as error:
            raise OSError(f"events cannot be kept in a temporary file: {error}") from error

    def sessions(self, are_groups: bool) -> Iterator[tuple[str, list[ConversationEvent]]]:
        """Yields the id of every conversation, or of every group, with its events, in the order of adding."""
        keys = "SELECT key FROM events WHERE is_group = ? GROUP BY key ORDER BY MIN(rowid)"
        rows = "SELECT event, data FROM events WHERE is_group = ? AND key = ? ORDER BY rowid"
        for (key,) in self._database.execute(keys, (are_groups,)):
            events = []
            for fields, data in self._database.execute(rows, (are_groups, key)):
                *head, source, position, watermark, group = json.loads(fields)
                record = Record(source, position, data)
                events.append(ConversationEvent._make((*head, record, watermark, group)))
            yield json.loads(key), events

    def joined(
        self, counts: Counter[str]
    ) -> Iterator[tuple[Sequence[ConversationEvent], Sequence[reading.LoggedConversation | Failure]]]:
        """Yields events and their conversation, in order of the first; before them what belongs to none."""
        for group, events in self.sessions(True):
            named = named_events(group, events, counts)
            for event in named.events:
                self.add(event)
            if named.failures:
                yield events, named.failures
        for session_id, events in self.sessions(False):
            yield events, reading.join_session(session_id, events, counts)
