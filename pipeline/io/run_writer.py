"""Manages the output directory of a run on any filesystem that Beam supports."""

import fcntl
import json
import logging
import os
import re
import secrets
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from errno import EAGAIN, EDQUOT, EFBIG, EINVAL, ENOLCK, ENOSPC, ENOSYS, ENOTSUP, EOPNOTSUPP
from itertools import chain
from pathlib import Path
from shutil import disk_usage
from socket import gethostname
from tempfile import gettempdir
from typing import NamedTuple, TextIO
from uuid import uuid4

from apache_beam.io.filesystems import FileSystems

from turnwise.pipeline.io.listing import (
    RUN_FOLDER,
    FolderFile,
    join_path,
    list_files,
    list_run_folders,
    open_path,
    path_exists,
)
from turnwise.pipeline.io.run_reader import REPORT_DATA
from turnwise.pipeline.io.sinks.base import document_content, file_formats
from turnwise.schemas.config import ConfigError
from turnwise.schemas.jsonio import JsonObject, is_local
from turnwise.schemas.run import RUN_FILE, RunInfo

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
    unique = uuid4().hex
    stem = unique if number is None else f"{number:08x}{unique[8:]}"
    return FileSystems.join(directory, f"{name}.{stem}.partial")


def write_partial(directory: str, name: str, content: bytes) -> str:
    """Writes a file under a unique temporary name and returns its path."""
    partial = partial_path(directory, name)
    with FileSystems.create(partial) as file:
        file.write(content)
    return partial


def publish(directory: str, files: Sequence[tuple[str, str]]) -> None:
    """Renames temporary files (path, name) to their final names; skips those already renamed."""
    places = [(partial, FileSystems.join(directory, name)) for partial, name in files]
    waiting = [(partial, place) for partial, place in places if _waits(partial, place)]
    if waiting:
        FileSystems.rename([partial for partial, _ in waiting], [place for _, place in waiting])


def _waits(partial: str, place: str) -> bool:
    """Returns whether a file is still to be renamed; an engine may repeat a partly completed step."""
    return FileSystems.exists(partial) or not FileSystems.exists(place)


def earlier_files(directory: str) -> list[str]:
    """Returns the files of earlier runs in a directory, finished or not; `run.json` comes first."""
    folders = list_run_folders(directory)
    within = [path for folder, files in folders.items() for path in _own(join_path(directory, folder), files)]
    found = [*_flat_files(directory), *within]
    return sorted(found, key=lambda path: path != join_path(directory, RUN_FILE))


def _flat_files(directory: str) -> list[str]:
    """Returns the files of runs that lie in the directory itself, and those of a report in its folder."""
    data = join_path(directory, REPORT_DATA)
    scripts = [join_path(data, file.name) for file in list_files(data) if _REPORT_DATA.fullmatch(file.name)]
    return [*_own(directory, list_files(directory)), *scripts]


def _own(directory: str, files: Iterable[FolderFile]) -> list[str]:
    ours = re.compile(_OURS.replace("SUFFIX", "|".join(file_formats())))
    return [join_path(directory, file.name) for file in files if ours.fullmatch(file.name)]


def clear_directory(directory: str) -> None:
    """Removes the files of earlier runs, finished or not, and no other files."""
    found = earlier_files(directory)
    remove_files(found[:1])
    remove_files(found[1:])


def clear_unfinished(directory: str) -> None:
    """Removes what runs that did not finish left; no other run may write into the directory meanwhile."""
    current = current_folder(directory)
    folders = list_run_folders(directory).items()
    partial = [file for file in list_files(directory) if re.fullmatch(_PARTIAL, file.name)]
    others = [_own(join_path(directory, name), files) for name, files in folders if name != current]
    remove_files([*_own(directory, partial), *chain.from_iterable(others)])


def clear_replaced(directory: str, folder: str, kept: Collection[str], replaced: str | None) -> None:
    """Removes what is not current when a run has replaced another one.

    Args:
        directory: The output directory.
        folder: The folder of the run that is current now.
        kept: Names of its files.
        replaced: The folder of the run that was current before; None: none was.
    """
    now = time.time()
    found = [path for path in _flat_files(directory) if path != join_path(directory, RUN_FILE)]
    for name, files in list_run_folders(directory).items():
        if name == folder:
            files = [file for file in files if file.name not in kept]
        elif name != replaced and not _is_idle(files, now):
            continue  # another execution may be writing into it
        found += _own(join_path(directory, name), files)
    remove_files(found)


def _is_idle(files: Sequence[FolderFile], now: float) -> bool:
    """Returns whether nothing was written into a folder for days, as far as its filesystem states times."""
    return all(0 < file.changed < now - _IDLE_SECONDS for file in files)


def remove_files(paths: Sequence[str]) -> None:
    """Removes files; one that is gone is none to remove, and what cannot be removed is logged."""
    try:
        if paths and is_local(paths[0]):
            _remove_local(paths)
        elif paths:
            FileSystems.delete(list(paths))
    except OSError as error:
        _LOG.warning("files of an earlier run cannot be removed: %s", " ".join(str(error).split()))


def _remove_local(paths: Sequence[str]) -> None:
    for path in map(Path, paths):
        path.unlink(missing_ok=True)
    for folder in {Path(path).parent for path in paths}:
        if RUN_FOLDER.fullmatch(folder.name) or folder.name == REPORT_DATA:
            with suppress(OSError):  # it holds files of others
                folder.rmdir()


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
    found = [] if overwrite else earlier_files(directory)
    if found and not may_go_on and not path_exists(join_path(directory, RUN_FILE)):
        if was_killed is None:
            was_killed = any(path_exists(join_path(directory, name)) for name in (_LOCK_FILE, _LEASE_FILE))
        found = _not_left(directory, found, was_killed)
    if found:
        name = found[0].removeprefix(directory).strip("/")
        if name.endswith(".partial"):
            raise ConfigError(
                f"--output {directory}: holds a run that has not ended ({name}); --overwrite replaces it"
            )
        raise ConfigError(f"--output {directory}: holds an earlier run ({name}); --overwrite replaces it")


def _not_left(directory: str, paths: Sequence[str], was_killed: bool) -> list[str]:
    """Returns the files of a directory without `run.json` that no dead run left."""
    if not is_local(directory):
        now, folders = time.time(), list_run_folders(directory).items()
        idle = {join_path(directory, name) for name, files in folders if _is_idle(files, now)}
        return [path for path in paths if path.rpartition("/")[0] not in idle]
    return [
        path
        for path in paths
        if not re.fullmatch(_PARTIAL, Path(path).name)
        and not (was_killed and RUN_FOLDER.fullmatch(Path(path).parent.name))
    ]


def name_full_disk(error: OSError, directory: str) -> OSError:
    """Returns an error of a full disk with the directory that is full: of output or temporary files."""
    if error.filename is not None or error.errno not in (ENOSPC, EDQUOT, EFBIG):
        return error
    places = [path for path in (directory, gettempdir()) if os.path.isdir(path)]
    full = min(places, key=lambda path: disk_usage(path).free, default=directory)
    return OSError(error.errno, error.strerror, full)


def write_run_file(directory: str, document: JsonObject, folder: str = "") -> None:
    """Writes or replaces `run.json` in one step; it marks a finished run.

    Args:
        directory: The output directory.
        document: Its content.
        folder: Folder of the run in which a local file is written first.
    """
    place, content = join_path(directory, RUN_FILE), document_content(document)
    if not is_local(directory):
        with FileSystems.create(place) as file:
            file.write(content)
        return
    aside = Path(partial_path(join_path(directory, folder) if folder else directory, RUN_FILE))
    aside.parent.mkdir(parents=True, exist_ok=True)
    with aside.open("wb") as local:
        local.write(content)
        local.flush()
        os.fsync(local.fileno())
    os.replace(aside, place)


def read_run_file(directory: str) -> JsonObject:
    """Reads `run.json`."""
    with open_path(join_path(directory, RUN_FILE)) as file:
        document: JsonObject = json.loads(file.read())
    return document


def current_folder(directory: str) -> str | None:
    """Returns the folder of the run that is current; "." for one without; None: there is no `run.json`."""
    if not path_exists(join_path(directory, RUN_FILE)):
        return None
    try:
        document = read_run_file(directory)
        return str(document.get("folder", "."))
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
    removed, or until the process that it names has ended, if that ran on this machine.

    Args:
        directory: The output directory.
        run: The run that writes into it.

    Yields:
        The process that was killed while it held the lock before; None: none was.

    Raises:
        ConfigError: It cannot be created, or another run is writing to it.
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
                own = Owner(gethostname(), os.getpid(), *((run.run_id, run.create_time) if run else ()))
                file.truncate(0)
                file.write(json.dumps(own))
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
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False
