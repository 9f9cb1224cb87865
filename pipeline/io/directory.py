"""Manages the output directory of a run on any filesystem that Beam supports."""

import fcntl
import json
import re
from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from apache_beam.io.filesystems import FileSystems

from turnwise.pipeline.io.run_reader import CALIBRATION_FILE, REPORT_DATA, REPORT_FILE
from turnwise.pipeline.io.sinks.base import document_content, file_formats, table_rows
from turnwise.schemas.config import ConfigError
from turnwise.schemas.rows import TABLES
from turnwise.schemas.values import JsonObject

SINGLE_FILES = ("metrics_by_app_version", "metrics_by_turn", "metrics_by_slice")
AGGREGATED = "aggregated_metrics"
RUN_FILE = "run.json"
PROGRESS_FILE = "progress.sqlite"
ALERTS_FILE = "alerts.jsonl"
RECEIVED_FILE = "received.sqlite"
_OURS = (
    r"(scores|results|conversations|failures)-\d{5}(-of-\d{5})?\.(SUFFIX)"
    r"|(progress|received)\.sqlite(-wal|-shm)?|alerts\.jsonl"
    r"|metrics_by_(app_version|turn|slice)\.(SUFFIX)|(aggregated_metrics|run)\.json"
    r"|[a-z_.]+\.[0-9a-f]{32}\.partial|report\.html|calibration\.json|\d{3,}\.js"
)


def partial_path(directory: str, name: str) -> str:
    """Returns a unique temporary path for a file of the directory."""
    return FileSystems.join(directory, f"{name}.{uuid4().hex}.partial")


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
    """Returns the files of an earlier run in a directory, finished or not."""
    names = [f"{name}*" for name in (*TABLES, AGGREGATED, RUN_FILE)]
    names += [f"{name}*" for name in (PROGRESS_FILE, ALERTS_FILE, RECEIVED_FILE)]
    names += [REPORT_FILE, CALIBRATION_FILE, f"{REPORT_DATA}/*"]
    found = FileSystems.match([FileSystems.join(directory, name) for name in names])
    paths = [file.path for result in found for file in result.metadata_list]
    ours = re.compile(_OURS.replace("SUFFIX", "|".join(file_formats())))
    return [path for path in paths if ours.fullmatch(path.rsplit("/", 1)[-1])]


def clear_directory(directory: str, kept: Container[str] = ()) -> None:
    """Removes the files of an earlier run, finished or not, and no other files.

    Args:
        directory: Output directory.
        kept: Names of files that stay.
    """
    found = [path for path in earlier_files(directory) if path.rsplit("/", 1)[-1] not in kept]
    if found:
        FileSystems.delete(found)


def check_directory(directory: str, overwrite: bool) -> None:
    """Raises ConfigError if a directory cannot be used, or holds an earlier run and `overwrite` is false."""
    if "://" not in directory and Path(directory).exists() and not Path(directory).is_dir():
        raise ConfigError(f"--output {directory}: is not a directory")
    if any(char in directory for char in "*?[]"):
        raise ConfigError(f"--output {directory}: must not contain the characters * ? [ ]")
    found = [] if overwrite else earlier_files(directory)
    if found:
        name = found[0].rsplit("/", 1)[-1]
        raise ConfigError(f"--output {directory}: holds an earlier run ({name}); --overwrite replaces it")


def write_run_file(directory: str, document: JsonObject) -> None:
    """Writes `run.json`; its presence marks a finished run."""
    publish(directory, [(write_partial(directory, RUN_FILE, document_content(document)), RUN_FILE)])


def remove_run_file(directory: str) -> None:
    """Removes `run.json`, if there is one, so that the directory holds no finished run."""
    path = FileSystems.join(directory, RUN_FILE)
    if FileSystems.exists(path):
        FileSystems.delete([path])


def read_run_file(directory: str) -> JsonObject:
    """Reads `run.json`."""
    with FileSystems.open(FileSystems.join(directory, RUN_FILE)) as file:
        document: JsonObject = json.loads(file.read())
    return document


def read_rows(directory: str, table: str, output_format: str) -> list[JsonObject]:
    """Reads the rows of a single-file table."""
    with FileSystems.open(FileSystems.join(directory, f"{table}.{output_format}")) as file:
        return list(table_rows(file, table, output_format))


_LOCK_FILE = ".turnwise.lock"


@contextmanager
def locked(directory: str) -> Iterator[None]:
    """Creates a local directory and locks it while the body runs. The lock ends with the process.

    Raises:
        ConfigError: It cannot be created, or another run is writing to it.
    """
    if "://" in directory:
        yield
        return
    try:
        Path(directory).mkdir(parents=True, exist_ok=True)
        file = (Path(directory) / _LOCK_FILE).open("w")
    except OSError as error:
        raise ConfigError(f"--output {directory}: {error.strerror}") from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ConfigError(f"--output {directory}: another run is writing into it") from None
        try:
            yield
        finally:
            (Path(directory) / _LOCK_FILE).unlink(missing_ok=True)
