"""Reads a finished run: `run.json`, the rows of its tables, and whether all of them are there."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import msgspec

from turnwise.pipeline.io import containers
from turnwise.pipeline.io.sinks import file_formats, table_rows
from turnwise.pipeline.io.terminal import printable
from turnwise.pipeline.settings.options import check_places
from turnwise.schemas.calibration import Calibration
from turnwise.schemas.comparison import NO_VERSION
from turnwise.schemas.config import STATUS, ConfigError
from turnwise.schemas.jsonio import JsonObject, is_local, is_store_url, short_repr, shown_url
from turnwise.schemas.rows import TABLES, added_columns
from turnwise.schemas.run import FORMAT_VERSION, RUN_FILE, RunDocument
from turnwise.transforms.decisions.run import Run

REPORT_FILE = "report.html"
CALIBRATION_FILE = "calibration.json"
"""What `turnwise calibrate` writes beside the run."""
REPORT_DATA = "report_data"
"""Where `turnwise report` puts a report of the run, and transcripts that have no room in it."""
_SINGLE = frozenset((RUN_FILE, CALIBRATION_FILE, "aggregated_metrics.json"))

_StatedVersion = TypeVar("_StatedVersion", str, str | None)
_UNFINISHED = re.compile(r".*\.partial|progress\.sqlite.*|\.turnwise\.lock")


class RunDirectory(Run):
    """A finished run in a directory, with the files of its tables; rows are read when they are asked for."""

    def __init__(self, directory: str, document: RunDocument, files: Mapping[str, Sequence[str]]) -> None:
        super().__init__(directory, document, self._rows, self._calibration)
        self.files = files

    def calibration_path(self) -> str | None:
        """Returns the path of what `turnwise calibrate` wrote; None: it wrote nothing."""
        path = containers.join_path(self.directory, CALIBRATION_FILE)
        return path if containers.path_exists(path) else None

    def _calibration(self) -> Calibration | None:
        """Raises ConfigError if the file cannot be read, or is of another run."""
        if (path := self.calibration_path()) is None:
            return None
        try:
            with containers.open_path(path) as file:
                calibration = msgspec.json.decode(file.read(), type=Calibration)
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
            reason = f"run `turnwise calibrate` again, or remove it: {' '.join(str(error).split())}"
            raise ConfigError(f"{path}: cannot be read: {reason}") from None
        if calibration.run_id != self.document.run_id:
            other = f"is of the run {calibration.run_id}"
            raise ConfigError(f"{path}: {other}; calibrate this run again, or remove it")
        return calibration

    def _rows(self, table: str) -> Iterator[JsonObject]:
        """Yields the rows of a table; raises ConfigError where those that the metrics count are missing."""
        if table != "scores":
            yield from self._counted(table)
            return
        numbers, stated = {"turn": 0, "conversation": 0}, Counter[str]()
        for metric in self.metrics():
            if metric["criterion"] != STATUS:
                stated[metric["level"]] += metric["count"]
        for row in self._counted(table):
            numbers["conversation" if row["turn_index"] is None else "turn"] += 1
            yield row
        for level, number in numbers.items():
            if number < stated[level]:
                what = f"hold {number} scores of {level}s, and its metrics count {stated[level]}"
                raise ConfigError(f"{self.directory}: files of scores {what}; {_AGAIN}")

    def _counted(self, table: str) -> Iterator[JsonObject]:
        columns: Set[str] = TABLES[table].__annotations__.keys() if table in TABLES else frozenset()
        added = added_columns(table) if table in TABLES else {}
        if table == "results":
            # One in JSON Lines has fewer than others.
            columns = {"result", "conversation_id", "verdict"}
        number, stated = 0, stated_rows(self.document.counts, table)
        for path in self.files.get(table, ()):
            try:
                with containers.open_path(path) as file:
                    for row in table_rows(file, table, self.document.output_format):
                        self._check_row(path, row, columns, added)
                        number += 1
                        yield row
            except OSError as error:
                raise ConfigError(f"{path}: cannot be read: {' '.join(str(error).split())}") from None
        if number < stated:
            what = f"hold {number} rows, and {RUN_FILE} counts {stated}"
            raise ConfigError(f"{self.directory}: files of {table} {what}; {_AGAIN}")

    def _check_row(self, path: str, row: object, columns: Set[str], added: JsonObject) -> None:
        if not isinstance(row, dict):
            raise ConfigError(f"{path}: cannot be read: a row is {short_repr(row)}, which is no JSON object")
        if not columns <= row.keys():
            for name, default in added.items():
                row.setdefault(name, default)
            if missing := ", ".join(sorted(columns - row.keys())):
                version = self.document.versions.get("turnwise", "which is not named")
                why = f"the run was written by another version of turnwise, {version}"
                step = "score its logs again with this one"
                raise ConfigError(f"{path}: has no column {missing}: {why}; {step}")


def open_run(directory: str) -> RunDirectory:
    """Opens the output directory of a finished run; raises ConfigError if files or rows of it are missing."""
    if is_store_url(directory):
        raise ConfigError(f"{shown_url(directory)}: is a store and no output directory of a run: see --store")
    check_places("output directory", [directory])
    path = containers.join_path(directory, RUN_FILE)
    try:
        if not containers.path_exists(path):
            why = "no run was written into it"
            if is_local(directory) and not Path(directory).is_dir():
                raise ConfigError(f"{directory}: is no output directory of a run: there is no such directory")
            if containers.RUN_FOLDER.fullmatch(directory.rstrip("/").rsplit("/", 1)[-1]):
                why = "it is a folder of a run; name the output directory, in which it lies"
            elif containers.list_run_folders(directory) or any(
                _is_table(file.name) or _UNFINISHED.fullmatch(file.name)
                for file in containers.list_files(directory)
            ):
                why = "the run has not finished; wait for it, or start it again"
            raise ConfigError(f"{directory}: holds no {RUN_FILE}: {why}")
        with containers.open_path(path) as file:
            document = msgspec.json.decode(file.read(), type=RunDocument)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: {' '.join(str(error).split())}") from None
    if document.format_version != FORMAT_VERSION:
        formats = f"is of format {document.format_version}, this turnwise reads format {FORMAT_VERSION}"
        raise ConfigError(f"{path}: {formats}: score the logs again, or use the version that wrote it")
    known = file_formats()
    if document.output_format not in known:
        written = f"its tables are written as {document.output_format}, which is none of "
        step = "--plugin names the module of the format"
        raise ConfigError(f"{directory}: {written}{', '.join(sorted(known))}; {step}")
    tables = table_files(directory, document)
    missing = [table for table in TABLES if table not in tables]
    if missing:
        raise ConfigError(f"{directory}: files of the run are missing: {', '.join(missing)}")
    return RunDirectory(directory, document, tables)


def written_run(directory: str, document: JsonObject) -> RunDirectory:
    """Returns a run whose tables are written and whose `run.json` is not, because it depends on them.

    The document is what is known of it. Raises ConfigError if files of the run are missing.
    """
    known = msgspec.convert(document, RunDocument)
    return RunDirectory(directory, known, table_files(directory, known))


def write_whole(path: Path, text: str) -> None:
    """Writes a file whole; of one that cannot be, as on a full disk, nothing stays."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.new")
    try:
        new.write_text(text, encoding="utf-8")
        new.replace(path)
    except OSError as error:
        with suppress(OSError):  # of a file system that is only read
            new.unlink(missing_ok=True)
        error.filename = str(path)  # a full disk names no file
        raise


def is_file_of_run(name: str) -> bool:
    """Returns whether a file with this name, in an output directory, is one that the run writes or reads."""
    return _is_table(name) or name in _SINGLE or _UNFINISHED.fullmatch(name) is not None


def _is_table(name: str) -> bool:
    match = SHARD.fullmatch(name)
    return match is not None and match[1] in TABLES


# Finds the files of a run's tables: those that `run.json` names, or those that are there.

SHARD = re.compile(r"([a-z_]+?)(?:-(\d{5})(?:-of-(\d{5}))?)?\.([a-z0-9]+)")
"""The name of a file of a table: table, number, number of all, suffix."""
_AGAIN = "copy the directory again, or score the logs again"


def table_files(directory: str, document: RunDocument) -> dict[str, list[str]]:
    """Returns table -> paths of its files; raises ConfigError where files or rows are missing."""
    folder = directory if document.folder == "." else containers.join_path(directory, document.folder)
    try:
        listed = {file.name: file for file in containers.list_files(folder)}
    except OSError as error:
        raise ConfigError(f"{folder}: {' '.join(str(error).split())}") from None
    if document.files is None:
        return _found_tables(folder, listed, document.output_format)
    names = [name for named in document.files.values() for name in named]
    missing = [name for name in names if name not in listed]
    if missing:
        example = f"such as {containers.join_path(folder, missing[0])}"
        gone = f"{len(missing)} of {len(names)} files that run.json names are missing"
        raise ConfigError(f"{directory}: {gone}, {example}; {_AGAIN}")
    for table, files in document.files.items():
        for name, stated in files.items():
            if listed[name].size == stated.bytes:
                continue
            path = containers.join_path(folder, name)
            if table not in TABLES:
                raise ConfigError(f"{path}: has not the {stated.bytes} bytes that run.json states; {_AGAIN}")
            try:
                with containers.open_path(path) as file:
                    number = sum(1 for _ in table_rows(file, table, document.output_format))
            except OSError as error:
                what = f"cannot be read, and has not the {stated.bytes} bytes that run.json states"
                raise ConfigError(f"{path}: {what}; {_AGAIN} ({' '.join(str(error).split())})") from None
            if number != stated.rows:
                raise ConfigError(f"{path}: holds {number} rows, and run.json counts {stated.rows}; {_AGAIN}")
    return {
        table: [containers.join_path(folder, name) for name in files]
        for table, files in document.files.items()
    }


def _found_tables(directory: str, names: Iterable[str], suffix: str) -> dict[str, list[str]]:
    """Returns the paths of every table, where `run.json` does not name them.

    The files of a batch state how many there are (`scores-00000-of-00002`). Those of a stream do not, and
    their numbers have gaps: a file that was rewritten without replaced rows got the next number. Raises
    ConfigError if files of a batch are missing.
    """
    shards: dict[str, dict[int, str]] = {}
    totals: dict[str, set[int]] = {}
    for name in names:
        match = SHARD.fullmatch(name)
        if match is None or match[4] != suffix:
            continue
        shards.setdefault(match[1], {})[int(match[2] or 0)] = name
        totals.setdefault(match[1], set()).add(int(match[3] or 0))
    if any(map(any, totals.values())):
        for table, numbers in shards.items():
            total = max(totals[table]) or max(numbers) + 1
            missing = total - len(numbers)
            if missing or len(totals[table]) > 1:
                what = f"{missing} of {total} files of {table} are missing"
                raise ConfigError(f"{directory}: {what if missing else f'{table} is of two runs'}")
    in_order = {table: [numbers[i] for i in sorted(numbers)] for table, numbers in shards.items()}
    return {
        table: [containers.join_path(directory, name) for name in names] for table, names in in_order.items()
    }


def stated_rows(counts: JsonObject, table: str) -> int:
    """Returns how many rows a table has at least, by the counts; a stream adds revisions."""
    results = int(counts.get("results") or 0)
    numbers = {"results": results, "conversations": results, "metrics_by_app_version": min(1, results)}
    if table == "failures":
        return sum(sum((counts.get(name) or {}).values()) for name in ("failures", "findings"))
    return numbers.get(table, 0)


def versions_named(name: str, known: Collection[_StatedVersion]) -> list[_StatedVersion]:
    """Returns the app versions that a name may mean: by its last parts, or as texts show it, also several."""
    if name in known:
        return [name]
    if name in (NO_VERSION, ""):
        return [version for version in known if not version]
    stated = (version for version in known if version)
    return [version for version in stated if version.endswith(f"/{name}") or name == printable(version)]
